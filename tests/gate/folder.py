"""A run's own folder: everything that its tests make lies below it, and every process that they start knows it.

It is the TMPDIR of its tests. A run that was killed leaves its folder behind with its lock free, and the next run ends what is left of it.
Such a process is told by the folder in its TMPDIR or its command line.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from console.base.processes import start_ticks
from console.supervisor.tools import PROJECT
from tests.processes import started_for

PREFIX = "lvg-"
RESULTS = PROJECT / "test-results"
LOCK = "lock"
GONE_LIMIT_S = 20.0
MOUNTS = Path("/proc/self/mounts")


@contextlib.contextmanager
def opened() -> Iterator[Path]:
    """A folder of this run, removed at its end with what its tests left running. What a killed run left goes first."""
    remove_leftovers()
    # Short: paths of sockets below it have 107 bytes. Open to pass through: PostgreSQL runs as a user of its own.
    unlocked = Path(tempfile.mkdtemp(prefix=f".{PREFIX}"))
    unlocked.chmod(0o711)
    with _locked(unlocked):
        place = unlocked.rename(unlocked.with_name(unlocked.name[1:]))  # locked now: nobody takes it for left over
        try:
            yield place
        finally:
            remove(place)


@contextlib.contextmanager
def _locked(place: Path) -> Iterator[None]:
    with open(place / LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def remove_leftovers() -> None:
    """End and remove what runs of this user left that were killed."""
    for place in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if (place / LOCK).is_file():
            with contextlib.suppress(OSError), _locked(place):
                remove(place)


def remove(place: Path) -> list[str]:
    """End every process of the folder, unmount what is mounted in it, and remove it. Returns the command lines of what was ended."""
    ended = _end(place)
    for mounted in _mounts_below(place):
        subprocess.run(["umount", "--lazy", mounted], check=False)
    shutil.rmtree(place, ignore_errors=True)
    return ended


def _end(place: Path) -> list[str]:
    found = started_for(place, "TMPDIR")
    for pid in found:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    limit = time.monotonic() + GONE_LIMIT_S
    while any(start_ticks(pid) is not None for pid in found) and time.monotonic() < limit:
        time.sleep(0.05)
    return list(found.values())


def _mounts_below(place: Path) -> list[str]:
    """Innermost first."""
    mounted = [line.split()[1] for line in MOUNTS.read_text().splitlines()]
    return sorted((each for each in mounted if each.startswith(f"{place}/")), reverse=True)
