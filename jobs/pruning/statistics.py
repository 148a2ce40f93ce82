"""Bounds of data columns from Delta's statistics (`stats`, JSON per file). What is missing, odd or cut off is unknown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from jobs.pruning.bounds import Bounds, arrow_type
from jobs.pruning.stored_bounds import NullCounts, Sides, bounds_from

# Delta cuts texts in statistics after 32 characters unless told otherwise; what is as long may be cut.
LONGEST_TEXT = 32
_ROWS = 8_192
_PIECE = 16 << 20  # bytes that are taken apart at once
_LONGEST = 1 << 20  # bytes of one file's statistics; Delta's come to some thousands
_HALF = re.compile("[\ud800-\udfff]")
_EMPTY = pa.array(["{}"])
_PARTS = ("minValues", "maxValues", "nullCount")

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WantedColumn:
    """A column to look up: its physical path and its type."""

    path: Path
    type: str


@dataclass(frozen=True, slots=True)
class StoredStatistics:
    """What statistics say of a column per file, null where they don't: the number of NULLs, the least and the greatest value, as JSON has
    them. No sides (None) for types of which none are kept."""

    nulls: pa.Array
    low: pa.Array | None = None
    high: pa.Array | None = None


def stored_of(stats: pa.ChunkedArray, wanted: Sequence[WantedColumn]) -> dict[Path, StoredStatistics]:
    """What is stored of each wanted column, whether it can be true or not."""
    if not wanted:
        return {}
    table = _joined(stats, wanted)
    return {item.path: _stored(table, item) for item in wanted}


def are_kept(type_name: str) -> bool:
    """Whether statistics keep bounds of a type, beside the number of NULLs."""
    return _stored_type(type_name) is not None


def _stored(table: pa.Table, item: WantedColumn) -> StoredStatistics:
    nulls, kind = _member(table, "nullCount", item.path, pa.int64()), _stored_type(item.type)
    if kind is None:
        return StoredStatistics(nulls)
    return StoredStatistics(nulls, *(_member(table, part, item.path, kind) for part in ("minValues", "maxValues")))


def bounds_of(
    stats: pa.ChunkedArray, records: pa.Array, wanted: Sequence[WantedColumn], longest_text: int
) -> dict[Path, Bounds]:
    """The bounds of each wanted column. `records` are physical rows per file, null where unknown."""
    if not wanted:
        return {}
    table = _joined(stats, wanted)
    return {item.path: _bounds(table, records, item, longest_text) for item in wanted}


def _joined(stats: pa.ChunkedArray, wanted: Sequence[WantedColumn]) -> pa.Table:
    """The members of the wanted columns, file by file."""
    schema = _schema(wanted)
    tables = [_table(piece, schema) for piece in _pieces(stats)]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _pieces(stats: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    for start in range(0, len(stats), _ROWS):
        yield from _small(stats.slice(start, _ROWS))


def _small(piece: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    if piece.nbytes <= _PIECE or len(piece) == 1:
        yield piece
        return
    middle = len(piece) // 2
    yield from _small(piece.slice(0, middle))
    yield from _small(piece.slice(middle))


def _schema(wanted: Sequence[WantedColumn]) -> pa.Schema:
    trees: dict[str, Any] = {part: {} for part in _PARTS}
    for item in wanted:
        _plant(trees["nullCount"], item.path, pa.int64())
        if stored := _stored_type(item.type):
            _plant(trees["minValues"], item.path, stored)
            _plant(trees["maxValues"], item.path, stored)
    return pa.schema([(part, _struct(tree)) for part, tree in trees.items() if tree])


def _stored_type(type_name: str) -> pa.DataType | None:
    """The JSON type in which statistics keep values of a type."""
    if type_name in ("date", "timestamp", "timestamp_ntz"):
        return pa.string()
    return pa.float64() if type_name == "float" else arrow_type(type_name)


def _plant(tree: dict[str, Any], path: Path, leaf: pa.DataType) -> None:
    for part in path[:-1]:
        below = tree.setdefault(part, {})
        if not isinstance(below, dict):
            return
        tree = below
    tree.setdefault(path[-1], leaf)


def _struct(tree: dict[str, Any]) -> pa.DataType:
    return pa.struct([(name, _struct(below) if isinstance(below, dict) else below) for name, below in tree.items()])


def _table(piece: pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    """The wanted members of a piece's texts. One odd text makes its piece be read text by text.

    Arrow reads values one after the other, whatever text they stand in, and ends the process when the first of them is `null`: it is
    given objects only, an empty one first.
    """
    texts = _objects(piece.combine_chunks())
    whole = pa.ListArray.from_arrays(pa.array([0, len(texts) + 1], pa.int32()), pa.concat_arrays([_EMPTY, texts]))
    data = pc.binary_join(whole, "\n")[0].as_buffer()
    try:
        table = pj.read_json(
            pa.BufferReader(data),
            read_options=pj.ReadOptions(use_threads=False, block_size=max(data.size + 1, 1 << 20)),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except pa.ArrowInvalid:
        return _slow_table(texts, schema)
    return table.slice(1) if table.num_rows == len(texts) + 1 else _slow_table(texts, schema)


def _objects(texts: pa.Array) -> pa.Array:
    """The texts that may be objects; an empty one for any other."""
    if pc.all(_shaped(texts), skip_nulls=False).as_py():
        return texts
    bare = pc.ascii_trim(texts, characters=" \t\r\n")
    return pc.if_else(pc.fill_null(_shaped(bare), False), bare, pa.scalar("{}"))


def _shaped(texts: pa.Array) -> pa.Array:
    braced = pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}"))
    return pc.and_(braced, pc.less_equal(pc.binary_length(texts), _LONGEST))


def _slow_table(texts: pa.Array, schema: pa.Schema) -> pa.Table:
    rows = [_read(text) for text in texts.to_pylist()]
    columns = [pa.array([_fitting(row.get(f.name), f.type) for row in rows], f.type) for f in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _read(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _fitting(value: Any, kind: pa.DataType) -> Any:
    """The value where it is of the type, None where it isn't ("NaN" for a number, a fraction for a whole number)."""
    if pa.types.is_struct(kind):
        below = value if isinstance(value, dict) else {}
        return {field.name: _fitting(below.get(field.name), field.type) for field in kind}
    if pa.types.is_string(kind):
        return value if isinstance(value, str) and not _HALF.search(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if pa.types.is_integer(kind):
        return value if isinstance(value, int) and -(2**63) <= value < 2**63 else None
    return float(value) if abs(value) < 1e300 else None


def _bounds(table: pa.Table, records: pa.Array, item: WantedColumn, longest_text: int) -> Bounds:
    nulls = _member(table, "nullCount", item.path, pa.int64())
    stored = _stored_type(item.type)
    if stored is None:
        nothing = pa.nulls(len(records), pa.int64())
        return bounds_from(item.type, Sides(nothing, nothing), NullCounts(nulls, records), longest_text)
    sides = Sides(*(_member(table, part, item.path, stored) for part in ("minValues", "maxValues")))
    return bounds_from(item.type, sides, NullCounts(nulls, records), longest_text)


def _member(table: pa.Table, part: str, path: Path, kind: pa.DataType) -> pa.Array:
    column = table.column(part)
    if not _has(column.type, path):
        return pa.nulls(len(column), kind)
    member = pc.struct_field(column, list(path))
    array = member.combine_chunks() if isinstance(member, pa.ChunkedArray) else member
    return array if array.type == kind else pa.nulls(len(array), kind)


def _has(kind: pa.DataType, path: Path) -> bool:
    """Of two columns of one name, one a struct, only one has a place of its own."""
    for name in path:
        if not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
            return False
        kind = kind.field(name).type
    return True
