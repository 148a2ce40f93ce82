"""Names that tables have in Levee's own catalog, and what such an entry declares: pure rules, after Spark's.

An entry becomes a table of Spark's in-memory catalog where a command needs it. Everything that can reach a statement there is
taken apart here and put together again from closed lists: names of letters, digits and underscores, types that Spark knows,
of a column's metadata nothing but its comment (a default's expression, for instance, would be printed as SQL).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAX_PART = 128  # what a Hive metastore keeps of a name
MAX_COLUMNS, MAX_DEPTH, MAX_COLUMN_NAME, MAX_COMMENT = 5_000, 30, 255, 4_000
DEFAULT_DATABASE = "default"
# Spark reads a name in these as a file's path, or keeps the database to itself.
RESERVED_DATABASES = frozenset(
    ["avro", "binaryfile", "csv", "delta", "global_temp", "iceberg", "json", "orc", "parquet", "text", "xml"]
)
_PART = re.compile(r"[A-Za-z0-9_]+")
_PLAIN_TYPES = frozenset(
    [
        "binary",
        "boolean",
        "byte",
        "date",
        "double",
        "float",
        "integer",
        "long",
        "short",
        "string",
        "timestamp",
        "timestamp_ntz",
    ]
)
_NO_PARTITION = frozenset({"binary", "timestamp_ntz"})
_UNKEEPABLE = re.compile(r"[\x00\ud800-\udfff]")  # no text of a database
_DECIMAL = re.compile(r"decimal\(([0-9]{1,2}), ?([0-9]{1,2})\)")
_NOT_IN_COLUMNS = frozenset(" ,;{}()\n\t=")  # Delta refuses them without column mapping


class InvalidName(ValueError):
    """A text that can't be a table's name; the message says why."""


class InvalidEntry(ValueError):
    """A declaration that can't be taken. `field` is the part of it (`schema`, `partition_columns`), the message says why.

    `code` is the API's; `condition` and `sqlstate` are Spark's where it has a condition for it.
    """

    def __init__(
        self, field: str, text: str, code: str = "invalid", condition: str | None = None, sqlstate: str | None = None
    ) -> None:
        super().__init__(text)
        self.field, self.code, self.condition, self.sqlstate = field, code, condition, sqlstate


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """What a parquet entry declares: Spark's JSON struct of all columns (None: nothing declared), the partition columns
    among them."""

    schema: Mapping[str, Any] | None
    partition_columns: tuple[str, ...]

    def as_json(self) -> dict[str, Any] | None:
        """The form in which it is kept; None when nothing is declared."""
        if self.schema is None:
            return None
        return {"schema": self.schema, "partition_columns": list(self.partition_columns)}


def canonical_name(text: str) -> str:
    """`database.table` in lower case, as Spark's catalog keeps it; a single part lies in `default`. Raises InvalidName.

    `spark_catalog.` before it is the one catalog that these names are in.
    """
    parts = text.split(".")
    if len(parts) == 3 and parts[0].lower() == "spark_catalog":
        parts = parts[1:]
    if len(parts) > 2 or not all(_PART.fullmatch(part) for part in parts):
        raise InvalidName(f"{text!r} isn’t a valid name: use database.table, with letters, digits and underscores.")
    if any(len(part) > MAX_PART for part in parts):
        raise InvalidName(f"A database’s or table’s name has at most {MAX_PART} characters.")
    database, table = (DEFAULT_DATABASE, *parts)[-2:]
    if database.lower() in RESERVED_DATABASES:
        raise InvalidName(f"{database} can’t be a database: Spark reserves that name.")
    return f"{database}.{table}".lower()


def declared(schema: Any, partition_columns: Sequence[str] | None) -> CatalogEntry:
    """The entry of a parquet table, checked and put together again. Raises InvalidEntry."""
    names = tuple(partition_columns or ())
    if schema is None:
        if names:
            text = "A CREATE TABLE without explicit column list cannot specify PARTITIONED BY."
            condition = "SPECIFY_PARTITION_IS_NOT_ALLOWED"
            raise InvalidEntry(
                "schema", f"{text} Give the schema too: it has their types.", "invalid", condition, "42601"
            )
        return CatalogEntry(None, ())
    struct = _struct(schema, "schema", 0)
    _check_names(struct)
    return CatalogEntry(struct, _partitions(struct, names))


def _struct(value: Any, place: str, depth: int) -> dict[str, Any]:
    if not isinstance(value, Mapping) or value.get("type") != "struct" or not isinstance(value.get("fields"), list):
        raise InvalidEntry("schema", f"{place} isn't a struct in Spark's JSON, such as {EXAMPLE}")
    if depth > MAX_DEPTH or not 0 < len(value["fields"]) <= MAX_COLUMNS:
        raise InvalidEntry("schema", f"{place} has no column, more than {MAX_COLUMNS:,}, or is nested too deeply.")
    fields = [_column(field, place, depth) for field in value["fields"]]
    return {"type": "struct", "fields": fields}


EXAMPLE = '{"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": true, "metadata": {}}]}'


def _column(value: Any, place: str, depth: int) -> dict[str, Any]:
    name = value.get("name") if isinstance(value, Mapping) else None
    if not isinstance(name, str) or not 0 < len(name) <= MAX_COLUMN_NAME or _UNKEEPABLE.search(name):
        raise InvalidEntry("schema", f"A column of {place} has no name, or one of over {MAX_COLUMN_NAME} characters.")
    if _NOT_IN_COLUMNS & set(name):
        text = f"Delta refuses column names that hold a space or one of ,;{{}}()=: {name!r}"
        raise InvalidEntry("schema", text, "bad_column_name", "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", "42K05")
    metadata = value.get("metadata")
    comment = metadata.get("comment") if isinstance(metadata, Mapping) else None
    retained = {"comment": _UNKEEPABLE.sub("", comment)[:MAX_COMMENT]} if isinstance(comment, str) else {}
    return {"name": name, "type": _type(value.get("type"), name, depth), "nullable": True, "metadata": retained}


def _type(value: Any, place: str, depth: int) -> Any:
    if isinstance(value, str):
        return _plain(value, place)
    kind = value.get("type") if isinstance(value, Mapping) else None
    if depth < MAX_DEPTH:
        if kind == "struct":
            return _struct(value, place, depth + 1)
        if kind == "array":
            element = _type(value.get("elementType"), place, depth + 1)
            return {"type": "array", "elementType": element, "containsNull": True}
        if kind == "map":
            key, held = (_type(value.get(part), place, depth + 1) for part in ("keyType", "valueType"))
            return {"type": "map", "keyType": key, "valueType": held, "valueContainsNull": True}
    raise InvalidEntry("schema", f"The type of {place} isn't one that Spark's JSON has, or is nested too deeply.")


def _plain(text: str, place: str) -> str:
    match = _DECIMAL.fullmatch(text)
    if match and 1 <= int(match[1]) <= 38 and int(match[2]) <= int(match[1]):
        return f"decimal({int(match[1])},{int(match[2])})"
    if text not in _PLAIN_TYPES:
        known = f"{', '.join(sorted(_PLAIN_TYPES))}, decimal(p,s)"
        raise InvalidEntry("schema", f"The type of {place}, {text[:100]!r}, is none of {known}.")
    return text


def _check_names(struct: Mapping[str, Any]) -> None:
    """No name twice, in whatever case, in any struct."""
    seen: set[str] = set()
    for field in struct["fields"]:
        if field["name"].lower() in seen:
            text = f"The column {field['name']} already exists."
            raise InvalidEntry("schema", text, condition="COLUMN_ALREADY_EXISTS", sqlstate="42711")
        seen.add(field["name"].lower())
        for inner in _structs(field["type"]):
            _check_names(inner)


def _structs(value: Any) -> list[Mapping[str, Any]]:
    """The structs that a type holds, not those inside them."""
    if not isinstance(value, Mapping):
        return []
    if value["type"] == "struct":
        return [value]
    parts = ("elementType", "keyType", "valueType")
    return [struct for part in parts if part in value for struct in _structs(value[part])]


def _partitions(struct: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns' own spelling of the partition columns. Raises InvalidEntry."""
    columns = {field["name"].lower(): field for field in struct["fields"]}
    partitions = []
    for name in names:
        field = columns.get(name.lower())
        if field is None or field["name"] in partitions:
            why = "is named twice" if field else "is not a column of the schema"
            raise InvalidEntry("partition_columns", f"{name[:MAX_COLUMN_NAME]} {why}.")
        if not isinstance(field["type"], str) or field["type"] in _NO_PARTITION:
            raise InvalidEntry("partition_columns", f"{name} has a type that a directory name can't hold.")
        partitions.append(field["name"])
    if len(partitions) == len(columns):
        text = "Cannot use all columns for partition columns."
        raise InvalidEntry("partition_columns", text, condition="ALL_PARTITION_COLUMNS_NOT_ALLOWED", sqlstate="KD005")
    return tuple(partitions)
