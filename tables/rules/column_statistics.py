"""Which columns Delta's writers keep statistics of: from a table's properties and schema (Delta's StatisticsCollection)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from tables.deltalog.rules.schema import Array, Map, Primitive, Struct, Type

USUAL = 32
NULLS_ALONE = ("boolean", "binary", "variant")  # no least and greatest value is kept of these


class Retained(StrEnum):
    """What a writer keeps of a column, per file."""

    BOUNDS = "bounds"  # least and greatest value, and how many are null
    NULLS = "nulls"  # how many are null
    NONE = "none"
    PARTITION = "partition"  # the value itself stands in the log


Path = tuple[str, ...]


def retained(tree: Struct, partitions: Sequence[str], properties: Mapping[str, str | None]) -> dict[Path, Retained]:
    """By path, for every field that isn't a struct and doesn't lie below an array or map: in those, nothing is kept."""
    places = {name.lower() for name in partitions}
    data = [(path, kind) for path, kind in _leaves(tree, ()) if path[0].lower() not in places]
    named = (properties.get("delta.dataSkippingStatsColumns") or "").strip()
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
    listed = [tuple(part.lower() for part in path) for path in column_list(text)]
    lower = {path: tuple(part.lower() for part in path) for path, _ in data}
    return {path for path, low in lower.items() if any(low[: len(each)] == each for each in listed)}


def column_list(text: str) -> list[Path]:
    """`a, b.c, `d,e`.f` as paths; names may be quoted by backquotes, doubled inside."""
    paths: list[list[str]] = [[]]
    for quoted, plain, mark in re.findall(r"`((?:[^`]|``)*)`|([^`,.]+)|([,.])", text):
        if mark == ",":
            paths.append([])
        elif name := quoted.replace("``", "`") or plain.strip():
            paths[-1].append(name)
    return [tuple(path) for path in paths if path]


def _of(kind: Type) -> Retained:
    if isinstance(kind, Array | Map | Struct):
        return Retained.NULLS
    return Retained.NULLS if isinstance(kind, Primitive) and kind.name in NULLS_ALONE else Retained.BOUNDS
