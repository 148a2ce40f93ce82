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
    TableFormat.HIVE_ACID: "its transactions alone say which files count: a conversion would bring those of aborted and replaced ones back",
    TableFormat.DUCKLAKE: "its catalog alone says which files count: a conversion would bring deleted and replaced rows back",
    TableFormat.PAIMON: "its snapshots alone say which files count: a conversion would bring deleted and replaced rows back",
}
REMEDY: Mapping[TableFormat, str] = {
    TableFormat.HUDI: "Read the table with Hudi's own reader and write its rows to a new Delta table.",
    TableFormat.ICEBERG: (
        "Read the table with Iceberg's own reader and write its rows to a new Delta table; CONVERT TO DELTA iceberg isn't"
        " available for this version of Spark."
    ),
    TableFormat.HIVE_ACID: "Read the table with Hive and write its rows to a new Delta table.",
    TableFormat.DUCKLAKE: "Read the table with DuckDB and write its rows to a new Delta table.",
    TableFormat.PAIMON: "Read the table with Paimon's own reader and write its rows to a new Delta table.",
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
    """Refusals for tables in other formats below the directory, and for one that the names in it show to be such a table."""
    return [
        _nested(each, first[0], findings.total(each.code))
        for each in TableFormat
        if (first := findings.first(each.code))
    ]


def _nested(table_format: TableFormat, place: str, total: int) -> Refusal:
    own = place == "."
    what = "the directory" if own else place
    return Refusal(
        table_format.code,
        f"{what} belongs to a table of {table_format.label}{'' if own else _more(total)}; {WHY[table_format]}",
        place=place,
        remedy=REMEDY[table_format] if own else f"Move that table elsewhere. {REMEDY[table_format]}",
    )


def _more(count: int) -> str:
    return f" (and {count - 1:,} more)" if count > 1 else ""
