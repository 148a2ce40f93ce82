"""A table's schema, as its log has it, in the words of predicates."""

from __future__ import annotations

from jobs.domain.predicates.schema import Field, Schema
from tables.deltalog.rules.schema import Array, Column, Map, Primitive, Struct, Type, type_text

_COLLATIONS = "__COLLATIONS"
_CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"


def schema_of(struct: Struct) -> Schema:
    """The columns that a predicate on the table may name, structs with their fields."""
    return Schema(tuple(_field(column) for column in struct.columns))


def _field(column: Column) -> Field:
    if isinstance(column.type, Struct):
        below = tuple(_field(inner) for inner in column.type.columns)
        return Field(column.name, "struct", column.nullable, below)
    return Field(column.name, _type(column), column.nullable)


def _type(column: Column) -> str:
    kind: Type = column.type
    if isinstance(kind, Array):
        return "array"
    if isinstance(kind, Map):
        return "map"
    if isinstance(kind, Primitive) and kind.name == "string":
        return _text_type(column)
    return type_text(kind)


def _text_type(column: Column) -> str:
    """Collated and padded texts compare by rules of their own."""
    if column.metadata.get(_COLLATIONS):
        return "string collate"
    declared = column.metadata.get(_CHAR_VARCHAR)
    return declared if isinstance(declared, str) and declared.startswith("char(") else "string"
