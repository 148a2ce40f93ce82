"""What a vacuum has deleted and left, when its own run didn't live to say so: its table's log and directories, read again.

The plan that was approved can't be made once more, since only its tombstones tell of files that are gone. So the files that are still
there are counted by the plan's rules (`spark.plan`), and what is missing of the preview's count is gone.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from console.base.logs import log
from jobs.commands.base import stored
from jobs.commands.vacuum.rules import HOUR_MS, Vacuum, is_odd
from jobs.models import Job
from tables.deltalog.read.actions import Metadata
from tables.deltalog.replay.log import NoTable, open_log
from tables.deltalog.state.listing import Listing
from tables.deltalog.state.snapshot import Snapshot
from tables.deltalog.vacuum.hidden import has_iceberg, is_hidden
from tables.deltalog.vacuum.keys import KEY, column, key
from tables.deltalog.vacuum.removals import FileChanges, read_changes
from tables.deltalog.vacuum.state import live_files, newest_tombstones
from tables.deltalog.vacuum.versions import Span, dying, within
from tables.storage.folders import FolderEntry, Folders
from tables.storage.store import StorageError
from tables.storage.stores import folders_at, kind_of

# More isn't read at a job's end: the dispatcher has other jobs to end.
MOST_FILES = 200_000
MOST_BYTES = 64 << 20  # of the log


@dataclass(frozen=True, slots=True)
class Remains:
    """`files` and `bytes` are gone, None where only the log was to tell which go; `remaining` are left of those that were to go.
    `lost` are the versions that could be read before and now lack a file."""

    files: int | None
    bytes: int | None
    remaining: int
    lost: tuple[Span, ...]

    def as_details(self) -> dict[str, Any]:
        """As the run itself says it in its result."""
        return {
            "files": self.files,
            "bytes": self.bytes,
            "remaining": self.remaining,
            "proven": self.remaining == 0,
            "versions_lost": [list(span) for span in self.lost],
        }


class _TooMany(Exception):
    """The table is too large to be read at a job's end."""


@dataclass(frozen=True, slots=True)
class _Order:
    """What the job was to delete: files older than the cut, and none that the version `since` needed. `named` are the versions that
    its preview said would be lost."""

    path: str
    lite: bool
    cut_ms: int
    oldest_ms: int
    since: int
    named: list[Span]

    @property
    def first(self) -> int | None:
        return self.named[0][0] if self.named else None


def remains_of(job: Job) -> Remains | None:
    """What is left of the files that the job was to delete; None where it can't be read now, or is too much to be."""
    try:
        with tempfile.TemporaryDirectory(prefix="levee-vacuum-") as scratch:
            return _remains(_order(job), job.preview or {}, Path(scratch))
    except _TooMany:
        return None
    except (StorageError, NoTable, OSError, ValueError) as error:
        log.warning("vacuum_not_reread", job=str(job.pk), error=str(error))
        return None


def _order(job: Job) -> _Order:
    command, preview = stored(Vacuum, job), job.preview or {}
    now_ms, own_ms = int(preview["planned_at_ms"]), int(preview["own_retention_ms"])
    kept_ms = own_ms if command.retention_hours is None else command.retention_hours * HOUR_MS
    named = [(first, last) for first, last in preview["dying_versions"]]
    since = int(preview["measured_at_version"])
    return _Order(job.location, command.lite, now_ms - kept_ms, now_ms - own_ms, since, named)


def _remains(order: _Order, preview: Mapping[str, Any], scratch: Path) -> Remains:
    delta_log = open_log(order.path)
    listing = delta_log.listing()
    _require_small(listing, order.first)
    snapshot = delta_log.snapshot(None, scratch / "live.arrow")
    if not snapshot.complete or snapshot.metadata is None:
        raise StorageError("a part of the log is missing or corrupt")
    changes = read_changes(delta_log.storage, listing, order.path, until=order.since, additions_after=order.first)
    there = files_below(order.path, snapshot.metadata)
    stays, doomed = _judged(order, snapshot, changes)
    left = there.filter(pc.and_(pc.less(there["time"], order.cut_ms), _not_in(there["key"], stays)))
    lost = _lost(order, changes, doomed.filter(_not_in(doomed, there["key"].combine_chunks())), snapshot.version)
    if order.lite:
        return Remains(None, None, left.filter(pc.is_in(left["key"], value_set=doomed)).num_rows, lost)
    files, size = int(preview["files"]) - left.num_rows, int(preview["bytes"]) - int(pc.sum(left["size"]).as_py() or 0)
    return Remains(max(0, files), max(0, size), left.num_rows, lost)


def _require_small(listing: Listing, first: int | None) -> None:
    """Raises _TooMany for a log that takes long to be read."""
    checkpoint = next(iter(listing.checkpoints_until(listing.head or 0)), None)
    start = min(checkpoint.version if checkpoint else -1, listing.head or 0 if first is None else first)
    size = sum(entry.size for version, entry in listing.commits.items() if version > start)
    if size + (checkpoint.size_bytes if checkpoint else 0) > MOST_BYTES:
        raise _TooMany


def _judged(order: _Order, snapshot: Snapshot, changes: FileChanges) -> tuple[pa.Array, pa.Array]:
    """The keys of the files that no run of the job deletes, and of those that the log names and it does."""
    live, _ = live_files(snapshot, order.path)
    tombstones = newest_tombstones(changes, order.oldest_ms).combine_chunks()
    young = pc.greater_equal(tombstones["time"], order.cut_ms)
    kept = tombstones.filter(pc.or_(young, pc.greater(tombstones["version"], order.since)))
    stays = pa.concat_arrays([live, kept["key"].combine_chunks()])
    named = tombstones["key"].combine_chunks()
    return stays, named.filter(_not_in(named, stays))


def _not_in(keys: pa.Array | pa.ChunkedArray, others: pa.Array) -> pa.Array | pa.ChunkedArray:
    return pc.invert(pc.is_in(keys, value_set=others))


def _lost(order: _Order, changes: FileChanges, gone: pa.Array, head: int) -> tuple[Span, ...]:
    """Those of the named versions that need a file which is gone."""
    return () if order.first is None else tuple(within(dying(changes, gone, order.first, head), order.named))


# The files that storage has now


@dataclass(slots=True)
class _Found:
    keys: array[int] = field(default_factory=lambda: array("Q"))
    sizes: array[int] = field(default_factory=lambda: array("q"))
    times: array[int] = field(default_factory=lambda: array("q"))

    def add(self, path: str, size: int, time: int) -> None:
        """Raises _TooMany."""
        if len(self.keys) >= MOST_FILES:
            raise _TooMany
        self.keys.append(key(path))
        self.sizes.append(size)
        self.times.append(time)


def files_below(root: str, metadata: Metadata) -> pa.Table:
    """Columns `key`, `size`, `time` of the files that a vacuum looks at. Raises OSError, _TooMany."""
    columns, iceberg = metadata.partition_columns, has_iceberg(metadata.configuration)
    found, lister, pending = _Found(), folders_at(root), [""]
    knows_keys_alone = not kind_of(root).has_directories
    while pending:
        folder, empty, directories = pending.pop(), dict[str, int](), set[str]()
        for name, entry in _entries(lister, root, folder):
            if is_hidden(name, columns, iceberg=iceberg) or is_odd(name, top=not folder):
                continue
            path = f"{folder}/{name}" if folder else name
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
                directories.add(path)
            elif entry.is_file(follow_symlinks=False) or knows_keys_alone:  # an empty key is one as well
                with suppress(FileNotFoundError):
                    info = entry.stat(follow_symlinks=False)
                    time = round(info.st_mtime * 1_000_000) // 1_000
                    if info.st_size:
                        found.add(path, info.st_size, time)
                    else:
                        empty[path] = time
        for path, time in empty.items():
            if path not in directories:  # else the mark of one, a key that ends in /
                found.add(path, 0, time)
    sizes, times = column(found.sizes, pa.int64()), column(found.times, pa.int64())
    return pa.table({"key": column(found.keys, KEY), "size": sizes, "time": times})


def _entries(lister: Folders, root: str, folder: str) -> Iterator[tuple[str, FolderEntry]]:
    """What lies in a directory; nothing if it is gone since its parent was listed, as all of the table's own can't be."""
    try:
        with closing(lister.entries(f"{root}/{folder}" if folder else root)) as entries:
            yield from ((entry.name, entry) for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        if not folder:
            raise
