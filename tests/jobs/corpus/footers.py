"""Files whose footers are changed after pyarrow wrote them: how other writers' files, and damaged ones, are made.

Numbers of fields and enums are those of parquet.thrift (apache/parquet-format).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyarrow import parquet as pq

from tests.jobs.corpus.thrift import BINARY, I32, LIST, STRUCT, Reader, Struct, written

MAGIC = b"PAR1"
# FileMetaData
SCHEMA, ROWS, GROUPS, KEY_VALUES, CREATED_BY, ORDERS = range(2, 8)
# SchemaElement
TYPE, LENGTH, REPETITION, NAME, CHILDREN, CONVERTED, SCALE, PRECISION, FIELD_ID, LOGICAL = range(1, 11)
BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE_TYPE, BYTE_ARRAY, FIXED = range(8)
REQUIRED, OPTIONAL, REPEATED = range(3)
# ConvertedType
UTF8, CONVERTED_MAP, MAP_KEY_VALUE, CONVERTED_LIST, ENUM, DECIMAL, DATE = range(7)
TIMESTAMP_MILLIS, TIMESTAMP_MICROS, UINT_8, JSON, BSON, INTERVAL = 9, 10, 11, 19, 20, 21
# ColumnChunk.meta_data and its fields
META = 3
ENCODINGS, CODEC, VALUES, UNFOLDED, PACKED, DATA_PAGE, STATISTICS = 2, 4, 5, 6, 7, 9, 12
UNCOMPRESSED, SNAPPY, GZIP, LZO, BROTLI, LZ4, ZSTD, LZ4_RAW = range(8)

Columns = dict[str, Any]
Change = Callable[[Struct], None]


def plain(columns: Columns | pa.Table, **options: Any) -> bytes:
    """A file as pyarrow writes it."""
    out = io.BytesIO()
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), out, **options)
    return out.getvalue()


def footer_of(data: bytes) -> tuple[bytes, Struct]:
    """All that lies before the footer, and the footer."""
    length = int.from_bytes(data[-8:-4], "little")
    return data[: -8 - length], Reader(data[-8 - length : -8]).struct()


def closed(body: bytes, footer: bytes, magic: bytes = MAGIC) -> bytes:
    return body + footer + len(footer).to_bytes(4, "little") + magic


def changed(data: bytes, change: Change) -> bytes:
    """The file with another footer."""
    body, footer = footer_of(data)
    change(footer)
    return closed(body, written(footer))


def made(columns: Columns | pa.Table, change: Change, **options: Any) -> bytes:
    """A file of pyarrow with its footer changed; it has neither dictionary nor Arrow's own schema."""
    options = {"use_dictionary": False, "store_schema": False, **options}
    return changed(plain(columns, **options), change)


def elements(footer: Struct) -> list[Struct]:
    """The elements of the schema, the root first."""
    found: list[Struct] = footer[SCHEMA][1][1]
    return found


def chunks(footer: Struct) -> Iterator[Struct]:
    """The metadata of every column chunk."""
    for group in footer[GROUPS][1][1]:
        for column in group[1][1][1]:
            yield column[META][1]


def set_element(footer: Struct, at: int, **values: int | None) -> None:
    """Sets, or with None removes, numbers of an element: `set_element(footer, 1, CONVERTED=UTF8, LOGICAL=None)`."""
    element = elements(footer)[at]
    for name, value in values.items():
        if value is None:
            element.pop(globals()[name], None)
        else:
            element[globals()[name]] = (I32, value)


def logical(footer: Struct, at: int, number: int, fields: Struct | None = None) -> None:
    """Gives an element the logical type of that number of the union LogicalType."""
    elements(footer)[at][LOGICAL] = (STRUCT, {number: (STRUCT, fields or {})})


def renamed(footer: Struct, at: int, name: bytes) -> None:
    """Another name for a top-level column, in the schema and in its chunks' paths."""
    element = elements(footer)[at]
    old = element[NAME][1]
    element[NAME] = (BINARY, name)
    for chunk in chunks(footer):
        kind, parts = chunk[3][1]
        if parts[0] == old:
            chunk[3] = (LIST, (kind, [name, *parts[1:]]))


def without(number: int) -> Change:
    """Takes a field out of every column's metadata."""

    def change(footer: Struct) -> None:
        for chunk in chunks(footer):
            chunk.pop(number, None)

    return change
