"""Looks through a directory for Delta tables and parquet directories. Reads names only, follows no link, and ends."""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from tables.deltalog.read import places
from tables.deltalog.read.filenames import LOG, LogName, parse
from tables.deltalog.read.filenames import Kind as LogKind
from tables.rules.locations import NOT_IN_PATHS, fits

MAX_ENTRIES = 1_000_000
MAX_IN_DIRECTORY = 200_000
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
    directory mean that it is gone. `unreadable` are directories that the operating system refused, `crowded` those that
    hold more names than one directory may: only the first ones were looked at. Nothing is known of the rest below both.
    """

    found: tuple[Found, ...]
    entries: int
    stopped: str | None
    unreadable: tuple[str, ...]
    crowded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one scan: entries listed, those of one directory among them, seconds, levels below its start."""

    entries: int = MAX_ENTRIES
    directory: int = MAX_IN_DIRECTORY
    seconds: float = MAX_SECONDS
    depth: int = MAX_DEPTH


class Unclear(Exception):
    """What a directory is can't be told. The message says why."""


class _Stop(Exception):
    """A bound was reached."""


def scan(
    start: str,
    skip: Collection[str] = (),
    limits: Limits = Limits(),
    clock: Callable[[], float] = time.monotonic,
) -> Scan:
    """Everything below `start`, itself included. Directories in `skip` (other roots) are left out with all they hold.

    Breadth first, so that a bound cuts the deepest places off. Inside a Delta table nothing more is looked for. Partition
    directories (`day=2026-01-01`) are part of the parquet directory that they lie in; where they hold no parquet files,
    they are directories like others, with Delta tables below them perhaps (`env=prod/orders`).
    """
    walk = _Walk(limits, clock)
    directories: list[Found] = []
    stopped: str | None = None
    try:
        for item in walk.tables(start, frozenset(skip)):
            if fits(item.path):
                directories.append(item)
            else:
                walk.unreadable[item.path] = None  # the catalog can't hold it
    except _Stop as reason:
        stopped = str(reason)
    unreadable, crowded = tuple(walk.unreadable), tuple(walk.crowded)
    return Scan(tuple(directories), walk.entries, stopped or walk.cut, unreadable, crowded)


def kind_of(path: str, limits: Limits = Limits()) -> Kind | None:
    """What the directory at `path` is; None when it is neither a Delta table nor a parquet directory.

    A Delta table is known by its log alone; otherwise it looks until the first parquet file. Raises Unclear when it can't
    look, or finds none within the limits.
    """
    walk = _Walk(limits, time.monotonic)
    try:
        kind = walk.kind(path)
    except _Stop as reason:
        raise Unclear(f"there are {reason}, and no parquet file among those looked at") from None
    if kind is None and path in walk.unreadable and os.path.lexists(path):
        raise Unclear("the operating system refuses to list it")
    return kind


def is_delta(path: str) -> bool:
    """Whether a Delta log lies in the directory; nothing else in it is looked at. A log that can't be listed counts."""
    try:
        return _Walk(Limits(), time.monotonic).holds_log(path)
    except _Stop:
        return True


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
        for entry in walk.parquet_files(path):
            status = entry.stat(follow_symlinks=False)
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


class _Walk:
    """One walk and what it has used of its limits."""

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self.limits = limits
        self.clock = clock
        self.deadline = clock() + limits.seconds
        self.steps = 0
        self.top: tuple[str, places.Held] | None = None
        self.entries = 0
        self.cut: str | None = None
        self.bare: set[str] = set()  # partition directories below which, partition by partition, no parquet file lies
        self.unreadable: dict[str, None] = {}  # in order
        self.crowded: list[str] = []

    def tables(self, start: str, skip: frozenset[str]) -> Iterator[Found]:
        waiting = deque([(start, 0)])
        while waiting:
            path, depth = waiting.popleft()
            if self.holds_log(path):
                yield Found(path, Kind.DELTA)
                continue
            if path in self.unreadable:
                continue
            listing = self._listing(path)
            is_parquet = listing.parquet or self._partitions_hold_parquet(listing)
            if is_parquet:
                yield Found(path, Kind.PARQUET)
            names = listing.directories if is_parquet else sorted((*listing.directories, *listing.partitions))
            below = [child for name in names if (child := _join(path, name)) not in skip]
            if below and depth == self.limits.depth:
                self.cut = f"directories more than {depth} levels deep were left out"
                continue
            waiting.extend((child, depth + 1) for child in below)

    def kind(self, path: str) -> Kind | None:
        """What one directory is. Beyond its log, it is looked through until the first parquet file."""
        if self.holds_log(path):
            return Kind.DELTA
        if path in self.unreadable:
            return None
        return Kind.PARQUET if any(True for _ in self.parquet_files(path)) else None

    def parquet_files(self, start: str, most: int | None = None) -> Iterator[os.DirEntry[str]]:
        """Each parquet file in a directory and in the partition directories below it; `most` entries of each one.

        A partition directory with a Delta log is a table of its own, and its files are that one's.
        """
        waiting = deque([start])
        while waiting:
            path = waiting.pop()
            if "=" in path.rpartition("/")[2] and self.holds_log(path):
                continue
            for entry in self._entries(path, most):
                if _is_directory(entry):
                    if "=" in entry.name:
                        waiting.append(_join(path, entry.name))
                elif _is_parquet(entry.name) and _is_file(entry):
                    yield entry

    def holds_log(self, path: str) -> bool:
        """Whether the directory has a Delta log with a commit or a checkpoint. One that can't be listed to its end is taken for such."""
        log = _join(path, LOG)
        self._step()
        try:
            if not stat.S_ISDIR(places.mode(*self._below(log))):
                return False
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            self.unreadable[path] = None  # nothing in it can be told
            return False
        entries = self._entries(log, self.limits.directory)
        found = any(_makes_table(parse(entry.name)) and _is_file(entry) for entry in entries)
        return found or log in self.unreadable or log in self.crowded

    def _listing(self, path: str) -> _Listing:
        """The names in one directory, links left out, in order; the first ones of a directory that holds too many."""
        directories, partitions, parquet = [], [], False
        for entry in self._entries(path, self.limits.directory):
            name = entry.name
            if _is_directory(entry):
                if "=" in name:
                    partitions.append(name)
                elif not name.startswith(("_", ".")):
                    directories.append(name)
            elif _is_parquet(name) and _is_file(entry):
                parquet = True
        return _Listing(path, tuple(sorted(directories)), tuple(sorted(partitions)), parquet)

    def _entries(self, path: str, most: int | None = None) -> Iterator[os.DirEntry[str]]:
        """The first `most` entries of a directory; all of them without that."""
        try:
            with places.opened(*self._below(path)) as descriptor, os.scandir(descriptor) as entries:
                for number, entry in enumerate(entries):
                    if number == most:
                        self.crowded.append(path)
                        return
                    self._count()
                    if not NOT_IN_PATHS.search(entry.name):
                        yield entry
        except OSError:
            self.unreadable[path] = None

    def _below(self, path: str) -> tuple[int, str]:
        """The directory that the walk began with, which stays the same one though its name may not, and the way from there."""
        if self.top is None:
            self.top = (path.removesuffix(f"/{LOG}"), places.Held(path.removesuffix(f"/{LOG}"), listed=False))
        start, held = self.top
        return held.descriptor, path.removeprefix(start).removeprefix("/")

    def _count(self) -> None:
        self.entries += 1
        if self.entries > self.limits.entries:
            raise _Stop(f"more than {self.limits.entries:,} files and directories")
        self._step()

    def _step(self) -> None:
        """Looks at the clock now and then."""
        self.steps += 1
        if self.steps % 200 == 0 and self.clock() > self.deadline:
            raise _Stop(f"more than {self.limits.seconds:g} seconds")

    def _partitions_hold_parquet(self, listing: _Listing) -> bool:
        """Looks down the partition directories until a parquet file shows up, once for each of them."""
        if listing.path in self.bare:
            self.bare.update(_join(listing.path, name) for name in listing.partitions)
            return False
        paths = [_join(listing.path, name) for name in listing.partitions]
        found = any(True for path in paths for _ in self.parquet_files(path, self.limits.directory))
        if not found:
            self.bare.update(paths)
        return found


def _is_directory(entry: os.DirEntry[str]) -> bool:
    """False for a link, and for what the operating system says nothing about."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def _makes_table(name: LogName | None) -> bool:
    return name is not None and name.kind not in (LogKind.CHECKSUM, LogKind.COMPACTION)


def _is_parquet(name: str) -> bool:
    return name.lower().endswith((".parquet", ".parq")) and not name.startswith(("_", "."))


def _join(path: str, name: str) -> str:
    return f"{path.rstrip('/')}/{name}"
