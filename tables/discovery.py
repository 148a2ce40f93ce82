"""Looks through a directory for Delta tables and parquet directories. Reads names only, follows no link, and ends."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from tables.deltalog.filenames import LOG, LogName, parse
from tables.deltalog.filenames import Kind as LogKind
from tables.locations import NOT_IN_PATHS

MAX_ENTRIES = 500_000
MAX_SECONDS = 20.0
MAX_DEPTH = 32


class Kind(StrEnum):
    """What a directory is."""

    DELTA = "delta"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class Found:
    """One directory that is a table or could become one; `path` is absolute."""

    path: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Scan:
    """What a look through a root found.

    `stopped` says why it ended early, in words, and is None when everything was seen: only then does a missing
    directory mean that it is gone. `unreadable` are directories that the operating system refused.
    """

    found: tuple[Found, ...]
    entries: int
    stopped: str | None
    unreadable: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one scan: entries listed, seconds, levels below its start."""

    entries: int = MAX_ENTRIES
    seconds: float = MAX_SECONDS
    depth: int = MAX_DEPTH


class _Stop(Exception):
    """A bound was reached."""


def scan(
    start: str,
    skip: Collection[str] = (),
    limits: Limits = Limits(),
    clock: Callable[[], float] = time.monotonic,
) -> Scan:
    """Everything below `start`, itself included. Directories in `skip` (other roots) are left out with all they hold.

    Breadth first, so that a bound cuts the deepest places off. Inside a Delta table nothing more is looked for, and
    partition directories (`day=2026-01-01`) are part of the table that they lie in.
    """
    walk = _Walk(limits, clock)
    found: list[Found] = []
    stopped: str | None = None
    try:
        for item in walk.tables(start, frozenset(skip)):
            found.append(item)
    except _Stop as reason:
        stopped = str(reason)
    return Scan(tuple(found), walk.entries, stopped or walk.cut, tuple(walk.unreadable))


def kind_of(path: str) -> Kind | None:
    """What the directory at `path` is; None when it is neither a Delta table nor a parquet directory."""
    walk = _Walk(Limits(), time.monotonic)
    try:
        return walk.kind(walk.listing(path))
    except _Stop:
        return None


@dataclass(frozen=True, slots=True)
class Measure:
    """The parquet files of one directory: how many, their bytes, the newest one's time (UTC). `stopped` as in Scan."""

    files: int
    size_bytes: int
    modified_at: datetime | None
    stopped: str | None


def measure(path: str, limits: Limits = Limits()) -> Measure:
    """Adds up the parquet files in a directory and its partition directories. Only names and sizes are read."""
    walk = _Walk(limits, time.monotonic)
    files = size = 0
    newest: float | None = None
    stopped = None
    try:
        for status in walk.parquet_files(path):
            files, size, newest = files + 1, size + status.st_size, max(newest or 0, status.st_mtime)
    except _Stop as reason:
        stopped = str(reason)
    return Measure(files, size, None if newest is None else datetime.fromtimestamp(newest, UTC), stopped)


@dataclass(frozen=True, slots=True)
class _Listing:
    path: str
    directories: tuple[str, ...]
    partitions: tuple[str, ...]
    parquet: bool
    log: bool


class _Walk:
    """One walk and what it has used of its limits."""

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self.limits = limits
        self.clock = clock
        self.deadline = clock() + limits.seconds
        self.entries = 0
        self.cut: str | None = None
        self.unreadable: list[str] = []

    def tables(self, start: str, skip: frozenset[str]) -> Iterator[Found]:
        waiting = deque([(start, 0)])
        while waiting:
            path, depth = waiting.popleft()
            listing = self.listing(path)
            kind = self.kind(listing)
            if kind is not None:
                yield Found(path, kind)
            if kind is Kind.DELTA:
                continue
            below = [child for name in listing.directories if (child := _join(path, name)) not in skip]
            if below and depth == self.limits.depth:
                self.cut = f"directories more than {depth} levels deep were left out"
                continue
            waiting.extend((child, depth + 1) for child in below)

    def parquet_files(self, start: str) -> Iterator[os.stat_result]:
        """Status of each parquet file in a directory and in the partition directories below it."""
        waiting = deque([start])
        while waiting:
            path = waiting.pop()
            for entry in self._entries(path):
                if entry.is_dir(follow_symlinks=False):
                    if "=" in entry.name:
                        waiting.append(_join(path, entry.name))
                elif _is_parquet(entry.name) and entry.is_file(follow_symlinks=False):
                    yield entry.stat(follow_symlinks=False)

    def kind(self, listing: _Listing) -> Kind | None:
        if listing.log and self._holds_log(_join(listing.path, LOG)):
            return Kind.DELTA
        if listing.parquet or self._partitions_hold_parquet(listing):
            return Kind.PARQUET
        return None

    def listing(self, path: str) -> _Listing:
        """The names in one directory, links left out, in order."""
        directories, partitions, parquet, log = [], [], False, False
        for entry in self._entries(path):
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                log = log or name == LOG
                if "=" in name:
                    partitions.append(name)
                elif not name.startswith(("_", ".")):
                    directories.append(name)
            elif _is_parquet(name) and entry.is_file(follow_symlinks=False):
                parquet = True
        return _Listing(path, tuple(sorted(directories)), tuple(sorted(partitions)), parquet, log)

    def _entries(self, path: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    self._count()
                    if not NOT_IN_PATHS.search(entry.name):
                        yield entry
        except OSError:
            self.unreadable.append(path)

    def _count(self) -> None:
        self.entries += 1
        if self.entries > self.limits.entries:
            raise _Stop(f"more than {self.limits.entries:,} files and directories")
        if self.entries % 1_000 == 0 and self.clock() > self.deadline:
            raise _Stop(f"more than {self.limits.seconds:g} seconds")

    def _holds_log(self, path: str) -> bool:
        entries = self._entries(path)
        return any(_makes_table(parse(entry.name)) and entry.is_file(follow_symlinks=False) for entry in entries)

    def _partitions_hold_parquet(self, listing: _Listing) -> bool:
        """Looks down the partition directories until a parquet file shows up."""
        waiting = deque(_join(listing.path, name) for name in listing.partitions)
        while waiting:
            inner = self.listing(waiting.pop())
            if inner.parquet:
                return True
            waiting.extend(_join(inner.path, name) for name in inner.partitions)
        return False


def _makes_table(name: LogName | None) -> bool:
    return name is not None and name.kind not in (LogKind.CHECKSUM, LogKind.COMPACTION)


def _is_parquet(name: str) -> bool:
    return name.lower().endswith((".parquet", ".parq")) and not name.startswith(("_", "."))


def _join(path: str, name: str) -> str:
    return f"{path.rstrip('/')}/{name}"
