"""What in the schema of a table that Spark opens keeps Delta 4.4 from reading its rows, writing them again, or changing its metadata.

Each was tried on Spark 4.2 with Delta 4.4. Sources: `SchemaMergingUtils.checkColumnNameDuplication`, which compares names in small
letters; `SchemaUtils.findUnsupportedDataTypes`, which every commit of metadata asks; `DeltaParquetFileFormat` and Spark's parquet
source, which know fewer types than schemas do.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tables.deltalog.rules.schema import Array, Primitive, Struct, Type, dotted, types_in

LIMIT_REMEDY = "Restore a version without it, or change the schema with an engine that supports it."


class Use(StrEnum):
    """What is done with a table. `READ` is of all columns, `APPEND` of rows that leave the column out, `REWRITE` puts rows of its files
    into new ones, `METADATA` commits its schema and properties anew."""

    READ = "read"
    APPEND = "append"
    REWRITE = "rewrite"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class SchemaLimit:
    """`text` says what the schema has, as the end of a sentence; `conditions` are Delta's or Spark's condition and SQLSTATE, by what
    fails with it."""

    text: str
    conditions: Mapping[Use, tuple[str, str]]
    remedy: str = LIMIT_REMEDY


_EXISTING = ("DELTA_DUPLICATE_COLUMNS_FOUND.EXISTING_SCHEMA", "42711")
_UPDATED = ("DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE", "42711")
_AMBIGUOUS = ("AMBIGUOUS_REFERENCE", "42704")
_AMBIGUOUS_FIELD = ("AMBIGUOUS_REFERENCE_TO_FIELDS", "42000")
_UNCOMMITTED = ("DELTA_UNSUPPORTED_DATA_TYPES", "0AKDC")
_TIME = ("UNSUPPORTED_TIME_TYPE", "0A000")
_INTERVAL = ("UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE", "0A000")
_GEO = ("DELTA_GEOSPATIAL_NOT_SUPPORTED", "0AKDC")
_VOID = ("DELTA_COMPLEX_TYPE_COLUMN_CONTAINS_NULL_TYPE", "22005")
_ALL_VOID = ("DELTA_CANNOT_WRITE_EMPTY_SCHEMA.STRUCT_ALL_VOID_FIELDS", "428GU")
_NO_FIELDS = ("DELTA_CANNOT_WRITE_EMPTY_SCHEMA.STRUCT_NO_FIELDS", "428GU")
_NEW_METADATA = {Use.METADATA: _UNCOMMITTED}
# By the beginning of the type's name; the first that fits.
_TYPES: tuple[tuple[re.Pattern[str], Mapping[Use, tuple[str, str]]], ...] = (
    (re.compile(r"time\("), {Use.READ: _TIME, Use.REWRITE: _TIME, **_NEW_METADATA}),
    (re.compile(r"interval$"), {Use.READ: _INTERVAL, Use.REWRITE: _INTERVAL, **_NEW_METADATA}),
    (re.compile(r"interval "), _NEW_METADATA),
    (re.compile(r"string collate (?!UTF8_BINARY$)"), _NEW_METADATA),
    (re.compile(r"geometry\(|geography\("), dict.fromkeys(Use, _GEO)),
)
_COLLATIONS = "__COLLATIONS"  # a field's metadata, by which Spark reads a string of another collation
_VOIDS = frozenset({"void", "null"})
# deltalake once wrote the type with a protocol that lists no features. Delta switches this one on in new tables alone.
_NTZ_FEATURE = "timestampNtz"
_NO_NTZ = SchemaLimit(
    f"a column of type timestamp_ntz without the table feature {_NTZ_FEATURE}",
    {Use.METADATA: ("DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT", "42000")},
    f"Set the property delta.feature.{_NTZ_FEATURE} to supported first.",
)


def schema_limits(schema: Struct, features: Collection[str] | None = None) -> Iterator[SchemaLimit]:
    """All of them, in the order of the columns; without the features in force, none for a feature that lacks."""
    yield from _in_struct(schema, (), in_struct=True)
    if features is not None and _NTZ_FEATURE not in features and any(_is_ntz(kind) for kind in types_in(schema)):
        yield _NO_NTZ


def first_limit(schema: Struct, use: Use, features: Collection[str] | None = None) -> SchemaLimit | None:
    """The first by which this use of the table fails; None for none."""
    return next((limit for limit in schema_limits(schema, features) if use in limit.conditions), None)


def _is_ntz(kind: Type) -> bool:
    return isinstance(kind, Primitive) and kind.name == "timestamp_ntz"


def _in_struct(schema: Struct, path: tuple[str, ...], *, in_struct: bool) -> Iterator[SchemaLimit]:
    """`in_struct`: no array or map lies between the struct and the table's rows."""
    yield from _duplicates(schema, path, in_struct=in_struct)
    for column in schema.columns:
        below = (*path, column.name)
        if column.metadata.get(_COLLATIONS):
            yield SchemaLimit(f"a collation of column {dotted(below)}", _NEW_METADATA)
        yield from _in_type(column.type, below, in_struct=in_struct)


def _duplicates(schema: Struct, path: tuple[str, ...], *, in_struct: bool) -> Iterator[SchemaLimit]:
    seen: dict[str, str] = {}
    for column in schema.columns:
        lower = column.name.lower()
        first = seen.get(lower)
        seen.setdefault(lower, column.name)
        if first is not None:
            yield SchemaLimit(_twice(dotted((*path, first)), dotted((*path, column.name))), _of_names(path, in_struct))


def _twice(first: str, second: str) -> str:
    if first == second:
        return f"two columns {first}"
    return f"the columns {first} and {second}, whose names are the same to Delta"


def _of_names(path: tuple[str, ...], in_struct: bool) -> Mapping[Use, tuple[str, str]]:
    """A rewrite fails where Spark looks fields up by their names; elements of arrays and maps are passed on whole."""
    always = {Use.READ: _EXISTING, Use.METADATA: _UPDATED}
    return always | ({Use.REWRITE: _AMBIGUOUS_FIELD if path else _AMBIGUOUS} if in_struct else {})


def _in_type(kind: Type, path: tuple[str, ...], *, in_struct: bool) -> Iterator[SchemaLimit]:
    if isinstance(kind, Primitive):
        conditions = next((found for pattern, found in _TYPES if pattern.match(kind.name)), None)
        if conditions is not None:
            yield SchemaLimit(f"column {dotted(path)} of type {kind.name[:100]}", conditions)
    elif isinstance(kind, Struct):
        yield from _empty(kind, path)
        yield from _in_struct(kind, path, in_struct=in_struct)
    else:
        parts = (("element", kind.element),) if isinstance(kind, Array) else (("key", kind.key), ("value", kind.value))
        for name, part in parts:
            if isinstance(part, Primitive) and part.name in _VOIDS:
                what = "an array" if isinstance(kind, Array) else "a map"
                yield SchemaLimit(f"column {dotted(path)}, {what} of type void", {Use.REWRITE: _VOID})
            yield from _in_type(part, (*path, name), in_struct=False)


def _empty(kind: Struct, path: tuple[str, ...]) -> Iterator[SchemaLimit]:
    """Parquet has no group without fields, and Delta writes no column of type void."""
    if not kind.columns:
        yield SchemaLimit(f"column {dotted(path)}, a struct without fields", {Use.REWRITE: _NO_FIELDS})
    elif all(isinstance(each.type, Primitive) and each.type.name in _VOIDS for each in kind.columns):
        yield SchemaLimit(f"column {dotted(path)}, a struct of fields of type void", {Use.REWRITE: _ALL_VOID})
