"""What happened to the lake, as home shows it: drawings, their data, and the largest tables."""

from __future__ import annotations

from typing import Any

from console.accounts.models import Person
from console.pages.home import drawings
from tables.catalog.lately import growth
from tables.catalog.lately.days import LakeDay, LakeDays, days_for
from tables.rules.commit_kinds import TEXTS


def lake_of(person: Person) -> dict[str, Any] | None:
    """None while no commit of the last days is known."""
    found = days_for(person)
    return shown(found) if found else None


def shown(found: LakeDays) -> dict[str, Any]:
    """The days as the page draws and lists them."""
    return {
        "counted_at": found.counted_at,
        "uncounted": found.uncounted,
        "commits": drawings.commits_by_kind(found.days),
        "rows": drawings.rows_in_and_out(found.days),
        "bytes": drawings.bytes_in_and_out(found.days),
        "days": [_row(day) for day in reversed(found.days) if day.commits],
        "kinds": [TEXTS[kind] for kind in drawings.STACK],
        "total": _total(found),
    }


def _row(day: LakeDay) -> dict[str, Any]:
    return {"day": day, "kinds": [(kind.value, day.of(kind)) for kind in drawings.STACK]}


def _total(found: LakeDays) -> dict[str, int]:
    names = ("commits", "rows_in", "rows_out", "bytes_in", "bytes_out", "untold")
    return {name: sum(getattr(day, name) for day in found.days) for name in names}


def largest_of(person: Person) -> list[dict[str, Any]]:
    """The largest tables with their growth, each with a small drawing."""
    return [
        {
            "table": each.table,
            "grown": each.grown,
            "grown_by": abs(each.grown or 0),
            "spark": drawings.spark(each.sizes),
        }
        for each in growth.of_largest(person)
        if each.table.size_bytes
    ]
