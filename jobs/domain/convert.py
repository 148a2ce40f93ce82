"""What can be said about a convert without looking at its directory."""

from __future__ import annotations

from jobs.domain.catalog_entry import user_schema_refusals
from jobs.domain.commands import Convert
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.domain.partitions import parse_schema


def check_convert(command: Convert) -> tuple[Refusal, ...]:
    """Reasons to refuse the command as it is written: its target, its format (in Delta's words), its partition schema, and
    what the catalog's entry has against that."""
    refusals: list[Refusal] = []
    if (command.path is None) == (command.name is None):
        refusals.append(Refusal("bad_request", "exactly one of path and name is needed", place="path"))
    if command.source_format.lower() not in ("parquet", "delta"):
        refusals.append(_wrong_format(command))
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
        remedy="Convert parquet directories; read others with Spark and write them as a new Delta table.",
        engine=EngineFailure("DELTA_CONVERT_NON_PARQUET_TABLE", "0AKDC", text),
    )
