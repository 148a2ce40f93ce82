"""The figures of the pages of layout and partitions: counts, sizes, shares."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict

from console.base.pagination import pager
from tables.history import partitions as listing
from tables.rules.health import SMALL_FILE_BYTES
from tables.rules.shares import percent
from tables.web.charts.layout import class_text, histogram, row_skew, skew


def layout(summary: dict[str, Any]) -> dict[str, Any]:
    """A layout's drawings and rows."""
    files, total = summary["num_files"], summary["size_bytes"]
    partitions = summary["partitions"]
    return {
        "found": summary,
        "histogram": histogram(summary["histogram"], SMALL_FILE_BYTES),
        "classes": [_class(row, files, total) for row in summary["histogram"]],
        "small_share": _percent(summary["small_files"], files),
        "small_bytes_share": _percent(summary["small_bytes"], total),
        "statistics_share": _percent(summary["with_statistics"], files),
        "skew": skew(partitions["curve"], partitions["count"], partitions["median_bytes"]) if partitions else None,
        "rows_skew": row_skew(partitions["rows_curve"], partitions["count"], partitions["median_rows"])
        if partitions and partitions.get("rows_curve")
        else None,
        "largest": [_with_pairs(row) for row in partitions["largest"]] if partitions else [],
        "most_rows": [_with_pairs(row) for row in partitions.get("most_rows") or ()] if partitions else [],
        "ratio": _ratio(partitions),
        "columns": _columns(partitions, total) if partitions else [],
    }


def partitions(partition_page: listing.PartitionPage, order: str, asked: QueryDict) -> dict[str, Any]:
    """A page of partitions: each with its share of the largest, and the pages before and after."""
    column = listing.ORDERS[order]
    rows = [
        {**_with_pairs(row), "width": round(100 * (row[column] or 0) / partition_page.top) if partition_page.top else 0}
        for row in partition_page.rows
    ]
    last = partition_page.start + len(partition_page.rows)
    text = f"{partition_page.start + 1:,} – {last:,} of {partition_page.found:,}" if partition_page.rows else ""
    orders = [{"value": name, "text": text, "checked": name == order} for name, text in _PARTITION_ORDERS.items()]
    page = pager(asked, partition_page, "Next", text, previous_text="Previous")
    return {"found": partition_page, "rows": rows, "page": page, "orders": orders}


def _with_pairs(row: dict[str, Any]) -> dict[str, Any]:
    """With `pairs` of columns and values: a template that asks for `values.items` would get the value of a column called items."""
    return {**row, "pairs": list(row["values"].items())}


_PARTITION_ORDERS = {"size": "largest first", "rows": "most rows first", "files": "most files first"}


def _class(row: dict[str, Any], files: int, total: int | None) -> dict[str, Any]:
    text = class_text(row)
    return {"text": text, **row, "of_files": _percent(row["files"], files), "of_bytes": _percent(row["bytes"], total)}


def _percent(part: int | None, whole: int | None) -> str | None:
    return None if part is None or not whole else percent(part, whole, 1)


def _ratio(partitions: dict[str, Any] | None) -> str | None:
    if not partitions or not partitions["median_bytes"] or partitions["count"] < 2:
        return None
    return f"{partitions['largest_bytes'] / partitions['median_bytes']:,.1f}"


def _columns(partitions: dict[str, Any], total: int | None) -> list[dict[str, Any]]:
    """Per partition column, its largest values with their share of the largest one."""
    columns = []
    for name, values in partitions["by_column"].items():
        top = max((row["bytes"] for row in values["largest"]), default=0)
        rows = [_value(row, name, top, total) for row in values["largest"][:20]]
        columns.append({"name": name, "count": values["values"], "rows": rows, "rest": values["values"] - len(rows)})
    return columns


def _value(row: dict[str, Any], name: str, top: int, total: int | None) -> dict[str, Any]:
    return {
        "value": row["values"][name],
        "width": round(100 * row["bytes"] / top) if top else 0,
        "bytes": row["bytes"],
        "of_all": _percent(row["bytes"], total),
        "files": row["files"],
        "rows": row["rows"],
        "mean": row["bytes"] // row["files"] if row["files"] else None,
    }
