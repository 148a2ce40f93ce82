"""One walk through directories: what each one is by the names in it, and by the first bytes of a few files whose names don't say it.

Follows no link, and ends by its limits. What is asked of it is in `tables.rules.discovery`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tables.deltalog.read.filenames import LOG, LogName, parse
from tables.deltalog.read.filenames import LogFileKind as LogKind
from tables.rules.parquet_names import MAGIC, MOST_OPENED, has_no_extension, is_parquet
from tables.rules.table_formats import HUDI_DIRECTORY, MARKED, TableFormat, format_of_file, marked_format, may_mark
from tables.storage.folders import FolderEntry, StoreRefused
from tables.storage.local import directories as places
from tables.storage.place import NOT_IN_PATHS
from tables.storage.stores import folders_at

MAX_ENTRIES = 1_000_000
MAX_IN_DIRECTORY = 200_000
MAX_SECONDS = 20.0
TURN_SECONDS = 10.0
MAX_DEPTH = 32


class DirectoryKind(StrEnum):
    """What a directory is."""

    DELTA = "delta"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class FoundDirectory:
    """One directory that is a table or could become one; `path` is canonical."""

    path: str
    kind: DirectoryKind


@dataclass(frozen=True, slots=True)
class OtherTable:
    """A directory that is a table in another format: its files are no parquet table, and nothing is looked for in it."""

    path: str
    format: TableFormat


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where a scan that ended early goes on: at the directory `path`, or `beyond` it and all that lies below it.

    `parquet` says of each directory on the way there, from the start on, whether it is one of parquet files; `told` is the last table in
    another format that was told by what lies below it.
    """

    path: str
    beyond: bool
    parquet: tuple[bool, ...]
    told: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one scan: entries listed, those of one directory among them, seconds, levels below its start."""

    entries: int = MAX_ENTRIES
    directory: int = MAX_IN_DIRECTORY
    seconds: float = MAX_SECONDS
    depth: int = MAX_DEPTH


WHOLE, TURN = Limits(), Limits(seconds=TURN_SECONDS)


class Unclear(Exception):
    """What a directory is can't be told. The message says why."""


class OtherFormat(Unclear):
    """A directory is a table in another format, which Levee doesn't read."""

    def __init__(self, table_format: TableFormat) -> None:
        super().__init__(f"it’s a table of {table_format.label}")
        self.format = table_format


class Stop(Exception):
    """A bound was reached."""


class _WalkedFile(NamedTuple):
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
    format: TableFormat | None = None  # the other format that a file tells by its name


class DirectoryWalk:
    """One walk and what it has used of its limits."""

    def __init__(self, start: str, limits: Limits, clock: Callable[[], float]) -> None:
        self.folders = folders_at(start)
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
        self.told_below = ""  # the last of them that is told by the names of its files, or by its partitions
        self.at = ""  # the directory that is looked at
        self.parquet: list[bool] = []  # of the directories on the way there
        self.visited = 0
        self.entries_before = 0  # this directory
        self.patient = False  # while it finds its way back to a place: that is no progress, and must come to its end

    def tables(self, start: str, skip: frozenset[str], place: ResumePoint | None = None) -> Iterator[FoundDirectory]:
        waiting = [(start, 0)]
        self.told_below = place.told if place else ""
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
                    yield FoundDirectory(path, kind)
                if seen is None:
                    continue
                listing, is_parquet = seen, kind is DirectoryKind.PARQUET
            self.parquet.append(is_parquet)
            names = listing.directories if is_parquet else sorted((*listing.directories, *listing.partitions))
            below = [child for name in names if (child := join(path, name)) not in skip]
            if below and depth == self.limits.depth:
                self.cut = f"directories more than {depth} levels deep were left out"
                continue
            waiting.extend((child, depth + 1) for child in reversed(below) if not _is_before(child, place))

    def _visit(self, path: str) -> tuple[DirectoryKind | None, _Listing | None]:
        """What a directory is, and the names in it where more is looked for below it."""
        self.entries_before = self.entries
        if self.holds_log(path):
            return DirectoryKind.DELTA, None
        if path in self.unreadable:
            return None, None
        listing = self._listing(path)
        if (other := self._format_by(path, listing.marked)) is not None:
            if other is not TableFormat.HIVE_ACID or not self._is_of_the_last(path):
                self.others.append(OtherTable(path, other))
            return None, None
        try:
            if listing.format is not None:
                raise OtherFormat(listing.format)
            is_parquet = listing.parquet or self._partitions_hold_parquet(listing)
        except (
            OtherFormat
        ) as found:  # told by files alone, or by partitions: it marks no border, and tables may lie below
            if not self._is_of_the_last(path):
                self.others.append(OtherTable(path, found.format))
                self.told_below = path
            return None, listing
        return (DirectoryKind.PARQUET if is_parquet else None), listing

    def _is_of_the_last(self, path: str) -> bool:
        """Whether a directory is a partition of the last table that was told by what lies below it."""
        return bool(self.told_below) and _is_partition(path) and path.startswith(f"{self.told_below}/")

    def where(self) -> ResumePoint:
        """Where to go on after a stop: at the directory that was looked at, or beyond it where nothing else was done."""
        if not self.visited:
            self.crowded.append(self.at)
        else:
            self.entries = self.entries_before  # it is read again
        return ResumePoint(self.at, not self.visited, tuple(self.parquet), self.told_below)

    def kind(self, path: str) -> DirectoryKind | None:
        """What one directory is. Beyond its log, it is looked through until the first parquet file."""
        if self.holds_log(path):
            return DirectoryKind.DELTA
        if path in self.unreadable:
            return None
        if (other := self.other_format(path)) is not None:
            raise OtherFormat(other)
        if any(True for _ in self.parquet_files(path)):
            return DirectoryKind.PARQUET
        if (other := self._format_by(path, self._listing(path).marked)) is not None:
            raise OtherFormat(other)
        return None

    def parquet_files(self, start: str, most: int | None = None, *, sized: bool = False) -> Iterator[_WalkedFile]:
        """Each parquet file in a directory and in the partition directories below it; `most` entries of each one.

        A partition directory with a Delta log is a table of its own, and its files are that one's. Without sizes, that goes for
        tables in other formats too. Raises OtherFormat where a file's own name, or a partition, says that it belongs to one.
        """
        waiting = deque([start])
        while waiting:
            path = waiting.pop()
            if not (_is_partition(path) and self.holds_log(path)):
                waiting.extend((yield from self._files_in(path, most, sized)))

    def _files_in(self, path: str, most: int | None, sized: bool) -> Generator[_WalkedFile, None, list[str]]:
        """Yields the parquet files of one directory; returns its partition directories, none of a table in another format."""
        partitions, marked, unnamed = [], [], []
        asks, named = _is_partition(path) and not sized, False
        for entry in self._entries(path, most):
            if _is_directory(entry):
                partitions += [join(path, entry.name)] if "=" in entry.name else []
                marked += [entry.name] if _is_partition(path) and may_mark(entry.name) else []
            elif not _is_file(entry):
                continue
            elif is_parquet(entry.name):
                if (other := format_of_file(entry.name)) is not None:
                    raise OtherFormat(other)
                if asks and not named and self.other_format(path) is not None:
                    return []
                named = True
                yield _file(entry, sized)
            elif has_no_extension(entry.name):
                unnamed.append(_file(entry, sized))
        if (found := self._format_by(path, marked)) is not None:
            if found is TableFormat.HIVE_ACID:  # a partition of one, whose own directory has no mark
                raise OtherFormat(found)
            return []
        if not named:
            yield from self._by_first_bytes(path, unnamed, sized)
        return partitions

    def _by_first_bytes(self, path: str, files: list[_WalkedFile], sized: bool) -> list[_WalkedFile]:
        """Which files without an extension are parquet: all or none, judged by the first few. Raises Stop where those differ."""
        opened = sorted(files)[:MOST_OPENED]
        parquet = [file for file in opened if self._begins_as_parquet(path, file.name)]
        if sized and 0 < len(parquet) < len(opened):
            raise Stop(f"files without an extension in {path}, some of them parquet and some not")
        return files if parquet else []

    def _begins_as_parquet(self, path: str, name: str) -> bool:
        self._step()
        try:
            return self.folders.head(join(path, name), len(MAGIC)) == MAGIC
        except (FileNotFoundError, places.PlaceError):  # gone, or no regular file any more
            return False
        except OSError as error:
            if isinstance(error, StoreRefused) and error.everywhere:
                raise
            self.unopened[path] = str(error) if isinstance(error, StoreRefused) else "its files can’t be opened"
            return False

    def holds_log(self, path: str) -> bool:
        """Whether the directory has a Delta log with a commit or a checkpoint. One that can't be listed to its end is taken for such."""
        log = join(path, LOG)
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
        """The other format that a directory is a table in, by directories of fixed names, or that it is a part of by its own name."""
        own = path.rpartition("/")[2]
        if may_mark(own) and own not in MARKED and (found := self._marked_by(path, own)) is not None:
            return found
        return self._format_by(path, [name for name in MARKED if self._holds_directory(path, name)])

    def _holds_directory(self, path: str, name: str) -> bool:
        self._step()
        try:
            return self.folders.is_directory(join(path, name))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            self._refused(path, error)
            return False

    def _format_by(self, path: str, marked: Iterable[str]) -> TableFormat | None:
        """The format by what marked directories hold. Hudi's own directory is taken for such where it can't be read."""
        for name in sorted(marked):
            directory = join(path, name)
            found = self._marked_by(directory, name)
            if found is None and name == HUDI_DIRECTORY and directory in self.unreadable:
                found = TableFormat.HUDI
            if found is not None:
                return found
        return None

    def _marked_by(self, directory: str, name: str) -> TableFormat | None:
        entries = self._entries(directory, self.limits.directory)
        return next((known for entry in entries if (known := marked_format(name, entry.name))), None)

    def _listing(self, path: str) -> _Listing:
        """The names in one directory, links left out, in order; the first ones of a directory that holds too many."""
        directories, partitions, marked, unnamed, named, other = [], [], [], [], False, None
        for entry in self._entries(path, self.limits.directory):
            name = entry.name
            if _is_directory(entry):
                if may_mark(name):
                    marked.append(name)
                if "=" in name:
                    partitions.append(name)
                elif not name.startswith(("_", ".")):
                    directories.append(name)
            elif _is_file(entry):
                named, other = named or is_parquet(name), other or format_of_file(name)
                unnamed += [_file(entry, False)] if not named and has_no_extension(name) else []
        parquet = named or bool(not self.patient and self._by_first_bytes(path, unnamed, False))
        return _Listing(path, tuple(sorted(directories)), tuple(sorted(partitions)), parquet, tuple(marked), other)

    def _entries(self, path: str, most: int | None = None) -> Iterator[FolderEntry]:
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
            raise Stop(f"more than {self.limits.entries:,} files and directories")
        self._step()

    def _step(self) -> None:
        """Looks at the clock now and then."""
        self.steps += 1
        if self.steps % self.folders.steps == 0 and self.clock() > self.deadline:
            raise Stop(f"more than {self.limits.seconds:g} seconds")

    def _partitions_hold_parquet(self, listing: _Listing) -> bool:
        """Looks down the partition directories until a parquet file shows up, once for each of them."""
        if listing.path in self.bare:
            self.bare.update(join(listing.path, name) for name in listing.partitions)
            return False
        paths = [join(listing.path, name) for name in listing.partitions]
        found = any(True for path in paths for _ in self.parquet_files(path, self.limits.directory))
        if not found:
            self.bare.update(paths)
        return found


def _is_before(path: str, place: ResumePoint | None) -> bool:
    """Whether a directory comes before a place, and doesn't lead there: it was seen with all that lies below it."""
    if place is None or place.path == path or place.path.startswith(f"{path}/"):
        return False
    return path.split("/") < place.path.split("/")


def _is_directory(entry: FolderEntry) -> bool:
    """False for a link, and for what the operating system says nothing about."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_file(entry: FolderEntry) -> bool:
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def _makes_table(name: LogName | None) -> bool:
    return name is not None and name.kind not in (LogKind.CHECKSUM, LogKind.COMPACTION)


def _is_partition(path: str) -> bool:
    return "=" in path.rpartition("/")[2]


def _file(entry: FolderEntry, sized: bool) -> _WalkedFile:
    """Its size and time are asked for while its directory is open."""
    status = entry.stat(follow_symlinks=False) if sized else None
    return _WalkedFile(entry.name) if status is None else _WalkedFile(entry.name, status.st_size, status.st_mtime)


def join(path: str, name: str) -> str:
    return f"{path.rstrip('/')}/{name}"
