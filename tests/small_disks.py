"""Disks that are really full: a small tmpfs where this process may mount one, else files that take nothing."""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MIB = 1 << 20
BALLAST = "ballast"


@contextlib.contextmanager
def small_disk(mebibytes: int) -> Iterator[Path]:
    """A file system of that size of its own. Skips the test, and says so, where this process may not mount one."""
    with tempfile.TemporaryDirectory(prefix="levee-disk-") as directory:
        Path(directory).chmod(0o711)
        place = Path(directory) / "disk"
        place.mkdir()
        arguments = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=711", "tmpfs", str(place)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"no disk can be filled here, because mounting one takes root: {done.stderr.strip()}")
        try:
            yield place
        finally:
            subprocess.run(["umount", "--lazy", str(place)], check=False)


def fill(place: Path, leave: int = 0) -> None:
    """Takes all space of the disk but `leave` bytes."""
    with open(place / BALLAST, "ab", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"\0" * MIB) == MIB:
            pass
    if leave:
        ballast = place / BALLAST
        with open(ballast, "ab") as file:
            file.truncate(max(0, ballast.stat().st_size - leave))


def relieve(place: Path) -> None:
    """Gives the space back."""
    (place / BALLAST).unlink()


@contextlib.contextmanager
def taking_nothing(*files: Path) -> Iterator[None]:
    """Every write to these files fails as on a full disk; they must not exist yet."""
    for file in files:
        file.symlink_to("/dev/full")
    try:
        yield
    finally:
        for file in files:
            file.unlink()
