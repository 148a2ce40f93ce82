"""Whether a run has passed: what failed, what was tried a second time, and what is told of it in the end.

A light test has no second try: what fails there only sometimes is a race. A heavy one, or one that never ran because its process died, is
tried once more, alone, in a fresh process, and counts if it passes then; but more than five that failed, or died, are a failure.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from console.supervisor.tools import PROJECT
from tests.gate.folder import RESULTS
from tests.gate.lanes import Lane, Result, end_all
from tests.gate.plan import by_file

MOST_SECOND_TRIES = 5
NEVER_RAN = "it never ran, because its process ended before"


@dataclass(slots=True)
class Verdict:
    """`second` holds why each test of a second try needed it, by test id; `lost` what failed for good."""

    results: list[Result] = field(default_factory=list)
    second: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    not_run: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.lost and not self.not_run and bool(self.results)


def judged(light: Sequence[Lane], heavy: Sequence[Lane], run: Callable[[Lane], Result]) -> Verdict:
    """Runs the light lanes side by side; if they pass the heavy ones, one after another; then second tries."""
    verdict = Verdict()
    verdict.results += side_by_side(light, run)
    for result in verdict.results:
        verdict.lost |= _light_losses(result)
    if verdict.lost:
        verdict.not_run = [lane.name for lane in heavy]
        return verdict
    results = [run(lane) for lane in heavy]
    verdict.results += results
    _try_again(verdict, results, run)
    return verdict


def side_by_side(lanes: Sequence[Lane], run: Callable[[Lane], Result]) -> list[Result]:
    """The results in the lanes' order."""
    with ThreadPoolExecutor(max(1, len(lanes))) as pool:
        try:
            return list(pool.map(run, lanes))
        except BaseException:  # an interrupt, which the processes don't get
            end_all()
            raise


def _light_losses(result: Result) -> dict[str, str]:
    if result.is_green:
        return {}
    died = {result.died_in: "its process died in it"} if result.died_in else {}
    return result.failed | died or {result.lane.name: f"its process ended with {result.code}"}


def _try_again(verdict: Verdict, heavy: Sequence[Result], run: Callable[[Lane], Result]) -> None:
    failed = {test: text for result in heavy for test, text in result.failed.items()}
    died = {result.died_in: "its process died in it" for result in heavy if result.died_in}
    waiting = {test: NEVER_RAN for result in heavy for test in result.unfinished} | died | failed
    if len(failed | died) > MOST_SECOND_TRIES:
        verdict.lost |= failed | died
        return
    again = [run(lane) for lane in by_file(waiting)]
    verdict.results += again
    verdict.second = waiting
    for result in again:
        verdict.lost |= result.failed | dict.fromkeys(result.unfinished, NEVER_RAN)
    silent = [r for r in [*heavy, *again] if not r.is_green and not (r.failed or r.unfinished)]
    verdict.lost |= {result.lane.name: f"its process ended with {result.code}" for result in silent}


def tree() -> str | None:
    """The tree of HEAD, or None while the working tree differs from it: what ran then is no commit's."""
    status = subprocess.run(["git", "status", "--porcelain"], cwd=PROJECT, capture_output=True, text=True, check=False)
    if status.returncode != 0 or status.stdout.strip():
        return None
    done = subprocess.run(["git", "rev-parse", "HEAD^{tree}"], cwd=PROJECT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def keep(verdict: Verdict, seconds: float, of_tree: str | None, results: Path = RESULTS) -> None:
    """Writes gate.json, and a line of second-tries.jsonl for each test that needed one."""
    results.mkdir(exist_ok=True)
    told = {
        "tree": of_tree,
        "passed": verdict.passed,
        "minutes": round(seconds / 60, 1),
        "second_tries": len(verdict.second),
    }
    (results / "gate.json").write_text(json.dumps(told) + "\n")
    keep_second_tries(verdict, of_tree, results)


def keep_second_tries(verdict: Verdict, of_tree: str | None, results: Path = RESULTS) -> None:
    """A line for each test that needed one, with its first error."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with open(results / "second-tries.jsonl", "a") as file:
        for test, text in verdict.second.items():
            line = {"at": now, "tree": of_tree, "test": test, "passed": test not in verdict.lost, "first": text}
            file.write(json.dumps(line) + "\n")


def told(verdict: Verdict, seconds: float) -> list[str]:
    """The end of a run's output: what took a second try and what failed, then lanes against their budgets, then the sum, last."""
    lines = []
    for test, text in verdict.second.items():
        lines += [f"second try: {test}", *(f"  {line}" for line in _end_of(text))]
    for test, text in verdict.lost.items():
        lines += [f"FAILED {test}", *(f"  {line}" for line in _end_of(text))]
    lines += [f"not run: {name}" for name in verdict.not_run]
    for result in verdict.results:
        over = "" if result.seconds <= result.lane.minutes * 60 else "  over its budget"
        lines.append(f"{result.lane.name:>10}: {result.seconds / 60:5.1f} of {result.lane.minutes:4.1f} min{over}")
    return [*lines, _sum(verdict, seconds)]


def _end_of(text: str, lines: int = 15) -> list[str]:
    return text.splitlines()[-lines:]


def _sum(verdict: Verdict, seconds: float) -> str:
    passed, skipped = sum(r.passed for r in verdict.results), sum(len(r.skipped) for r in verdict.results)
    counts = [f"{len(verdict.lost)} failed"] if verdict.lost else []
    counts += [f"{passed} passed", f"{skipped} skipped", f"{len(verdict.second)} second tries"]
    return f"==== {', '.join(counts)} in {seconds / 60:.1f} min: {'passed' if verdict.passed else 'FAILED'} ===="
