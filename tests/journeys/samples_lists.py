"""Sample contexts of what people set for themselves: their lists, saved filters, preferences; and of finding anything."""

from __future__ import annotations

import uuid
from typing import Any

from console.accounts.kept_lists import SavedFilter
from console.accounts.lists import KeptList, ListKind
from console.pages.find.places import PLACES
from console.pages.find.results import Option, ResultGroup
from console.pages.preferences.forms import PreferencesForm
from console.pages.preferences.kinds import KINDS
from tests.hostile_texts import hostile_long, hostile_whole

LONG = "sales.orders_backfill_2025_with_returns_and_refunds_emea_v2"


def saved(kind: ListKind, name: str, query: str, *, pinned: bool = False) -> SavedFilter:
    return SavedFilter(id=uuid.uuid4(), list=kind.name, name=name, query=query, pinned=pinned)


def listing(name: str, *filters: SavedFilter, query: str = "") -> KeptList:
    """A list with all its columns."""
    kind = KINDS[name]
    every = frozenset(column for column, _ in kind.columns)
    return KeptList(kind=kind, columns=every, order="", rows=50, saved=filters, query=query)


FAILED = saved(KINDS["jobs"], "Failed lately", "state=failed", pinned=True)
MINE = saved(KINDS["jobs"], "What I asked for and what became of it, in all these months", "by=ines")
HOSTILE = saved(KINDS["jobs"], hostile_long("filter")[:60], "by=x")  # the database takes no longer one
JOBS = listing("jobs", FAILED, MINE, HOSTILE, query="state=failed")
FOUND = [
    ResultGroup("On sales.orders", [Option("Delete rows…", "#", "on this table")]),
    ResultGroup(
        "Tables", [Option("sales.orders", "#", f"/lake/{LONG}", "table"), Option(LONG, "#", f"/lake/{LONG}", "table")]
    ),
    ResultGroup("Columns", [Option("order_id", "#", f"column of {LONG}", "columns-3")]),
    ResultGroup("Jobs", [Option(f"Delete 2 rows from {LONG}", "#", "7c41e0d2, awaiting approval", "clock")]),
    ResultGroup(hostile_long("On"), [Option(hostile_whole("found"), "#", hostile_whole("beside it"), "table")]),
]
SAVED_ROWS = [
    {"filter": FAILED, "kind": KINDS["jobs"], "url": "/jobs/?state=failed"},
    {"filter": HOSTILE, "kind": KINDS["jobs"], "url": "/jobs/?by=x"},
    {"filter": saved(KINDS["history"], "Deletes", "operation=DELETE"), "kind": KINDS["history"], "url": ""},
]
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "find": ("find/page.html", {"q": "order", "at": "", "groups": FOUND, "count": 6}),
    "keys": ("find/keys.html", {"places": [place for place in PLACES if place.key]}),
    "preferences": ("preferences/page.html", {"form": PreferencesForm(), "saved": SAVED_ROWS, "most": 50}),
}
