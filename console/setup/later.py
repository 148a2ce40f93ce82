"""Makes the class archive beside the running console: `make run` starts this and doesn't wait for it.

It costs more than a minute of computing, which a first start should not have to wait for. It begins once the workers are warm, only
gets time that nobody else wants, ends with whatever ends the console, and begins anew the next time.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from console.setup import stamps
from console.setup.archive import Archive
from console.setup.places import HERE
from console.setup.troubles import CommandFailed

PR_SET_CHILD_SUBREAPER = 36
FIRST_S = 180.0  # of a start, which belong to its workers and to what a person tries first
AGAIN_S = 60.0  # of a later one, when the start before was too short: short sessions would never get the archive
TRIED = "archive-tried"


def main() -> int:
    """0 also when there was nothing to do; a failure costs a few seconds per start, so one line is enough."""
    archive = Archive(HERE)
    with (HERE.tools / "archive.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 0
        return 0 if archive.ready() else _make(archive)


def _make(archive: Archive) -> int:
    os.nice(19)
    adopt_orphans()
    # A shell starts background work with SIGINT ignored; Ctrl-C must end this like everything else.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    time.sleep(pause(HERE.stamps))
    try:
        archive.install()
    except CommandFailed as failure:
        first = str(failure).splitlines()[0]
        print(f"set-up: no class archive, so Spark starts some seconds slower: {first}", file=sys.stderr)
        return 1
    stamps.drop(HERE.stamps, TRIED)
    return 0


def pause(directory: Path) -> float:
    """How long this start waits, in seconds; notes in the directory of stamps that it has tried."""
    again = stamps.holds(directory, TRIED, "")
    stamps.write(directory, TRIED, "")
    return AGAIN_S if again else FIRST_S


def _stop(number: int, frame: FrameType | None) -> None:
    """The JVM has a session of its own and would first write what it has: which takes too long."""
    end_descendants()
    os._exit(128 + number)


def adopt_orphans() -> None:
    """From now on a process below this one stays below it when its parent dies."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def end_descendants() -> None:
    """Kill until none is left: one may be starting another just now. Needs `adopt_orphans`."""
    while pids := descendants(os.getpid()):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # it ended by itself in the meantime
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):  # the last one was waited for elsewhere
            os.waitpid(-1, 0)


def descendants(pid: int) -> list[int]:
    """Every process below `pid`, parents first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (parent := _parent(entry)) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    pids = [pid]
    for known in pids:
        pids.extend(children.get(known, []))
    return pids[1:]


def _parent(entry: Path) -> int | None:
    try:
        stat = (entry / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat[stat.rindex(")") + 2 :].split()[1])


if __name__ == "__main__":
    sys.exit(main())
