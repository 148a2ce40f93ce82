"""The file actions of the commits after a checkpoint (or after a saved snapshot), replayed oldest first.

Added files go in batches to a spill file, since one commit can add a million; memory holds a key per file, a short one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tables.deltalog.read.actions import Action, AddFile, DeletionVector, RemoveFile
from tables.deltalog.state.livefiles import RAW, file_key

_BATCH = 512
BATCH_BYTES = 8 << 20
_GONE = -1
_UNKNOWN = -1


class Tail:
    """Collects adds and removes. `over_base` says that files of an older state lie below, which removes must reach."""

    def __init__(self, spill: Path, *, over_base: bool) -> None:
        self._spill = spill
        self.over_base = over_base
        self._rows: list[AddFile] = []
        self._text = 0
        self._sink: pa.OSFile | None = None
        self._writer: pa.RecordBatchStreamWriter | None = None
        self._positions: dict[str, int] = {}
        self._visible = array("q")  # by position, _UNKNOWN where an add doesn't tell
        self._count = 0

    def take(self, action: Action) -> None:
        if type(action) is AddFile:
            self._add(action)
        elif type(action) is RemoveFile:
            self._remove(file_key(action.path, vector_id(action.deletion_vector)))

    def _add(self, action: AddFile) -> None:
        self._positions[file_key(action.path, vector_id(action.deletion_vector))] = self._count
        self._count += 1
        rows = action.rows
        self._visible.append(_UNKNOWN if rows is None else rows)
        self._rows.append(action)
        self._text += text_of(action)
        if len(self._rows) >= _BATCH or self._text >= BATCH_BYTES:
            self._flush()

    def _remove(self, key: str) -> None:
        if self.over_base:
            self._positions[key] = _GONE
        else:
            self._positions.pop(key, None)

    def holds(self, key: str) -> bool:
        """Whether these commits added or removed the file."""
        return key in self._positions

    def rows_of(self, key: str) -> int | None:
        """The rows of a file that these commits added, as a reader sees them; None when unknown, or when the file is none of theirs."""
        position = self._positions.get(key, _GONE)
        rows = _UNKNOWN if position == _GONE else self._visible[position]
        return None if rows == _UNKNOWN else rows

    def _flush(self) -> None:
        if self._writer is None:
            self._sink = pa.OSFile(str(self._spill), "wb")
            self._writer = pa.ipc.new_stream(self._sink, RAW)
        self._writer.write_batch(batch_of(self._rows))
        self._rows, self._text = [], 0

    def touched(self) -> pa.Array | None:
        """Keys that these commits added or removed: the older state's rows of that key no longer count."""
        return pa.array(self._positions, pa.string()) if self.over_base and self._positions else None

    def live(self) -> Iterator[pa.RecordBatch]:
        """The added files that are still part of the table, as RAW batches in the order they came."""
        alive = bytearray(self._count)
        for position in self._positions.values():
            if position != _GONE:
                alive[position] = 1
        start = 0
        for batch in self._all():
            mask = pa.array(map(bool, alive[start : start + len(batch)]), pa.bool_())
            start += len(batch)
            # A copy even of all rows: one column of what was read would hold all the others’ memory.
            yield batch.filter(mask)

    def _all(self) -> Iterator[pa.RecordBatch]:
        if self._sink is not None:
            self._finish()
            with pa.OSFile(str(self._spill), "rb") as source:
                yield from pa.ipc.open_stream(source)
        if self._rows:
            yield batch_of(self._rows)

    def _finish(self) -> None:
        if self._writer is not None and self._sink is not None:
            self._writer.close()
            self._sink.close()
            self._writer = None

    def close(self) -> None:
        self._finish()
        if self._sink is not None:
            self._spill.unlink()
            self._sink = None


def vector_id(vector: DeletionVector | None) -> str | None:
    return None if vector is None else vector.unique_id


def text_of(action: AddFile) -> int:
    """About how many bytes an added file takes while it waits to be written."""
    size = len(action.path) + len(action.stats or "")
    for name, value in action.partition_values.items():
        size += len(name) + len(value or "")
    return size if action.deletion_vector is None else size + len(action.deletion_vector.path_or_inline)


def batch_of(rows: list[AddFile]) -> pa.RecordBatch:
    columns: list[list[Any]] = [
        [row.path for row in rows],
        [row.size for row in rows],
        [row.modification_time for row in rows],
        [row.num_records for row in rows],
        [row.stats for row in rows],
        [_vector_row(row.deletion_vector) for row in rows],
        [row.base_row_id for row in rows],
        [row.default_row_commit_version for row in rows],
        [list(row.partition_values.items()) for row in rows],
    ]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, RAW.types, strict=True)], schema=RAW
    )


def _vector_row(vector: DeletionVector | None) -> tuple[Any, ...] | None:
    if vector is None:
        return None
    return (vector.storage, vector.path_or_inline, vector.offset, vector.size_in_bytes, vector.cardinality)
