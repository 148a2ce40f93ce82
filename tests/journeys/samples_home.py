"""Sample contexts of home and of the lake's commits, in the shapes that views hand over."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from console.accounts.appointments import Doubt, Link
from console.pages.home import drawings
from console.pages.home.lake import shown
from console.pages.home.story import Approver, Step, Story
from tables.catalog.lately.days import LakeDay, LakeDays
from tables.rules.commit_kinds import TEXTS
from tests.journeys import samples_review

TODAY = datetime.now(UTC).date()


def _day(back: int) -> LakeDay:
    """A day with something of everything; each fifth has nothing, so that gaps show."""
    if back % 5 == 4:
        return LakeDay(TODAY - timedelta(days=back))
    appends, changes, removals, upkeeps = 12 + back % 7 * 9, back % 3 * 4, back % 4, back % 6
    return LakeDay(
        TODAY - timedelta(days=back), appends + changes + removals + upkeeps + back % 2, appends, changes, removals, upkeeps,
        appends * 41_000, removals * 380_000, appends << 28, (removals + upkeeps) << 29, back % 3,
    )  # fmt: skip


LAKE = shown(LakeDays([_day(back) for back in reversed(range(30))], datetime.now(UTC) - timedelta(minutes=3), 1))
QUIET_LAKE = shown(LakeDays([LakeDay(TODAY - timedelta(days=b), int(not b), int(not b)) for b in reversed(range(30))]))


def _grown(name: str, size: int, grown: int | None) -> dict[str, Any]:
    table = SimpleNamespace(pk=uuid.uuid4(), name=name, size_bytes=size, last_commit_at=datetime.now(UTC))
    sizes = [None] * 5 + [size - (grown or 0) + (grown or 0) * n // 25 for n in range(26)]
    return {"table": table, "grown": grown, "grown_by": abs(grown or 0), "spark": drawings.spark(sizes)}


LARGEST = [
    _grown("sales/orders", 91 << 40, 4 << 40),
    _grown("iot/sensor_readings_hourly_of_every_station_in_the_north", 12 << 40, -(3 << 40)),
    _grown("web/clicks", 9 << 40, 0),
    _grown("crm/contacts", 2 << 30, None),
]


def _steps(*states: str, **of_now: Any) -> list[Step]:
    titles = {
        "convert": "Convert orders to a Delta table",
        "history": "Look at its history",
        "delete": "Preview a delete, and request it",
        "approve": "Have it approved by a second person",
        "undo": "Undo it",
    }
    usual = {
        "text": "Every later change becomes a version that you can read and restore.",
        "act": "Open it",
        "url": "/",
    }
    return [
        Step(key, title, state=state, **({**usual, **of_now} if state == "now" else {"text": ""}))
        for (key, title), state in zip(titles.items(), states, strict=True)
    ]


AT_APPROVAL = _steps("done", "done", "done", "now", "todo", job=SimpleNamespace(state="awaiting_approval"))
DOUBT = Doubt((Link("admin", "ana", ""), Link("admin", "marc", "")), "marc")
STORIES = {
    "nobody": Story(AT_APPROVAL, Approver(), may_add_people=True),
    "doubted": Story(AT_APPROVAL, Approver(doubt=DOUBT), may_add_people=True),
}
MOVED = {
    "waiting": samples_review.CARDS, "waiting_count": len(samples_review.CARDS), "lake": LAKE, "largest": LARGEST,
    "failed_streams": 1, "unexplained_count": 3,
}  # fmt: skip


def commit(version: int, **facts: Any) -> dict[str, Any]:
    usual = {
        "table": SimpleNamespace(name="sales/orders"), "version": version, "operation": "DELETE", "files_added": 3,
        "files_removed": None, "user_name": "", "engine_info": "Apache-Spark/4.0.0 Delta-Lake/4.0.0",
        "committed_at": datetime.now(UTC),
    }  # fmt: skip
    return {"commit": SimpleNamespace(**{**usual, **facts}), "url": "/tables/", "rows": f"−{version:,}"}


KINDS = [{"text": text, "url": f"?kind={kind}", "is_current": kind == "append"} for kind, text in TEXTS.items()]
COMMITS: dict[str, Any] = {
    "heading": f"Commits of {date(2026, 3, 1):%-d %B %Y}", "kinds": KINDS, "rows": [commit(1_476), commit(7, user_name="<b>x</b>")],
    "page": {"next_url": "?cursor=x", "previous_url": None, "next_text": "Earlier"},
    "earlier_url": "?day=2026-02-28", "later_url": None,
}  # fmt: skip
PAGES = {
    "commits": ("tables/list/commits.html", COMMITS),
    "commits-none": ("tables/list/commits.html", COMMITS | {"rows": [], "page": {}}),
}
