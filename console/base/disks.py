"""Space on the disks that Levee writes to: warns before it runs out, and explains failed writes.

PostgreSQL stops when it can't extend its log, and then nothing can be read either. So requests that would be recorded are
refused while there is still room for what runs to be recorded to its end.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from console.base.env import Env

LOW_BYTES = 1 << 30
FULL_BYTES = 64 << 20  # four segments of PostgreSQL's log
FEW_FILES = 64  # a disk without inodes takes nothing either
FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)
FULL_TEXTS = (
    "No space left on device",
    "Disk quota exceeded",
    "MISCONF",
)  # the last is Redis, which can't write its file
DISK_FULL = "53100"  # PostgreSQL


class DiskRoom(StrEnum):
    """How much is left."""

    ENOUGH = "ready"
    LOW = "low"
    FULL = "full"


@dataclass(frozen=True)
class Disk:
    """What is left at one of Levee's places, and the words for the place."""

    place: str
    words: str
    free_bytes: int
    free_files: int | None  # None: as many as there is space for
    records: bool  # whether requests and their audit are written here

    @property
    def room(self) -> DiskRoom:
        few_files = self.free_files is not None and self.free_files < FEW_FILES
        if self.free_bytes < FULL_BYTES or few_files:
            return DiskRoom.FULL
        return DiskRoom.LOW if self.free_bytes < LOW_BYTES else DiskRoom.ENOUGH

    @property
    def left(self) -> str:
        """What is left, in words."""
        if self.free_bytes >= FULL_BYTES and self.free_files is not None and self.free_files < FEW_FILES:
            return f"{self.free_files} more files fit"
        return f"{self.free_bytes / (1 << 20):,.0f} MiB are left"


def disks(env: Env) -> list[Disk]:
    """One for each place of this instance that is on this machine; a place that can't be asked is left out."""
    return [disk for place in _places(env) if (disk := _ask(*place)) is not None]


def fullest(candidates: list[Disk]) -> Disk | None:
    """The one to speak of first: where requests are recorded comes before the others, then what has the least room."""
    order = [DiskRoom.FULL, DiskRoom.LOW, DiskRoom.ENOUGH]
    return min(candidates, key=lambda disk: (order.index(disk.room), not disk.records, disk.free_bytes), default=None)


def full_disk(env: Env) -> Disk | None:
    """The disk that has no room to record requests; None while there is room."""
    return next((disk for disk in disks(env) if disk.records and disk.room is DiskRoom.FULL), None)


def says_full(error: BaseException) -> bool:
    """Whether a disk without space is behind an error of the system, PostgreSQL or Redis."""
    return any(
        getattr(link, "errno", None) in FULL_ERRORS
        or getattr(link, "sqlstate", None) == DISK_FULL
        or any(text in str(link) for text in FULL_TEXTS)
        for link in _causes(error)
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


Place = tuple[str, str, Path, bool]


def _places(env: Env) -> Iterator[Place]:
    yield "home", "LEVEE_HOME's disk", env.home, True
    if env.database_url is None and env.embedded:
        yield "database", "the disk of PostgreSQL's data", Path(env.embedded["pg_data"]).parent, True
    yield "audit", "the disk of LEVEE_AUDIT_HEADS", env.audit_heads, False
    if env.embedded:
        yield "temporary", "the temporary directory's disk", Path(env.embedded["run_dir"]), False


def _ask(place: str, words: str, path: Path, records: bool) -> Disk | None:
    try:
        filesystem = os.statvfs(path)
    except OSError:
        return None
    files = filesystem.f_favail if filesystem.f_files else None
    return Disk(place, words, filesystem.f_bavail * filesystem.f_frsize, files, records)


def sync_directory(directory: Path) -> None:
    """Has the names in a directory on the disk, as fsync has a file's content. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
