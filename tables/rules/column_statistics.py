"""Which columns Delta's writers keep statistics of: from a table's properties and schema (Delta's StatisticsCollection)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise

from tables.deltalog.rules.column_lists import Path, listed_columns
from tables.deltalog.rules.property_types import ValueFault
from tables.deltalog.rules.schema import Array, Map, Primitive, Struct, Type, type_text, walk

STATS_COLUMNS = "delta.dataSkippingStatsColumns"
LIST_REMEDY = "List columns that the table has, or unset the property: that is a change of the table’s properties."
USUAL = 32
NULLS_ALONE = ("boolean", "binary", "variant")  # no least and greatest value is kept of these
_UNBOUNDED = (Primitive("boolean"), Primitive("binary"))  # a variant has bounds if a setting of the writer's says so


class Retained(StrEnum):
    """What a writer keeps of a column, per file."""

    BOUNDS = "bounds"  # least and greatest value, and how many are null
    NULLS = "nulls"  # how many are null
    NONE = "none"
    PARTITION = "partition"  # the value itself stands in the log


def retained(tree: Struct, partitions: Sequence[str], properties: Mapping[str, str | None]) -> dict[Path, Retained]:
    """By path, for every field that isn't a struct and doesn't lie below an array or map: in those, nothing is kept."""
    places = {name.lower() for name in partitions}
    data = [(path, kind) for path, kind in _leaves(tree, ()) if path[0].lower() not in places]
    named = (properties.get(STATS_COLUMNS) or "").strip()
    chosen = _named(data, named) if named else _leading(data, properties.get("delta.dataSkippingNumIndexedCols"))
    by_path = {path: _of(kind) if path in chosen else Retained.NONE for path, kind in data}
    return by_path | {(column.name,): Retained.PARTITION for column in tree.columns if column.name.lower() in places}


def _leaves(struct: Struct, above: Path) -> Iterator[tuple[Path, Type]]:
    for column in struct.columns:
        path = (*above, column.name)
        if isinstance(column.type, Struct):
            yield from _leaves(column.type, path)
        else:
            yield path, column.type


def _leading(data: Sequence[tuple[Path, Type]], text: str | None) -> set[Path]:
    """The first columns, as many as the property says: -1 is all, 32 without one."""
    asked = int(text) if text and re.fullmatch(r"-?\d{1,9}", text) else USUAL
    return {path for path, _ in (data if asked < 0 else data[:asked])}


def _named(data: Sequence[tuple[Path, Type]], text: str) -> set[Path]:
    """The columns that are listed, and those inside of listed structs."""
    listed = [tuple(part.lower() for part in path) for path in listed_columns(text) or ()]
    lower = {path: tuple(part.lower() for part in path) for path, _ in data}
    return {path for path, low in lower.items() if any(low[: len(each)] == each for each in listed)}


def listed_fault(schema: Struct, partitions: Sequence[str], text: str) -> ValueFault | None:
    """What Delta refuses of a list of the columns to keep statistics of, whenever a commit carries the table's metadata; None for nothing,
    and for a text that it can't read as a list.

    Columns that aren't there, or have no least and greatest values. Of a struct's fields Delta looks at no type, and of the others, as
    for columns that are listed twice, only where they are spelled as in the schema. Source: Delta 4.4.0,
    `StatisticsCollection.validateDeltaStatsColumns`.
    """
    listed, places = listed_columns(text) or [], {name.lower() for name in partitions}
    faults = (_column_fault(schema, places, path) for path in listed)
    return next((fault for fault in faults if fault is not None), None) or _repeated(schema, listed)


def _column_fault(schema: Struct, partitions: set[str], path: Path) -> ValueFault | None:
    name = ".".join(path)
    if name.lower() in partitions:
        text = f"Data skipping is not supported for partition column '{name}'."
        return ValueFault(text, "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_PARTITIONED_COLUMN", "0AKDC")
    if not _is_there(schema, path):
        text = f"Couldn't find column {name} in the table's schema."
        return ValueFault(text, "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "42703")
    kind = next((column.type for column in schema.columns if (column.name,) == path), None)
    if kind is None or not (isinstance(kind, Array | Map) or kind in _UNBOUNDED):
        return None
    text = f"Data skipping is not supported for column '{name}' of type {type_text(kind)}."
    return ValueFault(text, "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE", "0AKDC")


def _is_there(schema: Struct, path: Path) -> bool:
    """Whether Delta finds a column of this path, whatever its case; below arrays and maps by `element`, `key` and `value`."""
    kinds: Sequence[Type] = (schema,)
    for name in path:
        kinds = [below for kind in kinds for spelled, below in _below(kind) if spelled.lower() == name.lower()]
    return bool(kinds)


def _below(kind: Type) -> Iterator[tuple[str, Type]]:
    if isinstance(kind, Struct):
        yield from ((column.name, column.type) for column in kind.columns)
    elif isinstance(kind, Array):
        yield "element", kind.element
    elif isinstance(kind, Map):
        yield from (("key", kind.key), ("value", kind.value))


def _repeated(schema: Struct, listed: Sequence[Path]) -> ValueFault | None:
    """A column that is listed twice, or beside a struct that it is a field of."""
    spelled = {path for path, _ in walk(schema)}
    paths = sorted(path for path in listed if path in spelled)
    twice = next((later for path, later in pairwise(paths) if later[: len(path)] == path), None)
    if twice is None:
        return None
    text = f"Duplicated data skipping columns found: {'.'.join(twice)}."
    return ValueFault(text, "DELTA_DUPLICATE_DATA_SKIPPING_COLUMNS", "42701")


def _of(kind: Type) -> Retained:
    if isinstance(kind, Array | Map | Struct):
        return Retained.NULLS
    return Retained.NULLS if isinstance(kind, Primitive) and kind.name in NULLS_ALONE else Retained.BOUNDS
