"""Schemas of the OpenAPI document as people read them: rows of fields, types in words, and a sample of each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.base.rest import Body

Schema = Mapping[str, Any]
Schemas = Mapping[str, Schema]
REF = "#/components/schemas/"
# What drf-spectacular adds to a text: the values of a choice, each with itself as its label.
CHOICES = re.compile(r"(\n\n)?(\* `[^`]*` - .*(\n|$))+")
FORMATS = {"uuid": "id", "date-time": "time", "uri": "address", "date": "day"}
TYPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false", "null": "null"}
DEEPEST = 4  # levels of a sample
# Samples of objects in which one field rules out another, and optional fields without which one would say nothing.
WHOLE: dict[str, Any] = {
    "SourceBody": {"path": "/lake/landing/orders", "format": "json", "schema": "id bigint, day date"},
    "TargetBody": {"path": "/lake/orders"},
    "RowsBody": {"predicate": "country = 'FR'", "limit": 100},
    "NewTable": {"path": "/lake/orders"},
}
WANTED = {"ConvertBody": {"path", "partition_schema"}, "SetPropertiesBody": {"set"}}
# Values that a reader recognizes; anything else is told by its type.
SAMPLES: dict[str, Any] = {
    "path": "/lake/orders",
    "target": "/lake/copy",  # of a clone
    "uri": "/lake",
    "predicate": "country = 'FR'",
    "filter": "country = 'FR'",
    "reason": "ticket 4711",
    "comment": "looks right",
    "partition_schema": "day date, country string",
    "source_format": "parquet",
    "name": "orders",
    "label": "airflow on node 3",
    "person": "ines",
    "on": "root:sample",
    "cron": "0 3 * * *",
    "time_zone": "Europe/Berlin",
    "format": "parquet",
    "output_mode": "append",
    "feature": "deletionVectors",
    "set": {"delta.enableDeletionVectors": "true"},
    "changes": [{"add": {"path": "note", "type": "string"}}],
    "zorder_by": ["customer"],
    "columns": ["id"],
    "schema": "id bigint, day date",
    "digest": "the job’s digest",
    "trigger": "available_now",
}


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One field. `objects` are the schemas that its type names, which have tables of their own."""

    name: str
    type: str
    required: bool
    text: str
    objects: tuple[str, ...] = ()

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The type as texts, each with the anchor that it leads to, or none."""
        return linked(self.type, self.objects)


@dataclass(frozen=True, slots=True)
class Object:
    """A schema with its fields, under the name that others refer to."""

    name: str
    text: str
    fields: Sequence[SchemaField]

    @property
    def anchor(self) -> str:
        return anchor_of(self.name)


def anchor_of(name: str) -> str:
    """The id of a schema's table on its page."""
    return f"object-{name.lower()}"


def linked(text: str, objects: Sequence[str]) -> list[tuple[str, str]]:
    """A type in words, cut where it names an object; each part with its anchor, or an empty one."""
    names = "|".join(map(re.escape, objects))
    parts = re.split(rf"\b({names})\b", text) if names else [text]
    return [(part, anchor_of(part) if part in objects else "") for part in parts if part]


def described(schema: Schema) -> str:
    """The schema's own text, without the choices that stand beside it and without what every body says."""
    text = CHOICES.sub("", str(schema.get("description", ""))).strip()
    return "" if text == " ".join((Body.__doc__ or "").split()) else text


def resolved(schema: Schema, schemas: Schemas) -> Schema:
    """The schema itself, or the one that it refers to, with the texts of both."""
    alone: Sequence[Schema] = schema.get("allOf", [])
    if len(alone) == 1:
        schema = {**alone[0], **{key: value for key, value in schema.items() if key != "allOf"}}
    if "$ref" not in schema:
        return schema
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    return {**resolved(schemas[name_of(schema)], schemas), **beside}


def name_of(schema: Schema) -> str:
    """The name that a reference leads to; empty for none."""
    return str(schema.get("$ref", "")).removeprefix(REF)


def choices_of(schema: Schema, schemas: Schemas) -> list[str]:
    """The values that it takes, if they are listed."""
    told = resolved(schema, schemas)
    nested = [value for each in told.get("oneOf", ()) for value in choices_of(each, schemas)]
    return [str(value) for value in told.get("enum", ()) if value is not None] or nested


def type_of(schema: Schema, schemas: Schemas) -> tuple[str, tuple[str, ...]]:
    """The type in words, and the objects that they name."""
    name = name_of(schema)
    told = resolved(schema, schemas)
    if "enum" in told:
        return "choice", ()
    if name and "properties" in told:
        return name, (name,)
    options = [*told.get("oneOf", ()), *told.get("anyOf", ())]
    if options:
        return _several([type_of(option, schemas) for option in options])
    kinds = told.get("type", [])
    return _several([_of_kind(kind, told, schemas) for kind in (kinds if isinstance(kinds, list) else [kinds])])


def _several(parts: Sequence[tuple[str, tuple[str, ...]]]) -> tuple[str, tuple[str, ...]]:
    words = dict.fromkeys(text for text, _ in parts)
    return " or ".join(words) or "any value", tuple(name for _, names in parts for name in names)


def _of_kind(kind: str, told: Schema, schemas: Schemas) -> tuple[str, tuple[str, ...]]:
    if kind == "array":
        text, names = type_of(told.get("items", {}), schemas)
        return f"list of {text}", names
    if kind == "object":
        inner = told.get("additionalProperties")
        text, names = type_of(inner, schemas) if isinstance(inner, Mapping) and inner else ("", ())
        return (f"object of {text}" if text else "object"), names
    if kind == "string":
        return FORMATS.get(str(told.get("format")), "text"), ()
    return TYPES[kind], ()


def fields_of(schema: Schema, schemas: Schemas, prefix: str = "") -> Iterator[SchemaField]:
    """Its fields, required ones first; those of an object without a name stand under its own, with a dot between."""
    told = resolved(schema, schemas)
    required = set(told.get("required", ()))
    properties: Mapping[str, Schema] = told.get("properties", {})
    for name in sorted(properties, key=lambda each: each not in required):
        given = properties[name]
        yield field(f"{prefix}{name}", given, schemas, name in required)
        if not name_of(given):
            yield from fields_of(_inner(given), schemas, f"{prefix}{name}.")


def _inner(schema: Schema) -> Schema:
    """The object that a field holds, itself or in a list."""
    return _inner(schema["items"]) if "items" in schema else {} if name_of(schema) else schema


def field(name: str, schema: Schema, schemas: Schemas, required: bool, text: str = "") -> SchemaField:
    """One field or parameter with all that its schema says of it."""
    kind, objects = type_of(schema, schemas)
    told = resolved(schema, schemas)
    parts = [
        CHOICES.sub("", text).strip() or described(told if "enum" in told else schema),
        _choices(schema, schemas),
        _bounds(told),
    ]
    sentences = [part if part.endswith((".", "?")) else f"{part}." for part in parts if part]
    return SchemaField(name, kind, required, " ".join(sentences), objects)


def _choices(schema: Schema, schemas: Schemas) -> str:
    return ", ".join(f"`{value}`" for value in choices_of(schema.get("items", schema), schemas))


def _bounds(told: Schema) -> str:
    low, high = told.get("minimum"), told.get("maximum")
    is_bounded = low is not None and high is not None and high < 2**31
    parts = [
        f"{low:,} to {high:,}." if is_bounded else "",
        f"Default: `{json.dumps(told['default'])}`." if told.get("default") not in (None, "") else "",
        f"Up to {told['maxLength']:,} characters." if "maxLength" in told else "",
    ]
    return " ".join(filter(None, parts))


def objects_in(schema: Schema, schemas: Schemas, known: dict[str, Object] | None = None) -> dict[str, Object]:
    """Every object that the schema refers to, itself first, each once."""
    found = {} if known is None else known
    name, told = name_of(schema), resolved(schema, schemas)
    if name in found:
        return found
    if name and "properties" in told and not is_page(told):
        found[name] = Object(name, described(told), list(fields_of(told, schemas)))
    for inner in _parts(told):
        objects_in(inner, schemas, found)
    return found


def is_page(told: Schema) -> bool:
    """Whether it is a page of a list, which is the same for all lists."""
    return {"results", "next", "previous"} <= set(told.get("properties", ()))


def _parts(told: Schema) -> Iterator[Schema]:
    yield from told.get("oneOf", ())
    yield from told.get("anyOf", ())
    yield from told.get("properties", {}).values()
    yield from (told[key] for key in ("items", "additionalProperties") if isinstance(told.get(key), Mapping))


def sample_of(schema: Schema, schemas: Schemas, name: str = "", depth: int = 0) -> Any:
    """A value of the schema: of an object the required fields, or all where none is."""
    told, kind = resolved(schema, schemas), name_of(schema)
    if kind in WHOLE:
        return WHOLE[kind]
    if name in SAMPLES:
        return SAMPLES[name]
    if choices := choices_of(schema, schemas):
        return choices[0]
    options = told.get("oneOf") or told.get("anyOf")
    if options:
        return sample_of(options[0], schemas, name, depth)
    if "properties" in told and depth < DEEPEST:
        wanted = {*(told.get("required") or told["properties"]), *WANTED.get(kind, ())}
        return {
            each: sample_of(inner, schemas, each, depth + 1)
            for each, inner in told["properties"].items()
            if each in wanted
        }
    return _plain_sample(told, schemas, name, depth)


def _plain_sample(told: Schema, schemas: Schemas, name: str, depth: int) -> Any:
    kinds = told.get("type", "object")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    if kind == "array":
        return [sample_of(told.get("items", {}), schemas, name, depth + 1)] if depth < DEEPEST else []
    if kind in ("integer", "number"):
        return told.get("default", max(told.get("minimum", 0), 1))
    if kind == "string":
        return placeholder(name) if told.get("format") == "uuid" else told.get("default", "…")
    return {"boolean": True, "null": None}.get(kind, {})


def placeholder(name: str) -> str:
    """What stands for an id that only you know: `TABLE_ID`."""
    return name.upper() if name.endswith("_id") else f"{name.upper()}_ID"
