"""Looks through a directory for Delta tables and parquet directories. Follows no link, and ends, or goes on later.

It reads names, and the first bytes of a few files whose names don't say what they are.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from tables.deltalog.read import places
from tables.deltalog.read.filenames import LOG, LogName, parse
from tables.deltalog.read.filenames import Kind as LogKind
from tables.rules import folders
from tables.rules.folders import Entry, StoreRefused
from tables.rules.locations import NOT_IN_PATHS, fits
from tables.rules.parquet_names import MAGIC, MOST_OPENED, has_no_extension, is_parquet
from tables.rules.table_formats import HUDI_DIRECTORY, MARKED, TableFormat, marked_format

MAX_ENTRIES = 1_000_000
MAX_IN_DIRECTORY = 200_000
MAX_SECONDS = 20.0
TURN_SECONDS = 10.0
MAX_DEPTH = 32


class Kind(StrEnum):
    """What a directory is."""

    DELTA = "delta"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class Found:
    """One directory that is a table or could become one; `path` is canonical."""

    path: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class OtherTable:
    """A directory that is a table in another format: its files are no parquet table, and nothing is looked for in it."""

    path: str
    format: TableFormat


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scan that ended early goes on: at the directory `path`, or `beyond` it and all that lies below it.

    `parquet` says of each directory on the way there, from the start on, whether it is one of parquet files.
    """

    path: str
    beyond: bool
    parquet: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Scan:
    """What a look through a root found.

    `stopped` says why it ended early, in words, and `place` where it can go on; both are None when everything was seen: only
    then does a missing directory mean that it is gone. `cut` says what was left out for good on the way; it is the `stopped` of
    a scan without a place. `unreadable` are directories that the system or the object store refused, `crowded` those that hold
    more than one directory may: only the first names were looked at. Nothing is known of the rest below both. `others` are
    tables in other formats.
    """

    found: tuple[Found, ...]
    entries: int
    stopped: str | None
    unreadable: tuple[str, ...]
    crowded: tuple[str, ...] = ()
    place: Place | None = None
    cut: str | None = None
    others: tuple[OtherTable, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one scan: entries listed, those of one directory among them, seconds, levels below its start."""

    entries: int = MAX_ENTRIES
    directory: int = MAX_IN_DIRECTORY
    seconds: float = MAX_SECONDS
    depth: int = MAX_DEPTH


TURN = Limits(seconds=TURN_SECONDS)


class Unclear(Exception):
    """What a directory is can't be told. The message says why."""


class OtherFormat(Unclear):
    """A directory is a table in another format, which Levee doesn't read."""

    def __init__(self, table_format: TableFormat) -> None:
        super().__init__(f"it’s a table of {table_format.label}")
        self.format = table_format


class _Stop(Exception):
    """A bound was reached."""


def scan(
    start: str,
    skip: Collection[str] = (),
    limits: Limits = TURN,
    clock: Callable[[], float] = time.monotonic,
    place: Place | None = None,
) -> Scan:
    """Everything below `start`, itself included. Directories in `skip` (other roots) are left out with all they hold.

    Depth first and by name, so that one place tells what was seen; with `place` it goes on there. Each call comes further: a
    directory that takes more than all of its bounds is one of the `crowded`, and left behind. Nothing more is looked for inside
    a Delta table or a table in another format. Partition directories (`day=2026-01-01`) are part of the parquet directory that
    they lie in; where they hold no parquet files, they are directories like others, with Delta tables below them perhaps
    (`env=prod/orders`).
    """
    walk = _Walk(start, limits, clock)
    directories: list[Found] = []
    stopped: str | None = None
    next_place: Place | None = None
    try:
        for item in walk.tables(start, frozenset(skip), place):
            if fits(item.path):
                directories.append(item)
            else:
                walk.unreadable.setdefault(item.path, None)  # the catalog can't hold it
    except _Stop as reason:
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


def kind_of(path: str, limits: Limits = Limits()) -> Kind | None:
    """What the directory at `path` is; None when it is neither a Delta table nor a parquet directory.

    A Delta table is known by its log alone; otherwise it looks until the first parquet file. Raises Unclear when it can't
    look, or finds none within the limits, and OtherFormat for a table in another format.
    """
    walk = _Walk(path, limits, time.monotonic)
    try:
        kind = walk.kind(path)
    except _Stop as reason:
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
    walk = _Walk(path, Limits(), time.monotonic)
    try:
        found = walk.holds_log(path)
    except _Stop:
        return True
    except StoreRefused as error:
        raise Unclear(str(error)) from None
    if refused := walk.unreadable.get(path) or walk.unreadable.get(_join(path, LOG)):
        raise Unclear(refused)
    return found


def other_format(path: str) -> TableFormat | None:
    """The other format that the directory at `path` is a table in, by its marks alone; None if it is none.

    Raises Unclear where an object store refuses to tell, or is away.
    """
    walk = _Walk(path, Limits(), time.monotonic)
    try:
        return walk.other_format(path)
    except _Stop as reason:
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


def measure(path: str, limits: Limits = Limits()) -> Measure:
    """Adds up the parquet files in a directory and its partition directories, by names and sizes.

    Where a directory names none, files without an extension count, if the first bytes of a few of them say so.
    """
    walk = _Walk(path, limits, time.monotonic)
    files = size = 0
    newest: float | None = None
    stopped = None
    try:
        if (other := walk.other_format(path)) is not None:
            return Measure(0, 0, None, f"it’s a table of {other.label}, which has files that no longer count")
        for file in walk.parquet_files(path, sized=True):
            files, size, newest = files + 1, size + file.size, max(newest or 0, file.modified)
    except (_Stop, StoreRefused) as reason:
        stopped = str(reason)
    return Measure(files, size, None if newest is None else datetime.fromtimestamp(newest, UTC), stopped)


class _File(NamedTuple):
    name: str
    size: int = 0
    modified: float = 0.0


@dataclass(frozen=True, slots=True)
class _Listing:
    path: str
    directories: tuple[str, ...]
    partitions: tuple[str, ...]
    parquet: bool
    marked: tuple[str, ...] = ()  # directories that may mark a table in another format


class _Walk:
    """One walk and what it has used of its limits."""

    def __init__(self, start: str, limits: Limits, clock: Callable[[], float]) -> None:
        self.folders = folders.of(start)
        self.limits = limits
        self.clock = clock
        self.deadline = clock() + limits.seconds
        self.steps = 0
        self.entries = 0
        self.cut: str | None = None
        self.bare: set[str] = set()  # partition directories below which, partition by partition, no parquet file lies
        self.unreadable: dict[str, str | None] = {}  # in order, with what an object store says
        self.unopened: dict[str, str] = {}  # directories in which what a file is can't be told
        self.crowded: list[str] = []
        self.others: list[OtherTable] = []
        self.at = ""  # the directory that is looked at
        self.parquet: list[bool] = []  # of the directories on the way there
        self.visited = 0
        self.entries_before = 0  # this directory
        self.patient = False  # while it finds its way back to a place: that is no progress, and must come to its end

    def tables(self, start: str, skip: frozenset[str], place: Place | None = None) -> Iterator[Found]:
        waiting = [(start, 0)]
        while waiting:
            path, depth = waiting.pop()
            self.at = path
            del self.parquet[depth:]
            if place is not None and place.path.startswith(f"{path}/") and depth < len(place.parquet):
                self.patient = True
                listing, is_parquet = self._listing(path), place.parquet[depth]
                self.patient = False
            elif place is not None and place.beyond and path == place.path:
                continue
            else:
                kind, seen = self._visit(path)
                self.visited += 1
                if kind is not None:
                    yield Found(path, kind)
                if seen is None:
                    continue
                listing, is_parquet = seen, kind is Kind.PARQUET
            self.parquet.append(is_parquet)
            names = listing.directories if is_parquet else sorted((*listing.directories, *listing.partitions))
            below = [child for name in names if (child := _join(path, name)) not in skip]
            if below and depth == self.limits.depth:
                self.cut = f"directories more than {depth} levels deep were left out"
                continue
            waiting.extend((child, depth + 1) for child in reversed(below) if not _is_before(child, place))

    def _visit(self, path: str) -> tuple[Kind | None, _Listing | None]:
        """What a directory is, and the names in it where more is looked for below it."""
        self.entries_before = self.entries
        if self.holds_log(path):
            return Kind.DELTA, None
        if path in self.unreadable:
            return None, None
        listing = self._listing(path)
        if (other := self._format_by(path, listing.marked)) is not None:
            self.others.append(OtherTable(path, other))
            return None, None
        is_parquet = listing.parquet or self._partitions_hold_parquet(listing)
        return (Kind.PARQUET if is_parquet else None), listing

    def where(self) -> Place:
        """Where to go on after a stop: at the directory that was looked at, or beyond it where nothing else was done."""
        if not self.visited:
            self.crowded.append(self.at)
        else:
            self.entries = self.entries_before  # it is read again
        return Place(self.at, not self.visited, tuple(self.parquet))

    def kind(self, path: str) -> Kind | None:
        """What one directory is. Beyond its log, it is looked through until the first parquet file."""
        if self.holds_log(path):
            return Kind.DELTA
        if path in self.unreadable:
            return None
        if (other := self.other_format(path)) is not None:
            raise OtherFormat(other)
        return Kind.PARQUET if any(True for _ in self.parquet_files(path)) else None

    def parquet_files(self, start: str, most: int | None = None, *, sized: bool = False) -> Iterator[_File]:
        """Each parquet file in a directory and in the partition directories below it; `most` entries of each one.

        A partition directory with a Delta log is a table of its own, and its files are that one's. Without sizes, that goes for
        tables in other formats too.
        """
        waiting = deque([start])
        while waiting:
            path = waiting.pop()
            if not (_is_partition(path) and self.holds_log(path)):
                waiting.extend((yield from self._files_in(path, most, sized)))

    def _files_in(self, path: str, most: int | None, sized: bool) -> Generator[_File, None, list[str]]:
        """Yields the parquet files of one directory; returns its partition directories, none of a table in another format."""
        partitions, marked, unnamed = [], [], []
        asks, named = _is_partition(path) and not sized, False
        for entry in self._entries(path, most):
            if _is_directory(entry):
                partitions += [_join(path, entry.name)] if "=" in entry.name else []
                marked += [entry.name] if _is_partition(path) and entry.name in MARKED else []
            elif not _is_file(entry):
                continue
            elif is_parquet(entry.name):
                if asks and not named and self.other_format(path) is not None:
                    return []
                named = True
                yield _file(entry, sized)
            elif has_no_extension(entry.name):
                unnamed.append(_file(entry, sized))
        if self._format_by(path, marked) is not None:
            return []
        if not named:
            yield from self._by_first_bytes(path, unnamed, sized)
        return partitions

    def _by_first_bytes(self, path: str, files: list[_File], sized: bool) -> list[_File]:
        """Which files without an extension are parquet: all or none, judged by the first few. Raises _Stop where those differ."""
        opened = sorted(files)[:MOST_OPENED]
        parquet = [file for file in opened if self._begins_as_parquet(path, file.name)]
        if sized and 0 < len(parquet) < len(opened):
            raise _Stop(f"files without an extension in {path}, some of them parquet and some not")
        return files if parquet else []

    def _begins_as_parquet(self, path: str, name: str) -> bool:
        self._step()
        try:
            return self.folders.head(_join(path, name), len(MAGIC)) == MAGIC
        except (FileNotFoundError, places.PlaceError):  # gone, or no regular file any more
            return False
        except OSError as error:
            if isinstance(error, StoreRefused) and error.everywhere:
                raise
            self.unopened[path] = str(error) if isinstance(error, StoreRefused) else "its files can’t be opened"
            return False

    def holds_log(self, path: str) -> bool:
        """Whether the directory has a Delta log with a commit or a checkpoint. One that can't be listed to its end is taken for such."""
        log = _join(path, LOG)
        self._step()
        try:
            if not self.folders.is_directory(log):
                return False
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            self._refused(path, error)  # nothing in it can be told
            return False
        entries = self._entries(log, self.limits.directory)
        found = any(_makes_table(parse(entry.name)) and _is_file(entry) for entry in entries)
        return found or log in self.unreadable or log in self.crowded

    def other_format(self, path: str) -> TableFormat | None:
        """The other format that a directory is a table in."""
        return self._format_by(path, [name for name in MARKED if self._holds_directory(path, name)])

    def _holds_directory(self, path: str, name: str) -> bool:
        self._step()
        try:
            return self.folders.is_directory(_join(path, name))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            self._refused(path, error)
            return False

    def _format_by(self, path: str, marked: Iterable[str]) -> TableFormat | None:
        """The format by what marked directories hold. Hudi's own directory is taken for such where it can't be read."""
        for name in sorted(marked):
            directory = _join(path, name)
            entries = self._entries(directory, self.limits.directory)
            found = next((known for entry in entries if (known := marked_format(name, entry.name))), None)
            if found is None and name == HUDI_DIRECTORY and directory in self.unreadable:
                found = TableFormat.HUDI
            if found is not None:
                return found
        return None

    def _listing(self, path: str) -> _Listing:
        """The names in one directory, links left out, in order; the first ones of a directory that holds too many."""
        directories, partitions, marked, unnamed, named = [], [], [], [], False
        for entry in self._entries(path, self.limits.directory):
            name = entry.name
            if _is_directory(entry):
                if name in MARKED:
                    marked.append(name)
                if "=" in name:
                    partitions.append(name)
                elif not name.startswith(("_", ".")):
                    directories.append(name)
            elif not named and _is_file(entry):
                named = is_parquet(name)
                unnamed += [_file(entry, False)] if has_no_extension(name) else []
        parquet = named or bool(not self.patient and self._by_first_bytes(path, unnamed, False))
        return _Listing(path, tuple(sorted(directories)), tuple(sorted(partitions)), parquet, tuple(marked))

    def _entries(self, path: str, most: int | None = None) -> Iterator[Entry]:
        """The first `most` entries of a directory; all of them without that."""
        try:
            with closing(self.folders.entries(path)) as entries:
                for number, entry in enumerate(entries):
                    if number == most:
                        self.crowded.append(path)
                        return
                    self._count()
                    if not NOT_IN_PATHS.search(entry.name):
                        yield entry
        except OSError as error:
            self._refused(path, error)

    def _refused(self, path: str, error: OSError) -> None:
        """Leaves a directory behind that can't be read. Raises StoreRefused where none can be."""
        if not isinstance(error, StoreRefused):
            self.unreadable[path] = None
        elif error.everywhere:
            raise error
        else:
            self.unreadable[path] = str(error)

    def _count(self) -> None:
        if self.patient:
            return  # counted when it was first read
        self.entries += 1
        if self.entries > self.limits.entries:
            raise _Stop(f"more than {self.limits.entries:,} files and directories")
        self._step()

    def _step(self) -> None:
        """Looks at the clock now and then."""
        self.steps += 1
        if self.steps % self.folders.steps == 0 and self.clock() > self.deadline:
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


def _is_before(path: str, place: Place | None) -> bool:
    """Whether a directory comes before a place, and doesn't lead there: it was seen with all that lies below it."""
    if place is None or place.path == path or place.path.startswith(f"{path}/"):
        return False
    return path.split("/") < place.path.split("/")


def _is_directory(entry: Entry) -> bool:
    """False for a link, and for what the operating system says nothing about."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_file(entry: Entry) -> bool:
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def _makes_table(name: LogName | None) -> bool:
    return name is not None and name.kind not in (LogKind.CHECKSUM, LogKind.COMPACTION)


def _is_partition(path: str) -> bool:
    return "=" in path.rpartition("/")[2]


def _file(entry: Entry, sized: bool) -> _File:
    """Its size and time are asked for while its directory is open."""
    status = entry.stat(follow_symlinks=False) if sized else None
    return _File(entry.name) if status is None else _File(entry.name, status.st_size, status.st_mtime)


def _join(path: str, name: str) -> str:
    return f"{path.rstrip('/')}/{name}"
