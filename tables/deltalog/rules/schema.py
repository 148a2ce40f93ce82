"""A table's schema as a frozen tree, from Spark's JSON struct (Delta protocol, "Schema Serialization Format")."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tables.deltalog.read.lines import parse_json

MAPPING_ID = "delta.columnMapping.id"
HIGHEST_ID = "delta.columnMapping.maxColumnId"
PHYSICAL_NAME = "delta.columnMapping.physicalName"
GENERATED = "delta.generationExpression"
IDENTITY = "delta.identity."
HIGH_WATER_MARK = "delta.identity.highWaterMark"  # columns with one are always at the top of the schema
_DEFAULT = "CURRENT_DEFAULT"
_MAX_DEPTH = 100


_NUMBER = re.compile(r"[0-9]{1,18}")


class SchemaError(ValueError):
    """A schema text that can't be read; the text says where."""


def highest_id(configuration: Mapping[str, str]) -> int | None:
    """The highest number that column mapping has given a column; 0 before the first, None for a text that is no such number."""
    text = configuration.get(HIGHEST_ID, "0")
    return int(text) if _NUMBER.fullmatch(text) else None


def compact(schema_json: str) -> str:
    """A schema's text without the blanks that writers set as they like, which is how Spark writes it; as it is where it is no JSON."""
    try:
        return json.dumps(parse_json(schema_json), separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        return schema_json


def without_high_water_marks(schema_json: str) -> str:
    """A schema's text without the highest value of each identity column, which every write of rows sets anew; as it is without one."""
    if HIGH_WATER_MARK not in schema_json:
        return schema_json
    try:
        schema = parse_json(schema_json)
    except ValueError:
        return schema_json
    for field_ in schema.get("fields", []) if isinstance(schema, dict) else []:
        if isinstance(field_, dict) and isinstance(field_.get("metadata"), dict):
            field_["metadata"].pop(HIGH_WATER_MARK, None)
    return json.dumps(schema)


@dataclass(frozen=True, slots=True)
class Primitive:
    """`name` is the type's text in the log: integer, decimal(10,2), timestamp_ntz, varchar(5), … An unknown one is kept as it is."""

    name: str


@dataclass(frozen=True, slots=True)
class Array:
    element: Type
    contains_null: bool


@dataclass(frozen=True, slots=True)
class Map:
    key: Type
    value: Type
    value_contains_null: bool


@dataclass(frozen=True, slots=True)
class Identity:
    """An identity column's rule, and the highest value given so far (None: none yet)."""

    start: int | None
    step: int | None
    allow_explicit: bool
    high_water_mark: int | None


@dataclass(frozen=True, slots=True)
class Column:
    """A field of a struct. `metadata` holds all of its metadata as JSON values, Delta's own keys included."""

    name: str
    type: Type
    nullable: bool
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def comment(self) -> str | None:
        return _text(self.metadata.get("comment"))

    @property
    def mapping_id(self) -> int | None:
        value = self.metadata.get(MAPPING_ID)
        return value if type(value) is int else None

    @property
    def physical_name(self) -> str:
        """The column's name in data files, statistics and partition values."""
        return _text(self.metadata.get(PHYSICAL_NAME)) or self.name

    @property
    def generation_expression(self) -> str | None:
        return _text(self.metadata.get(GENERATED))

    @property
    def default(self) -> str | None:
        """The column's default as SQL text, None without one."""
        return _text(self.metadata.get(_DEFAULT))

    @property
    def identity(self) -> Identity | None:
        values = {key.removeprefix(IDENTITY): v for key, v in self.metadata.items() if key.startswith(IDENTITY)}
        if not values:
            return None
        whole = {key: v if type(v) is int else None for key, v in values.items()}
        return Identity(
            whole.get("start"), whole.get("step"), values.get("allowExplicitInsert") is True, whole.get("highWaterMark")
        )

    @property
    def free_metadata(self) -> dict[str, Any]:
        """The metadata that Delta and Spark give no meaning to."""
        known = ("comment", _DEFAULT, "EXISTS_DEFAULT", MAPPING_ID, PHYSICAL_NAME, GENERATED)
        return {key: value for key, value in self.metadata.items() if key not in known and not key.startswith(IDENTITY)}


@dataclass(frozen=True, slots=True)
class Struct:
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column | None:
        """The column of that name, whatever its case, as Spark resolves it."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


Type = Primitive | Array | Map | Struct


def parse_schema(text: str) -> Struct:
    """The tree of a schema text. Raises SchemaError when it is not a struct that can be read."""
    try:
        value = parse_json(text)
    except ValueError as error:
        raise SchemaError(f"the schema is {error}") from error
    tree = _type(value, 0)
    if not isinstance(tree, Struct):
        raise SchemaError("the schema is not a struct")
    return tree


def _type(value: Any, depth: int) -> Type:
    if depth > _MAX_DEPTH:
        raise SchemaError(f"the schema is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, str):
        return Primitive(value)
    if not isinstance(value, dict):
        raise SchemaError("a type of the schema is neither a name nor an object")
    kind = value.get("type")
    if kind == "struct" and isinstance(value.get("fields"), list):
        return Struct(tuple(_column(item, depth) for item in value["fields"]))
    if kind == "array":
        return Array(_type(value.get("elementType"), depth + 1), value.get("containsNull") is not False)
    if kind == "map":
        key, item = _type(value.get("keyType"), depth + 1), _type(value.get("valueType"), depth + 1)
        return Map(key, item, value.get("valueContainsNull") is not False)
    if kind == "udt":
        return _type(value.get("sqlType"), depth + 1)
    raise SchemaError("a type of the schema is not a struct, array, map or name")


def _column(value: Any, depth: int) -> Column:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise SchemaError("a column of the schema has no name")
    metadata = value.get("metadata")
    return Column(
        value["name"],
        _type(value.get("type"), depth + 1),
        value.get("nullable") is not False,
        metadata if isinstance(metadata, dict) else {},
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def type_text(kind: Type) -> str:
    """The type as Spark writes it in a table definition, nested ones included."""
    if isinstance(kind, Primitive):
        return _SQL_NAMES.get(kind.name, kind.name)
    if isinstance(kind, Array):
        return f"array<{type_text(kind.element)}>"
    if isinstance(kind, Map):
        return f"map<{type_text(kind.key)},{type_text(kind.value)}>"
    return f"struct<{','.join(f'{column.name}:{type_text(column.type)}' for column in kind.columns)}>"


_SQL_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


def types_in(kind: Type) -> Iterator[Type]:
    """The type and all that it is made of, itself first."""
    yield kind
    if isinstance(kind, Array):
        yield from types_in(kind.element)
    elif isinstance(kind, Map):
        yield from types_in(kind.key)
        yield from types_in(kind.value)
    elif isinstance(kind, Struct):
        for column in kind.columns:
            yield from types_in(column.type)


def walk(schema: Struct) -> Iterator[tuple[tuple[str, ...], Column]]:
    """Every column with its path, parents first. Below arrays and maps the path has `element`, `key`, `value`, as Delta has them."""
    for column in schema.columns:
        yield from _walk(column, (column.name,))


def _walk(column: Column, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Column]]:
    yield path, column
    yield from _below(column.type, path)


def _below(kind: Type, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Column]]:
    if isinstance(kind, Struct):
        for column in kind.columns:
            yield from _walk(column, (*path, column.name))
    elif isinstance(kind, Array):
        yield from _below(kind.element, (*path, "element"))
    elif isinstance(kind, Map):
        yield from _below(kind.key, (*path, "key"))
        yield from _below(kind.value, (*path, "value"))


def dotted(path: tuple[str, ...]) -> str:
    """A column's path as a person writes it; names with dots or blanks in backquotes."""
    return ".".join(part if part.replace("_", "a").isalnum() else "`" + part.replace("`", "``") + "`" for part in path)
