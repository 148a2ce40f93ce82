"""What happened to the lake, as home shows it: drawings, their data, and the largest tables."""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import Any

from django.template.loader import render_to_string
from django.urls import get_script_prefix
from django.utils.safestring import SafeString

from console.accounts.models import Person
from console.pages.home import drawings
from tables.catalog.lately import growth
from tables.catalog.lately.days import LakeDay, LakeDays, days_for
from tables.catalog.lately.growth import TableGrowth
from tables.rules.commit_kinds import TEXTS

DRAWN = 32  # sets of days whose drawings a process keeps, some 60 kB each


def lake_of(person: Person, seen: int) -> dict[str, Any] | None:
    """None while no commit of the last days is known. `seen` is facets.seen_by of the person."""
    found = days_for(person, seen)
    return shown(found) if found else None


def shown(found: LakeDays) -> dict[str, Any]:
    """The days as the page shows them: `total`, `counted_at`, `uncounted`, and `drawn`, the drawings with their table."""
    days = tuple(found.days)
    return {
        "counted_at": found.counted_at,
        "uncounted": found.uncounted,
        "total": _total(days),
        "drawn": _drawn(days, get_script_prefix()),
    }


@lru_cache(maxsize=DRAWN)
def _drawn(days: tuple[LakeDay, ...], _prefix: str) -> SafeString:
    """Some 300 links and marks, which are the same for everybody who sees the same days; the links begin with the prefix."""
    lake = {
        "commits": drawings.commits_by_kind(days),
        "rows": drawings.rows_in_and_out(days),
        "bytes": drawings.bytes_in_and_out(days),
        "days": [_row(day) for day in reversed(days) if day.commits],
        "kinds": [TEXTS[kind] for kind in drawings.STACK],
        "total": _total(days),
    }
    return render_to_string("home/_lake_days.html", {"lake": lake})


def _row(day: LakeDay) -> dict[str, Any]:
    return {"day": day, "kinds": [(kind.value, day.of(kind)) for kind in drawings.STACK]}


def _total(days: tuple[LakeDay, ...]) -> dict[str, int]:
    names = ("commits", "rows_in", "rows_out", "bytes_in", "bytes_out", "untold")
    return {name: sum(getattr(day, name) for day in days) for name in names}


def largest_of(person: Person) -> dict[str, Any]:
    """The largest tables with their growth: `rows`, each with a small drawing, and `drawn`, the table of what the drawings show."""
    found = [each for each in growth.of_largest(person) if each.table.size_bytes]
    return sizes_shown(found) if found else {}


def sizes_shown(found: list[TableGrowth]) -> dict[str, Any]:
    """The growth as the page shows it; `since` is the first day, from which a table's history explains its drawing."""
    rows = [
        {
            "table": each.table,
            "grown": each.grown,
            "grown_by": abs(each.grown or 0),
            "spark": drawings.spark(each.sizes),
        }
        for each in found
    ]
    named = tuple((each.table.name, tuple(each.sizes)) for each in found)
    return {"rows": rows, "since": found[0].days[0], "drawn": _sizes_drawn(named, tuple(found[0].days))}


@lru_cache(maxsize=DRAWN)
def _sizes_drawn(named: tuple[tuple[str, tuple[int | None, ...]], ...], days: tuple[date, ...]) -> SafeString:
    """Some 200 cells, which are the same for everybody who sees the same tables."""
    by_day = zip(*(sizes for _, sizes in named), strict=True)
    lines = [{"day": day, "sizes": sizes} for day, sizes in zip(days, by_day, strict=True)]
    return render_to_string("home/_largest_days.html", {"names": [name for name, _ in named], "lines": lines[::-1]})
