"""What a replay starts from: nothing, a checkpoint, or a saved snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from tables.deltalog.checkpoints.newest import LACKS
from tables.deltalog.checkpoints.reading import CheckpointError, CheckpointReader
from tables.deltalog.read.problems import ProblemCode, Problems
from tables.deltalog.state.listing import Checkpoint, Listing
from tables.deltalog.state.livefiles import live_schema, shape
from tables.deltalog.state.snapshot import Snapshot
from tables.deltalog.state.state import TableState
from tables.storage.store import Storage


class Base(Protocol):
    """An older state. `version` is -1 for the empty one; `complete` is False when something was wrong with it already."""

    version: int
    complete: bool

    def state(self) -> TableState: ...

    def files(self, partition_columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The live files as `live_schema` batches. Raises CheckpointError."""


class Nothing:
    """The state before version 0."""

    version = -1
    complete = True

    def state(self) -> TableState:
        return TableState()

    def files(self, partition_columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return iter(())


class FromCheckpoint:
    complete = True

    def __init__(self, reader: CheckpointReader) -> None:
        self.checkpoint: Checkpoint = reader.checkpoint
        self.version = reader.checkpoint.version
        self._reader = reader
        self._state = TableState()
        for action in reader.small_actions():
            self._state.take(action)

    def state(self) -> TableState:
        return self._state.copy()

    def files(self, partition_columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return (shape(batch, partition_columns) for batch in self._reader.files())


class FromSaved:
    def __init__(self, snapshot: Snapshot) -> None:
        self.version = snapshot.version
        self.complete = snapshot.complete
        self._snapshot = snapshot

    def state(self) -> TableState:
        return self._snapshot.state.copy()

    def files(self, partition_columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = live_schema(partition_columns)
        table = self._snapshot.files()
        for name in wanted.names:
            if name not in table.column_names:  # partitioned anew: a file that stayed has no value for the new column
                table = table.append_column(wanted.field(name), pa.nulls(table.num_rows, pa.string()))
        for batch in table.select(wanted.names).to_batches():
            yield batch.replace_schema_metadata(None)


def choose_base(
    storage: Storage, listing: Listing, version: int, problems: Problems, skip: set[Checkpoint]
) -> FromCheckpoint | Nothing:
    """The newest usable checkpoint at or below the version. Unusable ones become problems.

    One that lacks protocol, metadata or schema is used only where neither an older one nor all commits are there.
    """
    lacking: FromCheckpoint | None = None
    for checkpoint in listing.checkpoints_until(version):
        if checkpoint in skip:
            continue
        try:
            base = FromCheckpoint(CheckpointReader(storage, checkpoint, problems))
        except CheckpointError as error:
            problems.add(checkpoint.files[0].name, f"the checkpoint is not used: {error}", ProblemCode.UNREADABLE)
            continue
        if base.state().whole:
            return base
        problems.add(checkpoint.files[0].name, LACKS, ProblemCode.MISSING)
        lacking = lacking or base
    return lacking if lacking is not None and listing.gaps(0, version) else Nothing()
