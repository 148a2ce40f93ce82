"""The file actions of the commits after a checkpoint (or after a saved snapshot), replayed oldest first.

Added files go in batches to a spill file, since one commit can add a million; memory holds a key per file, a short one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.read.actions import Action, AddFile, DeletionVector, RemoveFile
from tables.deltalog.read.usual_adds import BareAdds
from tables.deltalog.state.livefiles import RAW, VALUES, file_key, file_keys

_BATCH = 512
_BARE_BATCH = 8192
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
        self._bare: BareAdds | None = None
        self._sink: pa.OSFile | None = None
        self._writer: pa.RecordBatchStreamWriter | None = None
        self._positions: dict[str, int] = {}
        self._visible = array("q")  # by position, _UNKNOWN where an add doesn't tell
        self._count = 0

    def take(self, action: Action | BareAdds) -> None:
        if type(action) is AddFile:
            self._add(action)
        elif type(action) is RemoveFile:
            self._remove(file_key(action.path, vector_id(action.deletion_vector)))
        elif type(action) is BareAdds:
            self._add_bare(action)

    def _add(self, action: AddFile) -> None:
        if self._bare is not None:
            self._flush()
        self._positions[file_key(action.path, vector_id(action.deletion_vector))] = self._count
        self._count += 1
        rows = action.rows
        self._visible.append(_UNKNOWN if rows is None else rows)
        self._rows.append(action)
        self._text += text_of(action)
        if len(self._rows) >= _BATCH or self._text >= BATCH_BYTES:
            self._flush()

    def _add_bare(self, adds: BareAdds) -> None:
        if self._rows:
            self._flush()
        end = self._count + len(adds)
        self._positions.update(zip(file_keys(adds.paths), range(self._count, end), strict=True))
        self._visible.extend(repeat(_UNKNOWN, end - self._count))
        self._count = end
        self._text += adds.text
        if self._bare is None:
            self._bare = adds
        else:
            self._bare.extend(adds)
        if len(self._bare) >= _BARE_BATCH or self._text >= BATCH_BYTES:
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
        for batch in self._waiting():
            self._writer.write_batch(batch)
        self._rows, self._text, self._bare = [], 0, None

    def _waiting(self) -> Iterator[pa.RecordBatch]:
        if self._rows:
            yield batch_of(self._rows)
        if self._bare is not None:
            yield bare_batch(self._bare)

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
        for batch in self._spilled():
            yield _alive(batch, alive, start)
            start += len(batch)
        for batch in self._waiting():
            all_alive = alive.count(1, start, start + len(batch)) == len(batch)
            yield batch if all_alive else _alive(batch, alive, start)
            start += len(batch)

    def _spilled(self) -> Iterator[pa.RecordBatch]:
        if self._sink is not None:
            self._finish()
            with pa.OSFile(str(self._spill), "rb") as source:
                yield from pa.ipc.open_stream(source)

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


def _alive(batch: pa.RecordBatch, alive: bytearray, start: int) -> pa.RecordBatch:
    """The rows that are marked from `start` on. A copy even of all: one column of what was read would hold all the others’ memory."""
    marks = pa.UInt8Array.from_buffers(pa.uint8(), len(batch), [None, pa.py_buffer(alive)], offset=start)
    return cast(pa.RecordBatch, batch.filter(pc.cast(marks, pa.bool_())))


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


def bare_batch(adds: BareAdds) -> pa.RecordBatch:
    """Added files without statistics as RAW rows."""
    columns = {
        "path": pa.array(adds.paths, pa.string()),
        "size": pa.array(adds.sizes, pa.int64()),
        "modification_time": pc.cast(pa.array(adds.modification_times, pa.string()), pa.int64()),
        VALUES: _partition_values(adds),
    }
    arrays = [columns.get(name) for name in RAW.names]
    return pa.RecordBatch.from_arrays(
        [pa.nulls(len(adds), kind) if array is None else array for array, kind in zip(arrays, RAW.types, strict=True)],
        schema=RAW,
    )


def _partition_values(adds: BareAdds) -> pa.MapArray:
    """Built once for each that is different, since files share them."""
    values = pa.array(adds.values, pa.string()).dictionary_encode()
    different = [list(adds.parsed[text].items()) for text in values.dictionary.to_pylist()]
    return pa.array(different, RAW.field(VALUES).type).take(values.indices)


def _vector_row(vector: DeletionVector | None) -> tuple[Any, ...] | None:
    if vector is None:
        return None
    return (vector.storage, vector.path_or_inline, vector.offset, vector.size_in_bytes, vector.cardinality)
