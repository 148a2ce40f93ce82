"""A change's rows by partition, for templates: each partition with the widths of its bar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()


@register.filter
def spread_rows(spread: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The partitions of a preview (`by_partition`): `sure` and `most` are hundredths of the largest, None where it isn't known."""
    top = max((row["rows_most"] or 0 for row in spread["rows"]), default=0)
    return [
        {**row, "sure": _width(row["rows_least"], top), "most": _width(row["rows_most"], top)} for row in spread["rows"]
    ]


def _width(rows: int | None, top: int) -> int | None:
    """At least 1 for any row at all: a bar that isn't seen would say none."""
    return None if rows is None else max(1, round(100 * rows / top)) if rows and top else 0
