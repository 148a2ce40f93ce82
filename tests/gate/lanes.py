"""One lane of the gate: a test process, what it was to run, and what became of each of its tests."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from console.supervisor.tools import PROJECT
from tests.gate import folder, record

LIMIT_OF_BUDGET = 5  # a lane that takes so much longer than on a quiet machine hangs: it is ended, and what is left gets its second try
LEAST_LIMIT_S = 900.0
ENOUGH = 6  # failures that no second try can mend


@dataclass(frozen=True, slots=True)
class Lane:
    """A process of pytest. `arguments` are pytest's own; `minutes` what it takes alone on two quiet cores."""

    name: str
    arguments: tuple[str, ...]
    minutes: float
    options: tuple[str, ...] = ("-n", "0", "--maxfail", str(ENOUGH))


@dataclass(slots=True)
class Result:
    """What became of a lane. `failed` and `unfinished` (never ran, or its process died in it) go by test id; `code` is pytest's.

    `took` has the seconds of each file.
    """

    lane: Lane
    code: int
    seconds: float
    passed: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)
    died_in: str | None = None
    took: dict[str, float] = field(default_factory=dict)

    @property
    def is_green(self) -> bool:
        return self.code == 0 and not self.failed and not self.unfinished


def run(lane: Lane, place: Path) -> Result:
    """Runs the lane in a folder of its own below the run's, and ends whatever it leaves."""
    own, written = place / lane.name, place / f"{lane.name}.jsonl"
    own.mkdir(mode=0o711)
    record_in = ("-p", "tests.gate.record", f"--record={written}")
    paths = (f"--rootdir={PROJECT}", f"--basetemp={own / 't'}")  # short, for sockets
    command = [sys.executable, "-m", "pytest", "-q", *record_in, *paths]
    began = time.monotonic()
    code = _ended(
        [*command, *lane.options, *lane.arguments], own, max(LEAST_LIMIT_S, lane.minutes * 60 * LIMIT_OF_BUDGET)
    )
    for left in folder.remove(own):
        print(f"{lane.name} left a process behind, which was ended: {left[:200]}", flush=True)
    return result_of(lane, code, time.monotonic() - began, written)


_running = set[subprocess.Popen[bytes]]()


def end_all() -> None:
    """Ends the processes of every lane that runs, in whatever thread: each then has its result, as of one that was killed."""
    for process in list(_running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _ended(command: list[str], own: Path, limit_s: float) -> int:
    """The exit code of pytest; that of a process killed for its time is the signal's."""
    process = subprocess.Popen(command, cwd=PROJECT, env=_environment(own), start_new_session=True)
    _running.add(process)
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        print(f"ended after {limit_s:.0f} s, its limit", flush=True)
    finally:
        _running.discard(process)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def _environment(own: Path) -> dict[str, str]:
    """That of the run, but Python keeps what it compiles, whatever a container says: a lane starts the project dozens of times."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "TMPDIR": str(own)}


def result_of(lane: Lane, code: int, seconds: float, written: Path) -> Result:
    """Reads the record of a lane's process, whether it came to its end or not."""
    found, planned, began = Result(lane, code, seconds), [], set()
    ended: set[str] = set()
    for line in record.read(written):
        planned += line.get("planned", ())
        if "began" in line:
            began.add(line["began"])
        if "ended" in line:
            ended.add(line["ended"])
            _count(found, line)
            file = line["ended"].partition("::")[0]
            found.took[file] = found.took.get(file, 0.0) + line["seconds"]
    left = [test for test in planned if test not in ended]
    found.died_in = next((test for test in left if test in began), None)
    if len(found.failed) < ENOUGH or "--maxfail" not in lane.options:  # else it stopped by itself
        found.unfinished = left if planned else list(lane.arguments)
    return found


def _count(found: Result, line: dict[str, Any]) -> None:
    match line["outcome"]:
        case "passed":
            found.passed += 1
        case "skipped":
            found.skipped[line["ended"]] = line["text"]
        case _:
            found.failed[line["ended"]] = line["text"]
