"""An inspection seen by a catalog's entry: Delta goes by the entry's schema and partitions, and never asks the files."""

from __future__ import annotations

from dataclasses import replace

from jobs.domain.catalog_entry import data_schema, no_partition_refusal, only_in, partition_fields, type_conflicts
from jobs.domain.commands import Convert
from jobs.domain.errors import Refusal
from jobs.domain.results import Inspection, Note

# What flat files would be refused for by path: by name Delta finds no partition first.
BY_PATH = ("DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME", "DELTA_EMPTY_DIRECTORY")


def by_catalog(command: Convert, inspection: Inspection) -> Inspection:
    """The inspection with what the entry of the command's name adds: refusals, notes, and the schema that the table will have."""
    if command.name is None:
        return inspection
    refusals = list(inspection.refusals)
    if partition_fields(command) and not inspection.layout:
        others = [refusal for refusal in refusals if not (refusal.engine and refusal.engine.condition in BY_PATH)]
        refusals = [no_partition_refusal(command, inspection.path), *others]
    found = replace(inspection, refusals=tuple(refusals))
    return _declared(command, found) if command.declared_schema is not None else found


def _declared(command: Convert, inspection: Inspection) -> Inspection:
    """The entry's schema stands in for that of the files, where these can be read by it."""
    declared = data_schema(command.declared_schema or {}, partition_fields(command))
    files = inspection.schema
    if files is None:
        return inspection
    refusals = [_conflict(inspection.path, *names) for names in type_conflicts(declared, files)]
    notes = [*inspection.notes, Note("declared_schema", "The catalog declares the schema; Delta goes by it.")]
    if missing := only_in(declared, files):
        notes.append(Note("missing_columns", f"No file has {', '.join(missing)}; the values are read as NULL."))
    if hidden := only_in(files, declared):
        notes.append(
            Note("undeclared_columns", f"The table will not have {', '.join(hidden)}: the catalog has no such column.")
        )
    return replace(inspection, schema=declared, refusals=(*inspection.refusals, *refusals), notes=tuple(notes))


def _conflict(path: str, column: str, declared: str, found: str) -> Refusal:
    return Refusal(
        "schema_conflict",
        f"the catalog declares {column} as {declared}, and the files hold {found}: Spark could not read them",
        place=column,
        remedy=f"Name {path} again with the files' types, or rewrite the files.",
    )
