"""Lists, maps and structs: as the format asks for, and as writers before it, or against it, laid them out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tests.jobs.corpus import footers
from tests.jobs.corpus.footers import elements, logical, made, plain, set_element
from tests.jobs.corpus.thrift import BINARY, I32, LIST, Struct

LISTS = pa.array([[1, 2], [], None, [None]], pa.list_(pa.int64()))
MAPS = pa.array([[("a", 1), ("b", None)], [], None], pa.map_(pa.string(), pa.int64()))
STRUCTS = pa.array([{"a": 1, "b": {"c": "x"}}, {"a": None, "b": None}, None])
DEEP = pa.array(
    [[{"m": [("k", [[1], []])]}], None],
    pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.list_(pa.int32()))))])),
)


def _without_annotation(footer: Struct) -> None:
    set_element(footer, 1, CONVERTED=None, LOGICAL=None)


def _old_map(footer: Struct) -> None:
    """MAP_KEY_VALUE where the format says MAP, as Hive and Spark before 3 wrote it."""
    set_element(footer, 1, CONVERTED=footers.MAP_KEY_VALUE, LOGICAL=None)


def _repeated(footer: Struct) -> None:
    """A repeated field without a list around it, as protobuf writes it: the column is the list."""
    schema = elements(footer)
    root, _, _, item = schema
    schema[:] = [
        root,
        item | {footers.REPETITION: (I32, footers.REPEATED), footers.NAME: (BINARY, b"c")},
    ]
    for chunk in footers.chunks(footer):
        chunk[3] = (LIST, (BINARY, [b"c"]))


def _two_levels(footer: Struct) -> None:
    """A list of two levels: the repeated field is the element (parquet-avro, Hive, Spark's legacy format)."""
    schema = elements(footer)
    root, top, _, item = schema
    item = item | {footers.REPETITION: (I32, footers.REPEATED), footers.NAME: (BINARY, b"array")}
    schema[:] = [root, top, item]
    for chunk in footers.chunks(footer):
        chunk[3] = (LIST, (BINARY, [b"c", b"array"]))


REQUIRED_ITEMS: Any = pa.schema(
    [pa.field("c", pa.list_(pa.field("element", pa.int64(), nullable=False)), nullable=False)]
)


def _flat_items(change: footers.Change) -> bytes:
    """One list of required items, whose levels fit a layout of fewer levels."""
    table = pa.table({"c": pa.array([[1, 2], [3]], REQUIRED_ITEMS.field("c").type)}, schema=REQUIRED_ITEMS)
    return made(table, change)


def _no_values(footer: Struct) -> None:
    """A map of keys alone, as sets are written."""
    schema = elements(footer)
    root, top, pair, key, _ = schema
    schema[:] = [root, top, pair | {footers.CHILDREN: (I32, 1)}, key]
    footer.pop(footers.ORDERS)
    for group in footer[footers.GROUPS][1][1]:
        kind, columns = group[1][1]
        group[1] = (LIST, (kind, columns[:1]))


def _nested(depth: int) -> pa.Array:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return pa.array([value])


FILES = {
    "list": plain({"c": LISTS}),
    "list-not-compliant": plain({"c": LISTS}, use_compliant_nested_type=False),
    "list-large": plain({"c": pa.array([[1], None], pa.large_list(pa.int32()))}),
    "list-fixed": plain({"c": pa.array([[1, 2], None], pa.list_(pa.int32(), 2))}),
    "list-of-lists": plain({"c": pa.array([[[1], []], None])}),
    "list-of-structs": plain({"c": pa.array([[{"a": 1, "b": "x"}], []])}),
    "list-of-nulls": plain({"c": pa.array([[None], None], pa.list_(pa.null()))}),
    "list-without-annotation": made({"c": LISTS}, _without_annotation),
    "list-repeated": _flat_items(_repeated),
    "list-two-levels": _flat_items(_two_levels),
    "map": plain({"c": MAPS}),
    "map-key-value": made({"c": MAPS}, _old_map),
    "map-without-annotation": made({"c": MAPS}, _without_annotation),
    "map-without-values": made({"c": MAPS}, _no_values),
    "map-of-structs": plain(
        {"c": pa.array([[("a", {"x": 1})], None], pa.map_(pa.string(), pa.struct([("x", pa.int32())])))}
    ),
    "map-duplicate-keys": plain({"c": pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))}),
    "map-struct-keys": plain({"c": pa.array([[({"x": 1}, 1)]], pa.map_(pa.struct([("x", pa.int32())]), pa.int64()))}),
    "struct": plain({"c": STRUCTS}),
    "struct-null-members": plain({"c": pa.array([{"a": None}, None], pa.struct([("a", pa.int32())]))}),
    "struct-declared-list": made({"c": STRUCTS}, lambda footer: logical(footer, 1, 3)),
    "deep": plain({"c": DEEP}),
    "deep-80": plain({"c": _nested(80)}),
}
