"""Schemas for pages and API: a flat list of fields, and the differences between two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tables.deltalog.rules.schema import (
    Array,
    Column,
    Map,
    Struct,
    Type,
    dotted,
    type_text,
    walk,
)
from tables.deltalog.rules.schema_changes import SchemaChange, compare_schemas
from tables.models import Schema
from tables.record.commit_rows import tree_of
from tables.rules import column_statistics as statistics

MOST_AT_ONCE = 200  # fields on a page; above, a schema shows its columns first and what lies in them by a link


@dataclass(frozen=True, slots=True)
class ListedField:
    """One column or nested field: `path` dotted, `depth` 0 for columns; `partition` is its place among the partition columns, from 1.

    `statistics` is what writers keep of it (column_statistics.Retained); None for structs, whose fields have it, and below arrays
    and maps.
    """

    path: str
    depth: int
    type: str
    nullable: bool
    comment: str | None
    partition: int | None
    clustering: bool | None  # None: unknown
    generated: str | None
    identity: bool
    default: str | None
    statistics: str | None
    metadata: dict[str, Any]


def fields_of(
    schema: Schema | None,
    partitions: Sequence[str] = (),
    clustering: Sequence[str] | None = (),
    properties: Mapping[str, str | None] | None = None,
) -> list[ListedField]:
    """All fields, parents before their children. Without properties (None), the kept statistics are unknown."""
    tree = tree_of(schema)
    if tree is None:
        return []
    places, clustered = _places(partitions), None if clustering is None else frozenset(clustering)
    known = {} if properties is None else statistics.retained(tree, partitions, properties)
    return [_field(path, column, places, clustered, known.get(path)) for path, column in walk(tree)]


def first_columns(
    schema: Schema | None, most: int, partitions: Sequence[str] = (), clustering: Sequence[str] | None = ()
) -> list[ListedField]:
    """The first columns, without what lies in them, however wide the schema is; their statistics aren't asked for."""
    tree = tree_of(schema)
    if tree is None:
        return []
    places, clustered = _places(partitions), None if clustering is None else frozenset(clustering)
    return [_field((column.name,), column, places, clustered, None) for column in tree.columns[:most]]


def _places(partitions: Sequence[str]) -> dict[str, int]:
    """The place of each partition column, from 1, by its name in small letters."""
    return {name.lower(): place for place, name in enumerate(partitions, 1)}


def _field(
    path: tuple[str, ...],
    column: Column,
    places: dict[str, int],
    clustered: frozenset[str] | None,
    retained: str | None,
) -> ListedField:
    return ListedField(
        path=dotted(path),
        depth=len(path) - 1,
        type=_short(column.type),
        nullable=column.nullable,
        comment=column.comment,
        partition=places.get(column.name.lower()) if len(path) == 1 else None,
        clustering=None if clustered is None else dotted(path) in clustered,
        generated=column.generation_expression,
        identity=column.identity is not None,
        default=column.default,
        statistics=retained,
        metadata=dict(column.free_metadata),
    )


@dataclass(frozen=True, slots=True)
class SchemaLine:
    """A field as a page lists it, with how many fields lie in it."""

    field: ListedField
    inside: int


@dataclass(frozen=True, slots=True)
class FieldListing:
    """A part of a schema. `total` fields it has, `found` fit; `is_folded` when nested ones are left out; `next`, `previous` are places."""

    lines: list[SchemaLine]
    total: int
    found: int
    start: int
    is_folded: bool
    next: int | None
    previous: int | None


def listing(fields: Sequence[ListedField], q: str = "", below: str = "", start: int = 0) -> FieldListing:
    """The fields whose path or comment has `q` (in any case), or that lie `below` a field; else all, or of many the columns first."""
    inside = _counted(fields)
    is_folded = False
    if q:
        wanted = [f for f in fields if q.lower() in f.path.lower() or q.lower() in (f.comment or "").lower()]
    elif below:
        wanted = [f for f in fields if f.path == below or f.path.startswith(f"{below}.")]
    else:
        is_folded = len(fields) > MOST_AT_ONCE and any(f.depth for f in fields)
        wanted = [f for f in fields if f.depth == 0 or not is_folded]
    shown = wanted[start : start + MOST_AT_ONCE]
    return FieldListing(
        lines=[SchemaLine(f, inside[f.path]) for f in shown],
        total=len(fields),
        found=len(wanted),
        start=start,
        is_folded=is_folded,
        next=start + MOST_AT_ONCE if start + MOST_AT_ONCE < len(wanted) else None,
        previous=max(start - MOST_AT_ONCE, 0) if start else None,
    )


def _counted(fields: Sequence[ListedField]) -> Counter[str]:
    """How many fields lie in each, at any depth: parents come before their children."""
    counts: Counter[str] = Counter()
    above: list[ListedField] = []
    for field in fields:
        while above and not field.path.startswith(f"{above[-1].path}."):
            above.pop()
        counts.update(parent.path for parent in above)
        above.append(field)
    return counts


def _short(kind: Type) -> str:
    """The type without the fields that are listed below it."""
    if isinstance(kind, Struct):
        return "struct"
    if isinstance(kind, Array):
        return f"array<{_short(kind.element)}>"
    if isinstance(kind, Map):
        return f"map<{_short(kind.key)},{_short(kind.value)}>"
    return type_text(kind)


def differences(before: Schema | None, after: Schema | None) -> list[SchemaChange]:
    """What changed from one schema to another; every column was added where there was none before."""
    new = tree_of(after)
    if new is None or (before is not None and after is not None and before.sha256 == after.sha256):
        return []
    return list(compare_schemas(tree_of(before) or Struct(()), new))
