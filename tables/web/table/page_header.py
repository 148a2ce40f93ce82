"""The header of every page of a table: its state, what you may do with it (`acts`), its tabs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import Http404
from django.urls import reverse

from console.accounts.models import Person
from console.accounts.roles import Permission
from tables import ports
from tables.catalog import attributions
from tables.catalog.listing import moved_to, table_for
from tables.catalog.own import favourites
from tables.history.reachability import CHANGE_FEED
from tables.models import Table
from tables.web.table import acts
from tables.web.table_state import state_of


def header(person: Person, table: Table, tab: str) -> dict[str, Any]:
    """The context of the header; `table_acts` are what the person may do with the table, by kind."""
    unexplained = attributions.count_open(table)
    streaming = acts.streaming_at(person, table)
    protections = protections_of(person, table)
    offered = acts.acts_on(person, table, streaming, protections)
    return {
        "table": table,
        "tab": tab,
        "state": state_of(table),
        "is_favourite": bool(favourites.among(person, [table])),
        "crumbs": [
            {"text": "Tables", "url": reverse("tables:list")},
            {"text": table.root.name, "url": f"{reverse('tables:list')}?root={table.root_id}"},
        ],
        "tabs": _tabs(table, tab) + _row_tabs(person, table, tab) + _job_tabs(table, tab),
        "may_sync": acts.may(person, table, Permission.TABLE_ADD),
        "may_describe": acts.may(person, table, Permission.TABLE_ADD),
        "may_tag": acts.may(person, table, Permission.TAG_MANAGE),
        "table_acts": offered,
        **acts.in_places(offered, tab),
        "not_converted": streaming,
        "protections": protections,
        "protect_url": _protect_url(person, table),
        "rows_url": _rows_url(person, table, "jobs:rows"),
        "profile_url": _rows_url(person, table, "jobs:profile"),
        "moved_to": moved_to(person, table),
        "unexplained": sum(unexplained.values()),
        "unexplained_in": next(iter(unexplained), table.incarnation),
        "is_behind": bool(table.sync_error) or table.missing_since is not None,
    }


def protections_of(person: Person, table: Table) -> Sequence[ports.ProtectionText]:
    """The rules that keep jobs of this person's from the table."""
    return ports.protected(person, [table.path]).get(table.path, ())


def around(person: Person, table_id: str, tab: str) -> dict[str, Any]:
    """The header for a list that shows one table's part alone; nothing where that table isn't the person's to see."""
    if not table_id:
        return {}
    try:
        return header(person, table_for(person, uuid.UUID(table_id)), tab)
    except Http404:
        return {}


def commit_crumbs(table: Table) -> list[dict[str, str]]:
    """The way to a commit: through its table's history."""
    return [
        {"text": "Tables", "url": reverse("tables:list")},
        {"text": table.catalog_name or table.name, "url": reverse("tables:overview", args=[table.pk])},
        {"text": "History", "url": reverse("tables:history", args=[table.pk])},
    ]


_DELTA_TABS = (("Schema", "schema"), ("History", "history"), ("Protocol", "protocol"), ("Layout", "layout"))


def _tabs(table: Table, current: str) -> list[dict[str, Any]]:
    named = _DELTA_TABS if table.version is not None else (("History", "history"),) if table.incarnation else ()
    names = [("Overview", "overview"), *named]
    tabs = [
        {"name": name, "text": text, "url": reverse(f"tables:{name}", args=[table.pk]), "current": name == current}
        for text, name in names
    ]
    if table.version is not None:
        name, url = "capabilities", reverse("jobs:capabilities", args=[table.pk])
        tabs.append({"name": name, "text": "Capabilities", "url": url, "current": current == name})
    return tabs


def _row_tabs(person: Person, table: Table, current: str) -> list[dict[str, Any]]:
    """The tab of rows, for people who may read them, and the change feed if the table has one."""
    if table.version is None or not acts.may(person, table, Permission.TABLE_ROWS):
        return []
    named = [("Rows", "rows"), *([("Change feed", "changes")] if has_change_feed(table) else [])]
    return [
        {"name": name, "text": text, "url": reverse(f"jobs:{name}", args=[table.pk]), "current": name == current}
        for text, name in named
    ]


def _rows_url(person: Person, table: Table, name: str) -> str | None:
    """A page of a Delta table that tells of its values, for people who may read its rows."""
    allowed = table.version is not None and not table.missing_since and acts.may(person, table, Permission.TABLE_ROWS)
    return reverse(name, args=[table.pk]) if allowed else None


def has_change_feed(table: Table) -> bool:
    """Whether the newest version keeps a change data feed."""
    return str(table.properties.get(CHANGE_FEED)).lower() == "true"


def _job_tabs(table: Table, current: str) -> list[dict[str, Any]]:
    """The lists of its jobs and, for a Delta table, of the streams that write or read it: whoever sees the table may open both."""
    named = [("Jobs", "list"), *([("Streams", "streams")] if table.version is not None else [])]
    return [
        {
            "name": text.lower(),
            "text": text,
            "url": f"{reverse(f'jobs:{name}')}?table={table.pk}",
            "current": text.lower() == current,
        }
        for text, name in named
    ]


def _protect_url(person: Person, table: Table) -> str | None:
    """The form of a rule that protects the table, for admins of it."""
    if not acts.may(person, table, Permission.POLICY_MANAGE):
        return None
    return f"{reverse('policies:protect')}?{urlencode({'on': f'table:{table.path}'})}"


def places(person: Person, table: Table) -> list[tuple[str, str, str]]:
    """The pages of a table that its header offers to the person, as names, addresses and other words: the acts first, then the tabs."""
    protections = protections_of(person, table)
    offered = acts.acts_on(person, table, acts.streaming_at(person, table), protections).values()
    tabs = _tabs(table, "") + _row_tabs(person, table, "") + _job_tabs(table, "")
    named = [(act.offer.text, act.url, act.offer.words) for act in offered]
    return named + [(tab["text"], tab["url"], "") for tab in tabs]
