"""Schemas for pages and API: a flat list of fields, and the differences between two."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tables.deltalog.schema import Array, Column, Map, SchemaError, Struct, Type, dotted, parse_schema, type_text, walk
from tables.deltalog.schema_changes import SchemaChange, compare_schemas
from tables.models import Schema

NO_STATISTICS = ("boolean", "binary", "variant")


@dataclass(frozen=True, slots=True)
class Field:
    """One column or nested field: `path` dotted, `depth` 0 for columns; `partition` is its place among the partition columns, from 1."""

    path: str
    depth: int
    type: str
    nullable: bool
    comment: str | None
    partition: int | None
    clustering: bool
    generated: str | None
    identity: bool
    default: str | None
    metadata: dict[str, Any]


def tree_of(schema: Schema | None) -> Struct | None:
    """The schema as a tree, None when there is none or it can't be read."""
    if schema is None:
        return None
    try:
        return parse_schema(json.dumps(schema.struct))
    except SchemaError:
        return None


def fields_of(schema: Schema | None, partitions: Sequence[str] = (), clustering: Sequence[str] = ()) -> list[Field]:
    """All fields, parents before their children."""
    tree = tree_of(schema)
    if tree is None:
        return []
    places = {name.lower(): place for place, name in enumerate(partitions, 1)}
    clustered = {name.lower() for name in clustering}
    return [_field(path, column, places, clustered) for path, column in walk(tree)]


def _field(path: tuple[str, ...], column: Column, places: dict[str, int], clustered: set[str]) -> Field:
    physical = ".".join((*path[:-1], column.physical_name)).lower()
    return Field(
        path=dotted(path),
        depth=len(path) - 1,
        type=_short(column.type),
        nullable=column.nullable,
        comment=column.comment,
        partition=places.get(column.name.lower()) if len(path) == 1 else None,
        clustering=bool({".".join(path).lower(), physical} & clustered),
        generated=column.generation_expression,
        identity=column.identity is not None,
        default=column.default,
        metadata=dict(column.free_metadata),
    )


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
