"""How much of its source a stream hasn't read, from the source's directory or log and the query's checkpoint. Reads names, runs nothing.

What Spark lists and logs was run on PySpark 4.2.0, what Delta's offsets mean on Delta 4.4.0. Nothing here raises OSError.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from jobs.commands.stream_round.rules import FileSource, is_on
from jobs.targets.name_patterns import is_hidden, matcher
from tables.storage import stores
from tables.storage.folders import FolderEntry

MAX_LOG_FILE = 64 << 20  # bytes; a longer file of a checkpoint is not read
# Spark's `maxFileAge`: a file this much older than the newest one taken is never taken.
_MAX_AGE_MS = 7 * 86_400_000
_GLOB_MARKS = frozenset("{}[]*?\\")


@dataclass(frozen=True, slots=True)
class Waiting:
    """Files that a file source hasn't taken, their bytes, and when the one changed last that has waited longest (UTC).

    `complete` is False if the directory holds more entries than were looked at, or links, which Spark follows and Levee doesn't: the
    numbers are a part. `too_old` files are none of these: Spark never takes them, being a week older than the newest file taken.
    """

    files: int
    oldest: datetime | None
    bytes: int
    complete: bool
    too_old: int = 0


class _Unknown(Exception):
    """It can't be known."""


def waiting_files(source: FileSource, checkpoint: str, most: int = 10_000) -> Waiting | None:
    """What waits below a source's directory; None if it can't be known (unreadable, a layout that Spark refuses).

    `most` is how many entries of directories are looked at. A file counts as taken once the batch that has it has ended: one of a
    batch that failed is taken by the next round again.
    """
    try:
        root, log = _root(source.path), _local(checkpoint)
        taken, unfinished = _taken(log)
        files, complete = _listed(root, source.options, most)
        found = [(path, item) for path, entry in files.items() if path not in taken and (item := _stat(path, entry))]
        oldest_allowed = _oldest_allowed(source.options, [*taken.values(), *unfinished.values()])
        new = [item for path, item in found if path in unfinished or item.milliseconds >= oldest_allowed]
        return Waiting(
            files=len(new),
            oldest=datetime.fromtimestamp(min(item.modified for item in new), UTC) if new else None,
            bytes=sum(item.size for item in new),
            complete=complete,
            too_old=len(found) - len(new),
        )
    except (_Unknown, OSError, ValueError, OverflowError):
        return None


def directory_columns(source: FileSource, most: int = 10_000) -> tuple[str, ...]:
    """Names of the columns that Spark adds to the rows because files lie in directories like `day=1`; none if it can't be known.

    Spark adds them whatever the given schema says [run], at its end unless the schema has them.
    """
    try:
        files, _ = _walked(_root(source.path), most)
        return () if _is_recursive(source.options) else _partitions(_root(source.path), files)
    except (_Unknown, OSError, ValueError):
        return ()


def newest_files(source: FileSource, number: int, most: int = 10_000) -> list[str]:
    """The source's newest files, named from its directory, the newest first. Raises OSError, ValueError where none can be told."""
    try:
        root = _root(source.path)
        files, _ = _listed(root, source.options, most)
    except _Unknown:
        raise ValueError(f"Levee can’t tell which files Spark would read in {source.path}") from None
    dated = [(item.modified, path) for path, entry in files.items() if (item := _stat(path, entry)) and item.size]
    return [path.removeprefix(root).lstrip("/") for _, path in sorted(dated, reverse=True)[:number]]


def next_version(checkpoint: str) -> int | None:
    """The version of a Delta source that the query reads next; None before its first batch has ended, or if unknown.

    The offset of the newest finished batch says which: Delta's DeltaSourceOffset has `reservoirVersion` R and `index`, -1 (BASE_INDEX)
    before all changes of R. A batch that reads a version to its end ends at (R+1, -1), also over versions without data (properties,
    OPTIMIZE) [run]. So versions below R are read, whatever the index: R itself is in work or new. While `isStartingVersion` is true the
    snapshot of R is being read.
    """
    try:
        offset = _source_offset(_local(checkpoint))
    except (_Unknown, OSError, ValueError):
        return None
    version = offset.get("reservoirVersion") if offset else None
    return version if type(version) is int else None


def waiting_versions(checkpoint: str, head_version: int) -> int | None:
    """How many versions of a Delta source the query hasn't read to their end; None as `next_version`."""
    version = next_version(checkpoint)
    return None if version is None else max(0, head_version - version + 1)


def query_id(checkpoint: str) -> str | None:
    """The id of the query that a checkpoint belongs to; None without one."""
    try:
        value = json.loads(_read(f"{_local(checkpoint)}/metadata"))
    except (_Unknown, OSError, ValueError, RecursionError):
        return None
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def _root(path: str) -> str:
    """The source's directory: a canonical URI of a store, or a local path. Raises _Unknown for any other place."""
    return path if stores.is_remote(path) else _local(path)


def _local(path: str) -> str:
    """A path or `file:` URI as the file system has it, as Hadoop reads it: escapes stay. Raises _Unknown for any other place."""
    match = re.fullmatch(r"file:(?://)?(/.*)", path, re.DOTALL)
    plain = match[1] if match else path
    if not plain.startswith("/") or "\x00" in plain:
        raise _Unknown
    return os.path.normpath("/" + plain.lstrip("/"))


# What Spark's file source lists


def _listed(root: str, options: Mapping[str, str], most: int) -> tuple[dict[str, FolderEntry], bool]:
    """The files that Spark would list, and whether these are all (InMemoryFileIndex.allFiles).

    With recursiveFileLookup all below the directory; else all if some lie in directories like `x=1`, and its own files if none does.
    """
    if _GLOB_MARKS.intersection(root) or _is_there(f"{root}/_spark_metadata"):
        raise _Unknown  # a pattern of directories; the output of another stream, which Spark lists by its log
    files, complete = _walked(root, most)
    if not _is_recursive(options) and not _partitions(root, files):
        files = {path: entry for path, entry in files.items() if _above(path) == root}
    matches = matcher(options.get("pathGlobFilter"))
    return {path: entry for path, entry in files.items() if matches(_name(path))}, complete


def _is_there(path: str) -> bool:
    if stores.is_remote(path):
        return stores.folders_at(path).is_directory(path)
    return os.path.lexists(path)


def _is_recursive(options: Mapping[str, str]) -> bool:
    return is_on(options.get("recursiveFileLookup"))


def _walked(root: str, most: int) -> tuple[dict[str, FolderEntry], bool]:
    """All plain files below a directory that Spark doesn't hide. A directory that goes meanwhile is empty."""
    files: dict[str, FolderEntry] = {}
    waiting, seen, complete = [root], 0, True
    while waiting:
        directory = waiting.pop()
        for entry in _entries(directory, required=directory == root):
            seen += 1
            if seen > most:
                return files, False
            if is_hidden(entry.name):
                continue
            path = f"{directory.rstrip('/')}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            elif entry.is_file(follow_symlinks=False):
                files[path] = entry
            elif isinstance(entry, os.DirEntry) and entry.is_symlink():
                complete = False
    return files, complete


def _entries(directory: str, *, required: bool) -> Iterator[FolderEntry]:
    try:
        if stores.is_remote(directory):
            yield from stores.folders_at(directory).entries(directory)
        else:
            with os.scandir(directory) as entries:
                yield from entries
    except FileNotFoundError:
        if required:
            raise


def _partitions(root: str, files: Iterable[str]) -> tuple[str, ...]:
    """The columns that the directories of files name; raises _Unknown for what Spark refuses (PartitioningUtils.parsePartitions).

    From a file's directory up, the first directories named `column=value` without a gap are its columns, and the one above them their
    base. Bases must be one for all files, and so must the columns.
    """
    directories = {_above(path) for path in files if _is_data(_name(path))}
    parsed = {_partition(directory, root) for directory in directories}
    columns = {columns for columns, _ in parsed if columns}
    if not columns:
        return ()
    if len({base for _, base in parsed}) > 1 or len({tuple(name.lower() for name in names) for names in columns}) > 1:
        raise _Unknown
    return min(columns)


def _is_data(name: str) -> bool:
    return not (name.startswith("_") and "=" not in name) and not name.startswith(".")


def _partition(directory: str, root: str) -> tuple[tuple[str, ...], str]:
    """The columns that a directory's name and those above it give, from the top, and their base."""
    columns: list[str] = []
    current = directory
    while current != root:
        column, equals, value = _name(current).partition("=")
        if equals and not (column and value):
            raise _Unknown
        if not equals and columns:
            break
        columns += [unquote(column)] if equals else []
        current = _above(current)
    return tuple(reversed(columns)), current if columns else directory


def _oldest_allowed(options: Mapping[str, str], timestamps: Iterable[int]) -> float:
    """The time in milliseconds before which Spark takes no file (FileStreamSource.SeenFilesMap), from those it has taken."""
    rated = "maxFilesPerTrigger" in options or "maxBytesPerTrigger" in options
    newest = max(timestamps, default=None)
    if newest is None or (is_on(options.get("latestFirst")) and rated):
        return float("-inf")
    return newest - _MAX_AGE_MS


@dataclass(frozen=True, slots=True)
class _ListedFile:
    """Bytes, and when it was changed last, in seconds since 1970 and in whole milliseconds as Spark has it."""

    size: int
    modified: float
    milliseconds: int


def _stat(path: str, entry: FolderEntry) -> _ListedFile | None:
    """None for a file that has gone meanwhile. Of an object, its listing has told all."""
    if stores.is_remote(path):
        told = entry.stat()
        return _ListedFile(told.st_size, told.st_mtime, round(told.st_mtime * 1000))
    try:
        status = Path(path).lstat()
    except FileNotFoundError:
        return None
    return _ListedFile(status.st_size, status.st_mtime, status.st_mtime_ns // 1_000_000)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _above(path: str) -> str:
    return path.rpartition("/")[0] or "/"


# What a checkpoint tells


def _taken(checkpoint: str) -> tuple[dict[str, int], dict[str, int]]:
    """Files that finished batches took, and those that a batch was given which hasn't ended: each path with its time in milliseconds."""
    taken: dict[str, int] = {}
    unfinished: dict[str, int] = {}
    names = _log_names(f"{checkpoint}/sources/0")
    if not names:
        return taken, unfinished
    offset = _source_offset(checkpoint) or {"logOffset": -1}
    last = offset.get("logOffset")
    if type(last) is not int:
        raise _Unknown
    for name in names:
        for entry in _entries_of(f"{checkpoint}/sources/0/{name}"):
            path, time, batch = entry.get("path"), entry.get("timestamp"), entry.get("batchId")
            if not isinstance(path, str) or type(time) is not int or type(batch) is not int:
                raise _Unknown
            (taken if batch <= last else unfinished)[_path_of(path)] = time
    return taken, unfinished


def _path_of(uri: str) -> str:
    """The path that an entry of the log names: a URI with its escapes."""
    if stores.is_remote(uri):
        return unquote(uri)
    match = re.fullmatch(r"file:(?://)?(/.*)", uri, re.DOTALL)
    return unquote(match[1]) if match else uri


def _log_names(directory: str) -> list[str]:
    """The files that hold the whole log: the newest compact one and those after it."""
    numbers: dict[int, str] = {}
    compact = -1
    for name in _names(directory):
        if match := re.fullmatch(r"([0-9]{1,18})(\.compact)?", name):
            number = int(match[1])
            numbers[number] = name
            compact = max(compact, number) if match[2] else compact
    return [name for number, name in sorted(numbers.items()) if number >= compact]


def _entries_of(path: str) -> Iterator[Mapping[str, Any]]:
    head, *lines = _read(path).split("\n")
    if head.strip() != "v1":
        raise _Unknown
    for line in lines:
        if line.strip():
            yield _object(line)


def _source_offset(checkpoint: str) -> Mapping[str, Any] | None:
    """Where the newest batch that has ended read its only source to; None if none has. Line 3, behind version and the batch's metadata."""
    ended = [int(name) for name in _names(f"{checkpoint}/commits") if re.fullmatch(r"[0-9]{1,18}", name)]
    if not ended:
        return None
    lines = _read(f"{checkpoint}/offsets/{max(ended)}").split("\n")
    if len(lines) < 3 or lines[0].strip() != "v1":
        raise _Unknown
    return _object(lines[2])


def _object(line: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except RecursionError:
        raise _Unknown from None
    if not isinstance(value, dict):
        raise _Unknown
    return value


def _names(directory: str) -> list[str]:
    """A directory's names; none if it isn't there."""
    try:
        return [path.name for path in Path(directory).iterdir()]
    except FileNotFoundError:
        return []


def _read(path: str) -> str:
    with open(path, "rb") as file:
        data = file.read(MAX_LOG_FILE + 1)
    if len(data) > MAX_LOG_FILE:
        raise _Unknown
    return data.decode("utf-8")
