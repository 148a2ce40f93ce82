"""Refuses what belongs to a table in another format: which of its files count is in its own metadata, which CONVERT doesn't read."""

from __future__ import annotations

from collections.abc import Mapping

from jobs.domain.errors import Refusal
from jobs.engine.walk import WalkFindings
from tables.rules.table_formats import TableFormat

# Delta's own conversion of Iceberg is in delta-iceberg, which isn't built for Spark 4.2 (CrossSparkVersions.scala of Delta 4.4).
WHY: Mapping[TableFormat, str] = {
    TableFormat.HUDI: "its timeline alone says which files count: a conversion would double rows and bring older versions of them back",
    TableFormat.ICEBERG: "its metadata alone says which files count: a conversion would bring deleted and replaced rows back",
}
REMEDY: Mapping[TableFormat, str] = {
    TableFormat.HUDI: "Read the table with Hudi's own reader and write its rows to a new Delta table.",
    TableFormat.ICEBERG: (
        "Read the table with Iceberg's own reader and write its rows to a new Delta table; CONVERT TO DELTA iceberg isn't"
        " available for this version of Spark."
    ),
}


def format_refusal(path: str, table: str, table_format: TableFormat) -> Refusal:
    """The refusal of a directory that is, or lies in, a table in another format."""
    where = "the directory is" if path == table else f"the directory is inside {table},"
    return Refusal(
        table_format.code,
        f"{where} a table of {table_format.label}; {WHY[table_format]}",
        place=table,
        remedy=REMEDY[table_format],
    )


def nested_format_refusals(findings: WalkFindings) -> list[Refusal]:
    """Refusals for tables in other formats below the directory."""
    return [
        Refusal(
            table_format.code,
            f"{first[0]} belongs to a table of {table_format.label}{_more(findings.total(table_format.code))}; {WHY[table_format]}",
            place=first[0],
            remedy=f"Move that table elsewhere. {REMEDY[table_format]}",
        )
        for table_format in TableFormat
        if (first := findings.first(table_format.code))
    ]


def _more(count: int) -> str:
    return f" (and {count - 1:,} more)" if count > 1 else ""
