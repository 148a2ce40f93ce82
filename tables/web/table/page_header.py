"""The header of every page of a table: its state, the actions that you may request, its tabs."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode

from django.http import Http404
from django.urls import NoReverseMatch, reverse

from console.accounts.models import Person
from console.accounts.roles import Permission
from tables import ports
from tables.catalog import attributions
from tables.catalog.listing import moved_to, table_for
from tables.history.reachability import CHANGE_FEED
from tables.models import Table
from tables.web.table_state import state_of


def may(person: Person, table: Table, permission: Permission) -> bool:
    return person.scopes(permission).covers_table(table.root_id, table.pk)


def header(person: Person, table: Table, tab: str) -> dict[str, Any]:
    """The context of the header."""
    unexplained = attributions.count_open(table)
    streaming = _streaming(person, table)
    return {
        "table": table,
        "state": state_of(table),
        "crumbs": [
            {"text": "Tables", "url": reverse("tables:list")},
            {"text": table.root.name, "url": f"{reverse('tables:list')}?root={table.root_id}"},
        ],
        "tabs": _tabs(table, tab) + _row_tabs(person, table, tab) + _job_tabs(table, tab),
        "may_sync": may(person, table, Permission.TABLE_ADD),
        "may_describe": may(person, table, Permission.TABLE_ADD),
        "may_tag": may(person, table, Permission.TAG_MANAGE),
        "convert_url": _convert_url(person, table, streaming),
        "not_converted": streaming,
        "delete_url": _change_url("jobs:delete", person, table),
        "rows_url": _rows_url(person, table),
        "restore_url": _change_url("jobs:restore", person, table),
        "clone_url": _change_url("jobs:clone", person, table),
        **mending(person, table),
        "alter_schema_url": _change_url("jobs:alter_schema", person, table),
        "drop_feature_url": _change_url("jobs:drop_feature", person, table),
        "moved_to": moved_to(person, table),
        "unexplained": sum(unexplained.values()),
        "unexplained_in": next(iter(unexplained), table.incarnation),
        "is_behind": bool(table.sync_error) or table.missing_since is not None,
    }


def around(person: Person, table_id: str, tab: str) -> dict[str, Any]:
    """The header for a list that shows one table's part alone; nothing where that table isn't the person's to see."""
    if not table_id:
        return {}
    try:
        return header(person, table_for(person, uuid.UUID(table_id)), tab)
    except Http404:
        return {}


def mending(person: Person, table: Table) -> dict[str, str | None]:
    """The addresses of the commands that mend a finding of its health, for people who may request them."""
    return {
        "optimize_url": _change_url("jobs:optimize", person, table),
        "properties_url": _change_url("jobs:set_properties", person, table),
        "reorg_url": _change_url("jobs:reorg", person, table),
        "vacuum_url": _change_url("jobs:vacuum", person, table),
        "schedule_url": _schedule_url(person, table),
    }


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
        {"text": text, "url": reverse(f"tables:{name}", args=[table.pk]), "current": name == current}
        for text, name in names
    ]
    live = _reversed("jobs:capabilities", table.pk)
    if live and table.version is not None:
        tabs.append({"text": "Capabilities", "url": live, "current": current == "capabilities"})
    return tabs


def _row_tabs(person: Person, table: Table, current: str) -> list[dict[str, Any]]:
    """The tab of rows, for people who may read them, and the change feed if the table has one."""
    if table.version is None or not may(person, table, Permission.TABLE_ROWS):
        return []
    named = [("Rows", "rows"), *([("Change feed", "changes")] if has_change_feed(table) else [])]
    tabs = [(text, name, _reversed(f"jobs:{name}", table.pk)) for text, name in named]
    return [{"text": text, "url": url, "current": name == current} for text, name, url in tabs if url]


def _rows_url(person: Person, table: Table) -> str | None:
    """The page of a Delta table's rows, for people who may read them."""
    allowed = table.version is not None and not table.missing_since and may(person, table, Permission.TABLE_ROWS)
    return _reversed("jobs:rows", table.pk) if allowed else None


def has_change_feed(table: Table) -> bool:
    """Whether the newest version keeps a change data feed."""
    return str(table.properties.get(CHANGE_FEED)).lower() == "true"


def _job_tabs(table: Table, current: str) -> list[dict[str, Any]]:
    """The lists of its jobs and, for a Delta table, of the streams that write or read it: whoever sees the table may open both."""
    named = [("Jobs", "list"), *([("Streams", "streams")] if table.version is not None else [])]
    tabs = [(text, _reversed(f"jobs:{name}")) for text, name in named]
    return [
        {"text": text, "url": f"{url}?table={table.pk}", "current": text.lower() == current}
        for text, url in tabs
        if url
    ]


def _is_plain(table: Table) -> bool:
    """Whether it is a directory of parquet files that could be converted."""
    return not (table.is_delta or table.is_not_there_yet or table.missing_since)


def _streaming(person: Person, table: Table) -> str:
    """Why a plain directory isn't converted now: a stream reads it or writes into it."""
    return ports.streams_at(person, [table.path]).get(table.path, "") if _is_plain(table) else ""


def _convert_url(person: Person, table: Table, streaming: str) -> str | None:
    """The page to convert this directory, for people who may request it, unless a stream is at it (`streaming`)."""
    if streaming or not _is_plain(table) or not may(person, table, Permission.JOB_REQUEST):
        return None
    return _reversed("jobs:convert")


def _change_url(name: str, person: Person, table: Table) -> str | None:
    """The page to request a change of a Delta table, for people who may request it."""
    if table.version is None or table.missing_since or not may(person, table, Permission.JOB_REQUEST):
        return None
    return _reversed(name, table.pk)


def _schedule_url(person: Person, table: Table) -> str | None:
    """The form of a new schedule on this table; without a command it asks for one."""
    address = _reversed("jobs:schedule_new") if _change_url("jobs:optimize", person, table) else None
    return f"{address}?{urlencode({'table': table.pk})}" if address else None


def _reversed(name: str, *args: object) -> str | None:
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return None


def places(person: Person, table: Table) -> list[tuple[str, str]]:
    """The pages of a table that its header offers to the person, as names and addresses: the acts first, then the tabs."""
    tabs = _tabs(table, "") + _row_tabs(person, table, "") + _job_tabs(table, "")
    return acts(person, table) + [(tab["text"], tab["url"]) for tab in tabs]


def acts(person: Person, table: Table) -> list[tuple[str, str]]:
    """What the person may do with the table, as names and addresses: what the buttons of its header are."""
    convert = _convert_url(person, table, _streaming(person, table))
    offered = [
        ("Delete rows…", _change_url("jobs:delete", person, table)),
        ("Restore…", _change_url("jobs:restore", person, table)),
        ("Optimize…", _change_url("jobs:optimize", person, table)),
        ("Purge…", _change_url("jobs:reorg", person, table)),
        ("Vacuum…", _change_url("jobs:vacuum", person, table)),
        ("Change the schema…", _change_url("jobs:alter_schema", person, table)),
        ("Clone…", _change_url("jobs:clone", person, table)),
        ("Properties…", _change_url("jobs:set_properties", person, table)),
        ("Drop a feature…", _change_url("jobs:drop_feature", person, table)),
        ("New schedule…", _schedule_url(person, table)),
        ("Convert…", f"{convert}?{urlencode({'path': table.path})}" if convert else None),
        ("Describe…", reverse("tables:describe", args=[table.pk]) if may_describe(person, table) else None),
    ]
    return [(text, url) for text, url in offered if url]


def may_describe(person: Person, table: Table) -> bool:
    """Whether the page of description, owner and tags has something to change for the person."""
    return may(person, table, Permission.TABLE_ADD) or may(person, table, Permission.TAG_MANAGE)
