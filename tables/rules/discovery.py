"""Looks through a directory for Delta tables and parquet directories. Follows no link, and ends, or goes on later.

It reads names, and the first bytes of a few files whose names don't say what they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from tables.deltalog.read.filenames import LOG
from tables.rules.directory_walk import (
    TURN,
    WHOLE,
    DirectoryKind,
    DirectoryWalk,
    FoundDirectory,
    Limits,
    OtherFormat,
    OtherTable,
    ResumePoint,
    Stop,
    Unclear,
    join,
)
from tables.rules.table_formats import TableFormat
from tables.storage.folders import StoreRefused
from tables.storage.place import fits

# What is asked here, and the words of the answers.
__all__ = [
    "DirectoryKind",
    "FoundDirectory",
    "Limits",
    "Measure",
    "OtherFormat",
    "OtherTable",
    "ResumePoint",
    "Scan",
    "Unclear",
    "is_delta",
    "kind_of",
    "measure",
    "other_format",
    "scan",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scan:
    """What a look through a root found.

    `stopped` says why it ended early, in words, and `place` where it can go on; both are None when everything was seen: only
    then does a missing directory mean that it is gone. `cut` says what was left out for good on the way; it is the `stopped` of
    a scan without a place. `unreadable` are directories that the system or the object store refused, `crowded` those that hold
    more than one directory may: only the first names were looked at. Nothing is known of the rest below both. `others` are
    tables in other formats.
    """

    found: tuple[FoundDirectory, ...]
    entries: int
    stopped: str | None
    unreadable: tuple[str, ...]
    crowded: tuple[str, ...] = ()
    place: ResumePoint | None = None
    cut: str | None = None
    others: tuple[OtherTable, ...] = ()


def scan(
    start: str,
    skip: Collection[str] = (),
    limits: Limits = TURN,
    clock: Callable[[], float] = time.monotonic,
    place: ResumePoint | None = None,
) -> Scan:
    """Everything below `start`, itself included. Directories in `skip` (other roots) are left out with all they hold.

    Depth first and by name, so that one place tells what was seen; with `place` it goes on there. Each call comes further: a
    directory that takes more than all of its bounds is one of the `crowded`, and left behind. Nothing more is looked for inside
    a Delta table or a table in another format. Partition directories (`day=2026-01-01`) are part of the parquet directory that
    they lie in; where they hold no parquet files, they are directories like others, with Delta tables below them perhaps
    (`env=prod/orders`).
    """
    walk = DirectoryWalk(start, limits, clock)
    directories: list[FoundDirectory] = []
    stopped: str | None = None
    next_place: ResumePoint | None = None
    try:
        for item in walk.tables(start, frozenset(skip), place):
            if fits(item.path):
                directories.append(item)
            else:
                walk.unreadable.setdefault(item.path, None)  # the catalog can't hold it
    except Stop as reason:
        stopped, next_place = str(reason), walk.where()
    except StoreRefused as error:  # whatever the scan asks for next: it ends here, and the next one begins anew
        stopped = walk.cut = f"{walk.at} can’t be read: {error}"
    if reason_there := walk.unreadable.get(start):
        walk.cut = walk.cut or f"{start} can’t be read: {reason_there}"
    unopened = [path for path in walk.unopened if path != start]  # nothing in the root could be judged gone any more
    unreadable, crowded = tuple({**walk.unreadable, **dict.fromkeys(unopened)}), tuple(walk.crowded)
    others = tuple(walk.others)
    return Scan(
        tuple(directories), walk.entries, stopped or walk.cut, unreadable, crowded, next_place, walk.cut, others
    )


def kind_of(path: str, limits: Limits = WHOLE) -> DirectoryKind | None:
    """What the directory at `path` is; None when it is neither a Delta table nor a parquet directory.

    A Delta table is known by its log alone; otherwise it looks until the first parquet file. Raises Unclear when it can't
    look, or finds none within the limits, and OtherFormat for a table in another format.
    """
    walk = DirectoryWalk(path, limits, time.monotonic)
    try:
        kind = walk.kind(path)
    except Stop as reason:
        raise Unclear(f"there are {reason}, and no parquet file among those looked at") from None
    except StoreRefused as error:
        raise Unclear(str(error)) from None
    if kind is None and path in walk.unreadable and walk.folders.exists(path):
        raise Unclear(walk.unreadable[path] or "the operating system refuses to list it")
    if kind is None and walk.unopened:
        raise Unclear(next(iter(walk.unopened.values())))
    return kind


def is_delta(path: str) -> bool:
    """Whether a Delta log lies in the directory; nothing else in it is looked at. A log that can't be listed to its end counts.

    Raises Unclear where an object store refuses to tell, or is away.
    """
    walk = DirectoryWalk(path, Limits(), time.monotonic)
    try:
        found = walk.holds_log(path)
    except Stop:
        return True
    except StoreRefused as error:
        raise Unclear(str(error)) from None
    if refused := walk.unreadable.get(path) or walk.unreadable.get(join(path, LOG)):
        raise Unclear(refused)
    return found


def other_format(path: str) -> TableFormat | None:
    """The other format that the directory at `path` is a table in, by its marks alone; None if it is none.

    Raises Unclear where an object store refuses to tell, or is away.
    """
    walk = DirectoryWalk(path, Limits(), time.monotonic)
    try:
        return walk.other_format(path)
    except Stop as reason:
        raise Unclear(str(reason)) from None
    except StoreRefused as error:
        raise Unclear(str(error)) from None


@dataclass(frozen=True, slots=True)
class Measure:
    """The parquet files of one directory: how many, their bytes, the newest one's time (UTC). `stopped` as in Scan."""

    files: int
    size_bytes: int
    modified_at: datetime | None
    stopped: str | None


def measure(path: str, limits: Limits = WHOLE) -> Measure:
    """Adds up the parquet files in a directory and its partition directories, by names and sizes.

    Where a directory names none, files without an extension count, if the first bytes of a few of them say so.
    """
    walk = DirectoryWalk(path, limits, time.monotonic)
    files = size = 0
    newest: float | None = None
    stopped = None
    try:
        if (marked := walk.other_format(path)) is not None:
            raise OtherFormat(marked)
        for file in walk.parquet_files(path, sized=True):
            files, size, newest = files + 1, size + file.size, max(newest or 0, file.modified)
    except OtherFormat as other:
        return Measure(0, 0, None, f"{other}, which has files that no longer count")
    except (Stop, StoreRefused) as reason:
        stopped = str(reason)
    return Measure(files, size, None if newest is None else datetime.fromtimestamp(newest, UTC), stopped)
