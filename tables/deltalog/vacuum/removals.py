"""The tombstones of a log: which files left the table, when, and by which commit; as columns, whatever their number.

Reads what a vacuum needs and no more: the tombstones of a checkpoint, then the commits after it, line by line.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tables.deltalog.checkpoints.reading import CheckpointError, CheckpointReader
from tables.deltalog.read.filenames import LOG
from tables.deltalog.read.lines import read_lines
from tables.deltalog.read.problems import Problems
from tables.deltalog.read.readahead import reading_ahead
from tables.deltalog.read.vector_files import vector_file
from tables.deltalog.state.listing import Listing
from tables.deltalog.vacuum.keys import KEY, below, column, key, sizes_of
from tables.storage.store import Chunks, Entry, Storage, StorageError

UNKNOWN = -1
"""The size of a file that the log doesn't tell: Delta's protocol lets a writer leave it out of a tombstone."""
OF_CHECKPOINT = -1
"""The version of a tombstone that is only known from a checkpoint."""

_ADD, _REMOVE, _CDC = b'{"add":', b'{"remove":', b'{"cdc":'
_OTHER = (b'{"commitInfo":', b'{"metaData":', b'{"protocol":', b'{"txn":', b'{"domainMetadata":')


@dataclass(slots=True)
class FileColumns:
    """Files as columns: `keys`, `times` (ms since 1970, 0 where the log has none), `sizes` (bytes, UNKNOWN where it has none), `versions`.

    `folders` are the directories that they lie in, each with the newest of their times.
    """

    keys: array[int] = field(default_factory=lambda: array("Q"))
    times: array[int] = field(default_factory=lambda: array("q"))
    sizes: array[int] = field(default_factory=lambda: array("q"))
    versions: array[int] = field(default_factory=lambda: array("q"))
    folders: dict[str, int] = field(default_factory=dict)

    def add(self, path: str, time: int, size: int, version: int) -> None:
        self.keys.append(key(path))
        self.times.append(time)
        self.sizes.append(size)
        self.versions.append(version)

    def table(self) -> pa.Table:
        """Columns `key`, `time`, `size` (null: unknown), `version`."""
        times, versions = column(self.times, pa.int64()), column(self.versions, pa.int64())
        columns = {"time": times, "size": sizes_of(self.sizes), "version": versions}
        return pa.table({"key": column(self.keys, KEY)} | columns)


@dataclass(slots=True)
class FileChanges:
    """What a log tells about files that came and went.

    `removed` are tombstones, a file's deletion vector as a file of its own; `added` the files that the commits brought which were read
    with their additions, and `feed` their files of the change feed. `base` is the checkpoint's version that was read, -1 for none.
    """

    base: int
    removed: FileColumns = field(default_factory=FileColumns)
    added: FileColumns = field(default_factory=FileColumns)
    feed: FileColumns = field(default_factory=FileColumns)


def read_changes(
    storage: Storage, listing: Listing, root: str, *, until: int, also: Iterable[int] = (), additions_after: int | None
) -> FileChanges:
    """The tombstones from the newest checkpoint at or below `until` on, up to the log's newest version.

    `root` is the table's location. The commits of `also` are read too, though a checkpoint stands for them. Additions are read of
    commits after `additions_after`; None for none. Raises StorageError for what can't be read: a file missing here would seem forgotten.
    """
    problems = Problems()
    changes = _of_checkpoint(storage, listing, root, until, problems)
    head = listing.head or 0
    if gaps := listing.gaps(changes.base + 1, head):
        raise StorageError(f"version {gaps[0].start} is missing")
    wanted = {*range(changes.base + 1, head + 1), *also}
    if additions_after is not None:
        wanted |= set(range(additions_after + 1, head + 1))
    read_commits(storage, {v: e for v, e in listing.commits.items() if v in wanted}, root, changes, additions_after)
    return changes


def read_commits(
    storage: Storage, commits: Mapping[int, Entry], root: str, changes: FileChanges, additions_after: int | None
) -> None:
    """Adds what these commits removed to `changes`, and what they added if they come after `additions_after`. Raises StorageError."""
    problems = Problems()
    with reading_ahead(storage, commits.values()) as fetched:
        for version, entry in commits.items():
            with_additions = additions_after is not None and version > additions_after
            _take_commit(fetched, entry, version, root, changes, with_additions=with_additions, problems=problems)
    for problem in problems.found():
        raise StorageError(f"{problem.file}: {problem.reason}")


def _of_checkpoint(storage: Storage, listing: Listing, root: str, until: int, problems: Problems) -> FileChanges:
    for checkpoint in listing.checkpoints_until(until):
        changes = FileChanges(checkpoint.version)
        reader = CheckpointReader(storage, checkpoint, problems)
        try:
            for _ in reader.small_actions():
                pass  # the reader notes its sidecars
            for value in reader.removed():
                _take(changes.removed, value, OF_CHECKPOINT, root)
        except CheckpointError:
            continue
        return changes
    return FileChanges(-1)


def _take_commit(
    storage: Chunks,
    entry: Entry,
    version: int,
    root: str,
    changes: FileChanges,
    *,
    with_additions: bool,
    problems: Problems,
) -> None:
    lines = (line for _, line in read_lines(storage, f"{LOG}/{entry.name}", entry.size, entry.name, problems))
    for name, value in file_actions(lines, entry.name, with_additions=with_additions):
        if name == "remove":
            _take(changes.removed, value, version, root)
        elif name == "add" and with_additions:
            _take(changes.added, value, version, root)
        elif name == "cdc":
            _take(changes.feed, value, version, root)


def file_actions(lines: Iterable[bytes], file: str, *, with_additions: bool) -> Iterator[tuple[str, Any]]:
    """Name and value of the actions about files. A writer puts one action into a line, its name first."""
    for line in lines:
        if line.startswith(_OTHER) or (not with_additions and line.startswith(_ADD)):
            continue
        try:
            action = json.loads(line)
        except (ValueError, RecursionError):
            raise StorageError(f"{file}: a line is not JSON") from None
        if isinstance(action, dict):
            yield from ((name, value) for name, value in action.items() if isinstance(value, dict))


def _take(files: FileColumns, value: Mapping[str, Any], version: int, root: str) -> None:
    path = value.get("path")
    time = whole(value.get("deletionTimestamp"))
    if isinstance(path, str) and (place := below(path, root)) is not None:
        files.add(place, time, size_of(value.get("size")), version)
        folder = place.rpartition("/")[0]
        files.folders[folder] = max(time, files.folders.get(folder, 0))
    if (vector := value.get("deletionVector")) and (found := vector_of(vector)):
        files.add(found[0], time, found[1], version)


def vector_of(vector: Any) -> tuple[str, int] | None:
    """A deletion vector's own file below the table, and its bytes; None for one that lies in the log or at an absolute path."""
    if not isinstance(vector, Mapping) or vector.get("storageType") != "u":
        return None
    try:
        return vector_file(str(vector.get("pathOrInlineDv"))), size_of(vector.get("sizeInBytes"))
    except ValueError:
        return None


def size_of(value: Any) -> int:
    """A size in bytes as the log has it; UNKNOWN for what is none."""
    is_size = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62
    return value if is_size else UNKNOWN


def whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62 else 0
