"""A table at one version, and the file that keeps it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from tables.deltalog.read.actions import DomainMetadata, Metadata, Protocol, SetTransaction
from tables.deltalog.read.problems import LogProblem, ProblemCode
from tables.deltalog.read.times import InCommitTimestamps, in_commit_timestamps
from tables.deltalog.rules import clustering
from tables.deltalog.rules.features import Understanding, features_of, understand
from tables.deltalog.state.livefiles import FileCounts, live_schema
from tables.deltalog.state.mending import Broken
from tables.deltalog.state.state import TableState
from tables.storage.store import Entry

_KEY = b"levee.snapshot"
_FORMAT = 6
_ROWS = 4096
_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A table at one version.

    `committed_at` is the version's time as Delta reports it while the version is the newest. `files_path` is the Arrow file of the
    live files (livefiles.py), None when only the small state was asked for; then the counts are None too. `num_records` counts the
    rows that a reader sees, None when a file's statistics don't say. `complete` is False when a part of the log is missing or
    corrupt, so that the state may be wrong; `problems` says where, the newest first. `clock_ms`, `head_file` and `broken` let the
    next sync go on from here.
    """

    version: int
    committed_at: datetime | None
    state: TableState
    num_files: int | None
    size_bytes: int | None
    num_records: int | None
    files_path: Path | None
    complete: bool
    problems: tuple[LogProblem, ...]
    clock_ms: int | None = None
    head_file: Entry | None = None
    broken: Broken = field(default_factory=dict)

    @property
    def protocol(self) -> Protocol | None:
        return self.state.protocol

    @property
    def metadata(self) -> Metadata | None:
        return self.state.metadata

    @property
    def set_transactions(self) -> dict[str, SetTransaction]:
        return self.state.transactions

    @property
    def domain_metadata(self) -> dict[str, DomainMetadata]:
        return self.state.domains

    @property
    def clustering_paths(self) -> tuple[tuple[str, ...], ...]:
        """The physical paths of the columns that the table is clustered by, empty when it is not clustered."""
        domain = self.state.domains.get(clustering.DOMAIN)
        return () if domain is None else clustering.physical_paths(domain.configuration)

    @property
    def clustering_columns(self) -> tuple[str, ...]:
        """The same columns by their names in the schema (`clustering.column_names`)."""
        return clustering.column_names(self.clustering_paths, self.metadata.schema_json if self.metadata else "")

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that the protocol lists or implies, sorted."""
        return features_of(self.protocol) if self.protocol else ()

    @property
    def understanding(self) -> Understanding:
        """What of this table Levee's reader can't interpret."""
        return understand(self.protocol)

    @property
    def in_commit_timestamps(self) -> InCommitTimestamps:
        return in_commit_timestamps(self.metadata)

    @property
    def physical_partition_columns(self) -> tuple[str, ...]:
        """The partition columns' names in `partitionValues` (column mapping renames columns, not files)."""
        return physical_partition_columns(self.metadata)

    def files(self) -> pa.Table:
        """The live files, memory-mapped: columns are read from disk when touched. Raises ValueError without `files_path`."""
        if self.files_path is None:
            raise ValueError("this snapshot was read without its files")
        return _map(self.files_path)


def physical_partition_columns(metadata: Metadata | None) -> tuple[str, ...]:
    """Partition columns by the name that files carry, without repetitions."""
    if metadata is None:
        return ()
    names = physical_names(metadata) if metadata.configuration.get("delta.columnMapping.mode", "none") != "none" else {}
    return tuple(dict.fromkeys(names.get(name, name) for name in metadata.partition_columns))


def physical_names(metadata: Metadata) -> dict[str, str]:
    """Top-level column name → physical name, empty when the schema can't be read."""
    try:
        fields = json.loads(metadata.schema_json)["fields"]
        pairs = [(f["name"], f["metadata"].get("delta.columnMapping.physicalName", f["name"])) for f in fields]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return {str(name): str(physical) for name, physical in pairs}


def save(
    batches: Iterable[pa.RecordBatch],
    columns: Sequence[str],
    target: Path,
    finished: Callable[[int, int | None, int | None], Snapshot],
) -> Snapshot:
    """Writes the live files, then the small state, at once or not at all, and counts them.

    `columns` are the physical partition columns. `finished` is asked last, with the number of files, of bytes and of rows, since
    reading the files may find problems.
    """
    schema = live_schema(columns)
    temporary = target.with_name(f"{target.name}.{os.getpid()}.new")
    counts = FileCounts()
    try:
        with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for batch in _regrouped(batches):
                writer.write_batch(batch)
                counts.add(batch)
            snapshot = finished(*counts.known())
            writer.write_batch(_nothing(schema), custom_metadata={_KEY: json.dumps(_dump(snapshot)).encode()})
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return snapshot


def load(path: Path) -> Snapshot:
    """The snapshot that `save` wrote. Raises ValueError (or OSError) when the file is not one of this format."""
    try:
        with pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source)
            last = reader.get_batch_with_custom_metadata(reader.num_record_batches - 1)
            value = json.loads(last.custom_metadata[_KEY])
            if value["format"] != _FORMAT:
                raise ValueError("written by another version of this reader")
        return _loaded(value, path)
    except (pa.ArrowException, ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path.name} is not a saved snapshot: {error}") from error


def _nothing(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def _map(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def _regrouped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Joins small batches, since every sync adds one."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= _ROWS or sum(part.nbytes for part in waiting) >= _BYTES:
            yield from _joined(waiting)
            waiting = []
    yield from _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    if len(batches) < 2:
        return batches
    joined: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined


def _dump(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "version": snapshot.version,
        "committed_at": snapshot.committed_at.isoformat() if snapshot.committed_at else None,
        "state": snapshot.state.dump(),
        "complete": snapshot.complete,
        "problems": [[p.file, p.reason, p.code.value, p.unlisted] for p in snapshot.problems],
        "clock_ms": snapshot.clock_ms,
        "head_file": _dump_entry(snapshot.head_file),
        "broken": {name: _dump_entry(entry) for name, entry in snapshot.broken.items()},
        "counts": [snapshot.num_files, snapshot.size_bytes, snapshot.num_records],
    }


def _dump_entry(entry: Entry | None) -> list[Any] | None:
    return [entry.name, entry.size, entry.modified_ms] if entry else None


def _entry(value: list[Any] | None) -> Entry | None:
    return Entry(*value) if value else None


def _loaded(value: dict[str, Any], path: Path) -> Snapshot:
    committed = value["committed_at"]
    num_files, size_bytes, num_records = value["counts"]
    return Snapshot(
        version=value["version"],
        committed_at=datetime.fromisoformat(committed) if committed else None,
        state=TableState.load(value["state"]),
        num_files=num_files,
        size_bytes=size_bytes,
        num_records=num_records,
        files_path=path,
        complete=value["complete"],
        problems=tuple(
            LogProblem(file, reason, ProblemCode(code), more) for file, reason, code, more in value["problems"]
        ),
        clock_ms=value["clock_ms"],
        head_file=_entry(value["head_file"]),
        broken={name: _entry(entry) for name, entry in value["broken"].items()},
    )
