"""A convert as a value, and the checks that need no look at its directory: those of its text, and those against the catalog's entry.

By name Delta uses the catalog's schema and partitions. Sources: ConvertToDeltaCommand and ParquetTable of Delta 4.4
(`convert.useCatalogSchema`, `convert.useCatalogPartitions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.domain.partitions import CODE, TYPE_NAMES, PartitionField, parse_schema
from jobs.domain.results import Inspection, Note

# File types, each with the declared types as which Spark reads it without loss (ParquetVectorUpdaterFactory of Spark 4.2).
READ_AS: Mapping[str, frozenset[str]] = {
    "byte": frozenset({"short", "integer", "long", "double"}),
    "short": frozenset({"integer", "long", "double"}),
    "integer": frozenset({"long", "double"}),
    "float": frozenset({"double"}),
    "date": frozenset({"timestamp_ntz"}),
    "binary": frozenset({"string"}),
    "string": frozenset({"binary"}),
}
# Findings that stop a conversion unless a person accepts what Spark makes of them, by the codes of their refusals.
PARTITION_ENCODING, FOOTER_SCHEMA = "partition_encoding", "footer_schema"
DECISIONS: Mapping[str, str] = {
    PARTITION_ENCODING: "Spark’s reading of percent-encoded partition names",
    FOOTER_SCHEMA: "Spark’s description of the columns where the files have others",
}
_DECIMAL = re.compile(r"decimal\(([0-9]+),([0-9]+)\)")


@dataclass(frozen=True, slots=True)
class Convert:
    """CONVERT TO DELTA of a parquet directory, by path or by catalog name (exactly one of them).

    `partition_schema` is Spark DDL (`"day date, country string"`); None means unpartitioned, or as the catalog's entry declares.
    For a `name` Levee fills in from its catalog: `location`, its directory; `declared_schema` (Spark's JSON struct of all
    columns) and `declared_partitions` (names among them), None where the entry declares nothing. `accept` are codes of DECISIONS.
    """

    kind: ClassVar[str] = "convert"
    schema_version: ClassVar[int] = 1

    path: str | None
    name: str | None
    source_format: str
    partition_schema: str | None
    collect_stats: bool = True
    location: str | None = None
    declared_schema: Mapping[str, Any] | None = None
    declared_partitions: Sequence[str] | None = None
    accept: Sequence[str] = ()


def check_convert(command: Convert) -> tuple[Refusal, ...]:
    """Reasons to refuse the command as written: its target, its format (in Delta's words), its partition schema, and any
    contradiction with the catalog's entry."""
    refusals: list[Refusal] = []
    if (command.path is None) == (command.name is None):
        refusals.append(Refusal("bad_request", "give exactly one of path and name", place="path"))
    if command.source_format.lower() not in ("parquet", "delta"):
        refusals.append(_wrong_format(command))
    if unknown := [code for code in command.accept if code not in DECISIONS]:
        text = f"{unknown[0]} is nothing that a conversion can accept; it can accept {', '.join(DECISIONS)}"
        refusals.append(Refusal("bad_request", text, place="accept"))
    try:
        parse_schema(command.partition_schema)
        refusals += user_schema_refusals(command)
    except CommandRefused as error:
        refusals += error.refusals
    return tuple(refusals)


def _wrong_format(command: Convert) -> Refusal:
    target = command.name or f"`{command.source_format}`.`{command.path}`"
    text = (
        "CONVERT TO DELTA only supports parquet tables, but you are trying to convert a"
        f" {command.source_format} source: {target}"
    )
    return Refusal(
        code="unsupported_source_format",
        message=text,
        place="source_format",
        remedy="You can convert parquet directories only; read other formats with Spark and write them as a new Delta table.",
        engine=EngineFailure("DELTA_CONVERT_NON_PARQUET_TABLE", "0AKDC", text),
    )


def decided(command: Convert, inspection: Inspection) -> Inspection:
    """The inspection for a command: what the command accepts is a note, and stops it no longer."""
    accepted = [refusal for refusal in inspection.refusals if refusal.code in command.accept]
    notes = [Note(refusal.code, f"Accepted: {refusal.message}.") for refusal in accepted]
    others = tuple(refusal for refusal in inspection.refusals if refusal not in accepted)
    return replace(inspection, refusals=others, notes=(*inspection.notes, *notes)) if accepted else inspection


def declared_fields(command: Convert) -> tuple[PartitionField, ...] | None:
    """The partition columns that the catalog declares, with their types; None where it declares nothing.

    Raises CommandRefused (`partition_mismatch`) for a type that Levee can't read from a directory's name.
    """
    if command.declared_schema is None:
        return None
    types = {field["name"]: field["type"] for field in command.declared_schema["fields"]}
    names = command.declared_partitions or ()
    return tuple(PartitionField(name, _ddl(name, types[name])) for name in names)


def partition_fields(command: Convert) -> tuple[PartitionField, ...]:
    """The partition columns that the conversion uses: the catalog's, else those of its PARTITIONED BY."""
    declared = declared_fields(command)
    return parse_schema(command.partition_schema) if declared is None else declared


def data_schema(schema: Mapping[str, Any], partitions: Sequence[PartitionField]) -> dict[str, Any]:
    """A struct without its partition columns."""
    names = {field.name.lower() for field in partitions}
    return {"type": "struct", "fields": [field for field in schema["fields"] if field["name"].lower() not in names]}


def user_schema_refusals(command: Convert) -> tuple[Refusal, ...]:
    """A PARTITIONED BY that disagrees with the catalog, in Delta's words."""
    declared = declared_fields(command)
    given = parse_schema(command.partition_schema)
    if declared is None or command.partition_schema is None or declared == given:
        return ()
    text = (
        "CONVERT TO DELTA was called with a partition schema different from the partition schema inferred from the catalog,"
        " please avoid providing the schema so that the partition schema can be chosen from the catalog.\n\n"
        f"catalog partition schema:\n{_tree(declared)}\nprovided partition schema:\n{_tree(given)}"
    ).rstrip()
    engine = EngineFailure("DELTA_UNEXPECTED_PARTITION_SCHEMA_FROM_USER", "KD009", text)
    remedy = "Leave the partition columns out: the catalog has them. Or register the table again with other ones."
    return (Refusal(CODE, text, place="partition_schema", remedy=remedy, engine=engine),)


def no_partition_refusal(command: Convert, path: str) -> Refusal:
    """The refusal when the catalog declares partition columns, but no directory is a partition."""
    text = (
        f"Found no partition information in the catalog for table {_full(command.name)}. Have you run"
        ' "MSCK REPAIR TABLE" on your table to discover partitions?'
    )
    engine = EngineFailure("DELTA_CONVERSION_NO_PARTITION_FOUND", "42KD6", text)
    remedy = "Register the table again without partition columns, or move its files into directories such as p=1."
    return Refusal(CODE, text, place=path, remedy=remedy, engine=engine)


def _full(name: str | None) -> str:
    """A name as Spark prints it."""
    parts = (name or "").lower().split(".")
    return ".".join((["spark_catalog", "default"][: 3 - len(parts)]) + parts)


def type_conflicts(declared: Mapping[str, Any], files: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(column, declared type, the files' type) where Spark couldn't read the files with the catalog's schema."""
    types = {field["name"].lower(): field["type"] for field in files["fields"]}
    for field in declared["fields"]:
        theirs, ours = types.get(field["name"].lower()), field["type"]
        if theirs is not None and not readable(theirs, ours):
            yield field["name"], type_text(ours), type_text(theirs)


def only_in(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Columns of one struct that another one lacks."""
    names = {field["name"].lower() for field in other["fields"]}
    return [field["name"] for field in one["fields"] if field["name"].lower() not in names]


def readable(theirs: Any, ours: Any) -> bool:
    """Whether Spark reads the files' type as another one without loss; both as in its JSON."""
    if isinstance(theirs, str) and isinstance(ours, str):
        return theirs == ours or ours in READ_AS.get(theirs, ()) or _decimal_fits(theirs, ours)
    if isinstance(theirs, str) or isinstance(ours, str):
        return False
    return bool(theirs["type"] == ours["type"])


def _decimal_fits(theirs: str, ours: str) -> bool:
    """A wider decimal: no fewer digits on either side of the point."""
    small, large = _DECIMAL.fullmatch(theirs), _DECIMAL.fullmatch(ours)
    if small is None or large is None:
        return False
    digits, scale = int(large[1]) - int(small[1]), int(large[2]) - int(small[2])
    return scale >= 0 and digits >= scale


def type_text(kind: Any) -> str:
    """A type of Spark's JSON in a word."""
    return kind if isinstance(kind, str) else str(kind["type"])


def _ddl(name: str, kind: Any) -> str:
    """A type of Spark's JSON as partition columns have it."""
    if isinstance(kind, str) and (kind in TYPE_NAMES or _DECIMAL.fullmatch(kind)):
        return TYPE_NAMES.get(kind, kind)
    text = f"the catalog's partition column {name} has the type {type_text(kind)}, which Levee can't read from a directory's name"
    raise CommandRefused(Refusal(CODE, text, place=name, remedy="Convert the directory by its path."))


_JSON_NAMES = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}


def _tree(fields: Sequence[PartitionField]) -> str:
    """A schema as Spark prints it in messages."""
    lines = [f" |-- {field.name}: {_JSON_NAMES.get(field.type, field.type)} (nullable = true)\n" for field in fields]
    return "root\n" + "".join(lines)
