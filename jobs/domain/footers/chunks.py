"""What a footer says of its column chunks that Spark's reader, or any, can't follow. Numbers and names are those of parquet.thrift.

Chunks are structs by field numbers, as they lie in the footer: any of their values may be missing or of another kind. Runs in Spark's
Python workers: standard library only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Struct = Mapping[int, Any]
# The fields that are read here and in `times`: FileMetaData → created_by (6), row groups (4) → columns (1) → metadata (3) and
# crypto_metadata (8).
WANTED: Mapping[int, Any] = {
    4: {1: {3: {1: None, 2: None, 3: None, 4: None, 5: None, 7: None, 9: None, 11: None, 12: None}, 8: {}}, 3: None},
    6: None,
}
TYPES = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
# Codecs of every Spark; of the others a class has to be on its class path.
EVERYWHERE = frozenset({0, 1, 2, 5, 6, 7})
BYTE_STREAM_SPLIT = 9
FIRST = 4  # bytes of the magic before the first page

ENCRYPTED, DAMAGED, LONG, SCHEMA, CODEC, ENCODING, DECIMAL, RANGE = (
    "encrypted",
    "damaged",
    "long",
    "schema",
    "codec",
    "encoding",
    "decimal",
    "range",
)


class FooterFault(NamedTuple):
    """One kind of trouble: a codec's or an encoding's name, or what is wrong."""

    kind: str
    what: str


class Faulty(NamedTuple):
    """The files that have it: their number, one of them, and one of its columns."""

    files: int
    example: str
    column: str = ""

    def merged(self, other: Faulty) -> Faulty:
        first = min(self, other, key=lambda each: each.example)
        return Faulty(self.files + other.files, first.example, first.column)


def groups_of(footer: Struct) -> list[Struct]:
    """The row groups of a footer's struct."""
    return _structs(footer.get(4))


def writer_of(footer: Struct) -> str:
    """The program that wrote a file, by its own words."""
    name = footer.get(6)
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else ""


def columns_of(group: Struct) -> list[Struct]:
    return _structs(group.get(1))


def metadata_of(column: Struct) -> Struct:
    """A column chunk's ColumnMetaData; empty where there is none."""
    found = column.get(3)
    return found if isinstance(found, dict) else {}


def number(struct: Struct, field: int) -> int:
    """A whole number of a struct; 0 where there is none."""
    value = struct.get(field, 0)
    return value if type(value) is int else 0


def faults(groups: Collection[Struct], types: Sequence[str], body: int) -> dict[FooterFault, str]:
    """The faults of a file by its row groups, each with a column; `types` are the physical types of its schema's columns, `body` the
    bytes before the footer."""
    found: dict[FooterFault, str] = {}
    for group in groups:
        columns = columns_of(group)
        if len(columns) != len(types):
            found.setdefault(FooterFault(DAMAGED, "a row group doesn’t have the columns of the schema"), "")
        for column, kind in zip(columns, types, strict=False):
            for fault in _faults(column, kind, body if number(group, 3) else None):
                found.setdefault(fault, path_of(column))
    return found


def path_of(column: Struct) -> str:
    """A column's name, with dots between its parts."""
    parts = metadata_of(column).get(3)
    if not isinstance(parts, list):
        return ""
    return ".".join(part.decode("utf-8", "replace") for part in parts if isinstance(part, bytes))


def _faults(column: Struct, kind: str, body: int | None) -> Iterator[FooterFault]:
    """Faults of one chunk; without `body` its place doesn't matter, since no row is read there."""
    metadata = metadata_of(column)
    if 8 in column:
        yield FooterFault(ENCRYPTED, "columns")
    if not metadata:
        if 8 not in column:
            yield FooterFault(DAMAGED, "a column has no metadata")
        return
    if 1 in metadata and _name(TYPES, number(metadata, 1)) != kind:  # Spark would read other values, and say nothing
        yield FooterFault(DAMAGED, "its columns are of other types than its schema says")
    codec = number(metadata, 4)
    if codec not in EVERYWHERE:
        yield FooterFault(CODEC, _name(CODECS, codec))
    encodings = metadata.get(2)
    if isinstance(encodings, list) and BYTE_STREAM_SPLIT in encodings:
        yield FooterFault(ENCODING, "BYTE_STREAM_SPLIT")
    if body is not None and 8 not in column and not _lies_within(metadata, body):
        yield FooterFault(DAMAGED, "its columns lie outside of it")


def _lies_within(metadata: Struct, body: int) -> bool:
    data, dictionary, size = number(metadata, 9), number(metadata, 11), number(metadata, 7)
    start = min(data, dictionary) if data and dictionary > 0 else data or dictionary
    return start >= FIRST and size >= 0 and start + size <= body


def _name(names: Sequence[str], value: int) -> str:
    return names[value] if 0 <= value < len(names) else str(value)


def _structs(values: Any) -> list[Struct]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
