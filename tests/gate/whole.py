"""`make test-all`: runs every test, heavy files by themselves or with those that share something, and goes on where it was stopped.

Heavy ones go side by side in two rows, one of which begins with those that use the JVM of the test process: neither keeps two cores busy.

`test-results/all.json` has a result per file and part (light, heavy), with the tree of HEAD: what passed on this tree isn't run again.
While the working tree differs from HEAD nothing is skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from console.supervisor.tools import PROJECT
from tests.gate import folder, lanes, plan, share, verdict, weights
from tests.gate.lanes import Lane, Result
from tests.gate.verdict import NEVER_RAN, Verdict
from tests.lanes import IS_HEAVY

KEPT = folder.RESULTS / "all.json"
LIGHT, HEAVY = "light", "heavy"
SHARES = 2
ENGINE = "engine"  # the name that files share whose tests use the JVM of the test process
CHOSEN = {LIGHT: f"not ({IS_HEAVY})", HEAVY: IS_HEAVY}
LONGEST_S = 480.0  # of files that share a process
UNKNOWN_S = 60.0


@dataclass(frozen=True, slots=True)
class Survey:
    """Tests of each file with light ones, and the lane of each file with heavy ones."""

    light: dict[str, int]
    heavy: dict[str, str]


@dataclass(slots=True)
class Kept:
    """What passed and what failed, by part and file. `tree` is that of this run, None when it's no commit's.

    `now` tells the tree again: what ran while somebody changed it is no tree's result.
    """

    place: Path
    tree: str | None
    now: Callable[[], str | None]
    results: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def has_passed(self, part: str, file: str) -> bool:
        found = self.results.get(part, {}).get(file, {})
        return self.tree is not None and found.get("tree") == self.tree and found.get("passed") is True

    def seconds(self, part: str, file: str, otherwise: float) -> float:
        """How long it took when it ran last, on whatever tree."""
        return float(self.results.get(part, {}).get(file, {}).get("seconds", otherwise))

    def note(
        self, part: str, files: Iterable[str], bad: Mapping[str, str], took: Mapping[str, float], second: bool = False
    ) -> None:
        """The files have run; `bad` has why each test that failed or never ran did so, by its id."""
        lost = {test.partition("::")[0] for test in bad}
        tree = self.tree if self.now() == self.tree else None
        for file in files:
            seconds = self.seconds(part, file, 0.0) if second else round(took.get(file, 0.0), 1)
            said = {"tree": tree, "passed": file not in lost, "second_try": second, "seconds": seconds}
            self.results.setdefault(part, {})[file] = said
        self.place.parent.mkdir(exist_ok=True)
        written = self.place.with_suffix(".new")
        written.write_text(json.dumps(self.results, indent=1, sort_keys=True) + "\n")
        written.replace(self.place)  # whoever reads it meanwhile, or after an end in between, finds the whole of one


def kept(now: Callable[[], str | None] = verdict.tree, place: Path = KEPT) -> Kept:
    """What earlier runs have left."""
    return Kept(place, now(), now, json.loads(place.read_text()) if place.is_file() else {})


def surveyed(place: Path) -> Survey:
    """What pytest collects. Raises CalledProcessError, with pytest's words printed, where a file can't be read."""
    written = place / "survey.json"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--collect-only", "-p", "no:cacheprovider"]
    plugin = ["-p", "tests.gate.survey", f"--survey={written}", f"--rootdir={PROJECT}"]
    done = subprocess.run([*command, *plugin], cwd=PROJECT, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout[-4000:], done.stderr[-4000:], flush=True)
        done.check_returncode()
    return Survey(**json.loads(written.read_text()))


@dataclass(frozen=True, slots=True)
class Work:
    """A lane, its part, and the files that it runs; `shares` is the name that they share."""

    part: str
    files: tuple[str, ...]
    lane: Lane
    shares: str = ""


def work_of(survey: Survey, done: Kept) -> tuple[list[Work], list[Work]]:
    """Light and heavy work that hasn't passed on this tree."""
    known = weights.of_files([file for file in survey.light if not done.has_passed(LIGHT, file)], weights.kept())
    left = {file: done.seconds(LIGHT, file, seconds) for file, seconds in known.items()}
    shares = [sorted(share.files_of(left, number, SHARES)) for number in range(1, SHARES + 1)]
    light = [_work(LIGHT, number, files, left) for number, files in enumerate(shares, 1) if files]
    heavy = weights.kept(weights.HEAVY_KEPT)
    by_lane: dict[str, dict[str, float]] = {}
    for file, lane in survey.heavy.items():
        if not done.has_passed(HEAVY, file):
            by_lane.setdefault(lane, {})[file] = done.seconds(HEAVY, file, heavy.get(file, UNKNOWN_S))
    together = [(part, name) for name, files in by_lane.items() for part in parts_of(files)]
    return light, [_work(HEAVY, number, list(files), files, name) for number, (files, name) in enumerate(together, 1)]


def left(survey: Survey, done: Kept) -> list[str]:
    """What has not passed on this tree, by part and file."""
    files = [(LIGHT, file) for file in survey.light] + [(HEAVY, file) for file in survey.heavy]
    return [f"{part}: {file}" for part, file in files if not done.has_passed(part, file)]


def parts_of(files: Mapping[str, float]) -> list[dict[str, float]]:
    """The files in order, in as few processes as keep each to its time; a file that takes longer has one of its own."""
    parts: list[dict[str, float]] = []
    for file, seconds in files.items():
        if not parts or sum(parts[-1].values()) + seconds > LONGEST_S:
            parts.append({})
        parts[-1][file] = seconds
    return parts


def _work(part: str, number: int, files: Sequence[str], known: Mapping[str, float], shares: str = "") -> Work:
    minutes = round(sum(known[file] for file in files) / 60, 1)
    options = ("-n", "0", "-m", CHOSEN[part])
    return Work(part, tuple(files), Lane(f"{part[0]}{number}", tuple(files), minutes, options), shares)


def judged(light: Sequence[Work], heavy: Sequence[Work], run: Callable[[Lane], Result], done: Kept) -> Verdict:
    """Runs everything, whatever fails meanwhile, and gives each heavy test that failed or never ran a second try."""
    found, bad = Verdict(), dict[str, str]()
    for work, result in zip(light, verdict.side_by_side([work.lane for work in light], run), strict=True):
        found.results.append(result)
        lost = why(result)
        found.lost |= lost
        done.note(work.part, work.files, lost, result.took)
    writing = threading.Lock()

    def note(work: Work, result: Result) -> None:
        with writing:
            found.results.append(result)
            bad.update(lost := why(result))
            done.note(work.part, work.files, lost, result.took)

    in_rows(heavy, run, note)
    for lane in plan.by_file(bad):
        result = run(lane)
        found.results.append(result)
        lost = why(result)
        found.lost |= lost
        done.note(HEAVY, {test.partition("::")[0] for test in lane.arguments}, lost, {}, second=True)
    found.second = bad
    return found


def in_rows(works: Sequence[Work], run: Callable[[Lane], Result], note: Callable[[Work, Result], None]) -> None:
    """Runs them in two rows side by side, each in its order; `note` is called in the row's thread.

    The row without the engine takes the last ones of the other once its own are done. An interrupt ends the processes of both.
    """
    stopped = threading.Event()
    engine = deque(work for work in works if work.shares == ENGINE)
    others = deque(work for work in works if work.shares != ENGINE)

    def play(*takes: Callable[[], Work]) -> None:
        while not stopped.is_set() and (work := _first(takes)) is not None:
            note(work, run(work.lane))

    with ThreadPoolExecutor(2) as pool:
        playing = [pool.submit(play, others.popleft, engine.pop), pool.submit(play, engine.popleft)]
        try:
            wait(playing, return_when=FIRST_EXCEPTION)
            for row in playing:
                if row.done():
                    row.result()
        except BaseException:
            stopped.set()
            while wait(playing, timeout=0.2).not_done:  # one may just be beginning
                lanes.end_all()
            raise


def _first(takes: Sequence[Callable[[], Work]]) -> Work | None:
    """The first that one of these takes; each raises IndexError once it has none left."""
    for take in takes:
        with suppress(IndexError):
            return take()
    return None


def why(result: Result) -> dict[str, str]:
    """Why each test of it has not passed, by id; under the lane's files where none is known."""
    died = {result.died_in: "its process died in it"} if result.died_in else {}
    bad = dict.fromkeys(result.unfinished, NEVER_RAN) | died | result.failed
    silent = dict.fromkeys(result.lane.arguments, f"its process ended with {result.code}")
    return bad if bad or result.is_green else silent


def main() -> int:
    """0 when every test has passed on this tree, now or before."""
    began, done = time.monotonic(), kept()
    with folder.opened() as place:

        def run(lane: Lane) -> Result:
            print(f"\n==== {lane.name}, about {lane.minutes:g} min: {', '.join(lane.arguments)[:300]} ====", flush=True)
            return lanes.run(lane, place)

        survey = surveyed(place)
        light, heavy = work_of(survey, done)
        try:
            found = judged(light, heavy, run, done)
        except KeyboardInterrupt:
            print("\n".join(["", *(f"not passed yet: {each}" for each in left(survey, done))]), flush=True)
            return 130
    seconds = time.monotonic() - began
    verdict.keep_second_tries(found, done.tree)
    print("\n".join(["", *verdict.told(found, seconds)]), flush=True)
    return 0 if not found.lost else 1


if __name__ == "__main__":
    sys.exit(main())
