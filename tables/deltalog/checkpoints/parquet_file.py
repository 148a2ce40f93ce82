"""A checkpoint's parquet file, in pieces that stay small whatever its pages unfold to.

A page of a few bytes can stand for the same long text in every row. Where it may, texts are read as dictionaries, which hold each text
once, and a batch is cut by what its rows may come to when they are written out.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tables.deltalog.checkpoints.sizes import RowGroup, check_group, read_groups

BYTES = 8 << 20
"""Bytes that the rows of a piece come to at most, by the longest text of each column."""

LARGEST_ROW = 32 << 20
"""Bytes of a row that is still read; Delta's come to some thousands."""

SMALL = 1 << 20
"""Bytes of a file that is read as a whole, at once."""

_ROWS = 32_768
_VALUE = 64  # bytes that a value takes beside its text, as Python has it
_TEXTS = ("STRING", "JSON", "ENUM", "NONE")
_DECODED = 10  # bytes that a footer's byte takes once it is decoded, by Arrow and here


class ParquetFile:
    """A file as `open_file` gives it, its footer decoded once. Raises what Arrow raises, and ValueError for what must not be read."""

    def __init__(self, open_file: Callable[[], BinaryIO]) -> None:
        self._open = open_file
        self._content: bytes | None = None
        self._groups: list[RowGroup] | None = None
        with open_file() as raw:
            if raw.seek(0, 2) <= SMALL:
                raw.seek(0)
                self._content = raw.read()
            plain = self._in_arrow(raw)
            self._metadata = plain.metadata
            self._plain = plain if self._content is not None else None
            self.columns: dict[str, pa.DataType] = {field.name: field.type for field in plain.schema_arrow}

    @property
    def held_bytes(self) -> int:
        """About how much memory it takes between two readings."""
        return len(self._content or b"") + _DECODED * int(self._metadata.serialized_size)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of these columns, in order. Raises ValueError for a row beyond LARGEST_ROW and for what unfolds to too much."""
        is_wanted = _below(columns)
        with self._raw() as raw:
            plain, dictionaries = self._plain, None
            for number, group in enumerate(self._groups_in(raw)):
                if _holds_little(check_group(group, is_wanted, raw)):
                    plain = plain or self._in_arrow(raw, metadata=self._metadata)
                    yield from _rows(plain, number, _ROWS, columns)
                    continue
                dictionaries = dictionaries or self._in_arrow(
                    raw, metadata=self._metadata, read_dictionary=self._texts(is_wanted)
                )
                for batch in _rows(dictionaries, number, _rows_at_once(group, is_wanted), columns):
                    yield from _pieces(batch)

    def _groups_in(self, raw: BinaryIO) -> list[RowGroup]:
        if self._groups is None:
            groups = read_groups(raw)
            if len(groups) != self._metadata.num_row_groups:
                raise ValueError("its footer can be read in two ways")
            self._groups = groups
        return self._groups

    def _raw(self) -> BinaryIO:
        return self._open() if self._content is None else io.BytesIO(self._content)

    def _in_arrow(self, raw: BinaryIO, **options: Any) -> pq.ParquetFile:
        whole = self._content is not None
        options |= {"pre_buffer": False, "buffer_size": 0 if whole else 1 << 20}
        # Nanoseconds, which INT96 becomes by itself, end in the year 2262, and 9999-12-31 is usual for "open".
        options["coerce_int96_timestamp_unit"] = "us"
        return pq.ParquetFile(pa.BufferReader(self._content) if whole else raw, **options)

    def _texts(self, is_wanted: Callable[[str], bool]) -> list[str]:
        """The leaves that hold texts or bytes, as parquet names them."""
        schema = self._metadata.schema
        leaves = [schema.column(place) for place in range(len(schema))]
        texts = [leaf for leaf in leaves if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type in _TEXTS]
        return [leaf.path for leaf in texts if is_wanted(leaf.path)]


def _below(columns: Sequence[str]) -> Callable[[str], bool]:
    """Tells whether a leaf is one of these columns, or lies below one."""
    exact, above = frozenset(columns), tuple(f"{name}." for name in columns)
    return lambda path: path in exact or path.startswith(above)


def _holds_little(most: int) -> bool:
    """Whether values that come to so many bytes at most may be written out, each by itself."""
    return most <= BYTES


def _rows(file: pq.ParquetFile, group: int, at_once: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    yield from file.iter_batches(at_once, row_groups=[group], columns=columns, use_threads=False)


def _rows_at_once(group: RowGroup, is_wanted: Callable[[str], bool]) -> int:
    """As many rows as the footer lets expect BYTES of, texts that differ counted once each."""
    size = sum(chunk.unfolded for chunk in group.chunks if is_wanted(chunk.path))
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
