"""One set of request counts for all web processes of a machine: each counts in files of its own slot, and a scrape adds them up."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from prometheus_client import values

from console.base.logs import log

MOST = 16  # web processes of one home at a time
MIB = 1 << 20
# What the library maps into memory, by its kinds of metric. Reserved beforehand: on a full disk a write into a gap would kill the process.
RESERVED = {"histogram": 4 * MIB, "counter": MIB}

_held: list[TextIO] = []  # the slot is this process's until the process ends


def share(state: Path) -> bool:
    """Makes this process count in files below `state`, a home's directory. Call it before any metric is made.

    Returns False, and the process counts for itself alone, where there is no such directory, no room or no free slot.
    """
    if not state.is_dir():
        return False
    directory = state / "metrics"
    try:
        slot = _take(directory)
        for kind, size in RESERVED.items():
            _reserve(directory / f"{kind}_{slot}.db", size)
    except OSError as error:
        log.warning("requests_counted_apart", error=str(error))
        return False
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory)
    values.ValueClass = values.MultiProcessValue(lambda: slot)  # type: ignore[no-untyped-call]
    return True


def shared_directory() -> str | None:
    """Where the processes count; None where this one counts for itself alone."""
    return os.environ.get("PROMETHEUS_MULTIPROC_DIR")


def _take(directory: Path) -> int:
    """A slot that no living process holds, with what a dead one had counted in it. The first process begins anew."""
    directory.mkdir(mode=0o700, exist_ok=True)
    with _alone(directory):
        locks = {slot: _lock(directory / f"{slot}.slot") for slot in range(MOST)}
        free = {slot: lock for slot, lock in locks.items() if lock is not None}
        if not free:
            raise OSError(errno.EAGAIN, f"{MOST} web processes count already", str(directory))
        if len(free) == MOST:
            for file in directory.glob("*.db"):
                file.unlink()
        mine = min(free)
        _held.append(free.pop(mine))
        for lock in free.values():
            lock.close()
        return mine


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    with open(directory / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lock(file: Path) -> TextIO | None:
    """The locked file; None if a living process has it."""
    opened = open(file, "w")  # noqa: SIM115 (held until the process ends)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        opened.close()
        return None
    return opened


def _reserve(file: Path, size: int) -> None:
    """Raises OSError without room. An empty file would break every scrape of the other processes, so none stays."""
    with open(file, "ab") as opened:
        try:
            os.posix_fallocate(opened.fileno(), 0, size)
        except OSError:
            if not opened.tell():
                file.unlink(missing_ok=True)
            raise
