"""Applies a catalog's entry to an inspection: Delta uses the entry's schema and partitions instead of the files' own."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from jobs.commands.convert.rules import (
    Convert,
    data_schema,
    no_partition_refusal,
    only_in,
    partition_fields,
    type_conflicts,
)
from jobs.domain.errors import Refusal
from jobs.domain.results import Inspection, Note
from jobs.engine import catalog

# By path, Delta would refuse flat files with these; by name, it reports first that it found no partition.
BY_PATH = ("DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME", "DELTA_EMPTY_DIRECTORY")


def filled(session: SparkSession, command: Convert) -> Convert:
    """The command with the declarations of an external catalog; those of the embedded one are already in it."""
    declared = None if command.name is None else catalog.declared(session, command.name)
    return (
        command if declared is None else replace(command, declared_schema=declared[0], declared_partitions=declared[1])
    )


def by_catalog(command: Convert, inspection: Inspection) -> Inspection:
    """The inspection with what the named catalog entry adds: refusals, notes, and the schema that the table will have."""
    if command.name is None:
        return inspection
    refusals = list(inspection.refusals)
    if partition_fields(command) and not inspection.layout:
        others = [refusal for refusal in refusals if not (refusal.engine and refusal.engine.condition in BY_PATH)]
        refusals = [no_partition_refusal(command, inspection.path), *others]
    checked = replace(inspection, refusals=tuple(refusals))
    return _declared(command, checked) if command.declared_schema is not None else checked


def _declared(command: Convert, inspection: Inspection) -> Inspection:
    """Replaces the files' schema with the entry's, and refuses files that Spark couldn't read with it."""
    declared = data_schema(command.declared_schema or {}, partition_fields(command))
    files = inspection.schema
    if files is None:
        return inspection
    refusals = [_conflict(inspection.path, *names) for names in type_conflicts(declared, files)]
    notes = [
        *inspection.notes,
        Note("declared_schema", "Delta uses the schema that the catalog declares, not the files’ own."),
    ]
    if missing := only_in(declared, files):
        notes.append(Note("missing_columns", f"No file has {', '.join(missing)}; Spark reads the values as NULL."))
    if hidden := only_in(files, declared):
        notes.append(
            Note("undeclared_columns", f"The table won’t have {', '.join(hidden)}: the catalog doesn’t declare it.")
        )
    return replace(inspection, schema=declared, refusals=(*inspection.refusals, *refusals), notes=tuple(notes))


def _conflict(path: str, column: str, declared: str, actual: str) -> Refusal:
    return Refusal(
        "schema_conflict",
        f"the catalog declares {column} as {declared}, but the files hold {actual}, which Spark can't read as that type",
        place=column,
        remedy=f"Register {path} again with the files' types, or rewrite the files.",
    )
