"""A checkpoint's rows in pieces that stay small, whatever its pages unfold to.

A page of a few bytes can stand for the same long text in every row. Texts are therefore read as dictionaries, which hold each text
once, and a batch is cut by what its rows may come to when they are written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tables.deltalog.checkpoints.sizes import Group, check_group, read_groups

BYTES = 8 << 20
"""Bytes that the rows of a piece come to at most, by the longest text of each column."""

LARGEST_ROW = 32 << 20
"""Bytes of a row that is still read; Delta's come to some thousands."""

_ROWS = 32_768
_VALUE = 64  # bytes that a value takes beside its text, as Python has it
_TEXTS = ("STRING", "JSON", "ENUM", "NONE")


def text_columns(metadata: pq.FileMetaData, columns: Sequence[str]) -> list[str]:
    """The leaves of these columns that hold texts or bytes, as parquet names them."""
    leaves = [metadata.schema.column(place) for place in range(len(metadata.schema))]
    texts = [leaf for leaf in leaves if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type in _TEXTS]
    return [leaf.path for leaf in texts if _is_below(leaf.path, columns)]


def small_batches(file: pq.ParquetFile, raw: BinaryIO, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """All rows of the columns, in order. `raw` is the same file as bytes.

    Raises ValueError for a row beyond LARGEST_ROW and for what unfolds to too much, and what Arrow raises.
    """
    groups = read_groups(raw)
    if len(groups) != file.num_row_groups:
        raise ValueError("its footer can be read in two ways")
    for number, group in enumerate(groups):
        check_group(group, lambda path: _is_below(path, columns), raw)
        rows = _rows_at_once(group, columns)
        for batch in file.iter_batches(rows, row_groups=[number], columns=columns, use_threads=False):
            yield from _pieces(batch)


def _is_below(path: str, columns: Sequence[str]) -> bool:
    return any(path == name or path.startswith(f"{name}.") for name in columns)


def _rows_at_once(group: Group, columns: Sequence[str]) -> int:
    """As many rows as the footer lets expect BYTES of, texts that differ counted once each."""
    size = sum(chunk.unfolded for chunk in group.chunks if _is_below(chunk.path, columns))
    row = max(1, size // max(1, group.rows))
    if row > LARGEST_ROW:
        raise ValueError("its rows are too long to be read")
    return max(1, min(_ROWS, BYTES // row))


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    row = sum(_longest(column) for column in batch.columns)
    if row > LARGEST_ROW:
        raise ValueError("a row is too long to be read")
    step = max(1, BYTES // max(1, row))
    if step >= len(batch):
        yield batch
        return
    for start in range(0, len(batch), step):  # taken, not sliced: a cast would write out all that lies below a slice
        yield batch.take(pa.array(range(start, min(start + step, len(batch)))))


def _longest(values: Any) -> int:
    """Bytes that one row of the column comes to at most."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _longest(values.dictionary)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _VALUE + int(pc.max(pc.binary_length(values)).as_py() or 0)
    if pa.types.is_struct(kind):
        return sum(_longest(values.field(place)) for place in range(len(kind)))
    if pa.types.is_map(kind):
        return _most(values.offsets) * (_longest(values.keys) + _longest(values.items))
    if pa.types.is_list(kind):
        return _most(values.offsets) * _longest(values.values)
    return _VALUE


def _most(offsets: pa.Array) -> int:
    """The length of the longest list."""
    return int(pc.max(pc.subtract(offsets[1:], offsets[:-1])).as_py() or 0)
