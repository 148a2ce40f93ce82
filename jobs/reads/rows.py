"""Reads of rows and changes, under the asker's own permission; the audit log records each one."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record, refuse
from console.base.errors import Problem
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.stored import to_json
from jobs.models import Read, Worker
from jobs.reads import queue
from jobs.targets import places
from jobs.targets.predicates import tree_for, version_asked
from tables.catalog import listing
from tables.models import Table
from tables.sync import log_access

MAX_ROWS = 1000
USUAL_ROWS = 100
ROWS, CHANGES, ROW_DIFF = "rows", "changes", "row_diff"
KINDS = (ROWS, CHANGES, ROW_DIFF)
PROFILE = "profile"
WITH_VALUES = (*KINDS, PROFILE)


def table_with_rows(actor: Actor, table_id: uuid.UUID) -> Table:
    """The table, for a person who may read its rows. Raises Http404; Problem 403 `forbidden`, which the audit records."""
    person = _person(actor)
    try:
        return listing.table_for(person, table_id, Permission.TABLE_ROWS)
    except Problem as problem:
        name = listing.table_for(person, table_id).name
        refuse(actor, Action.TABLE_READ_ROWS, ObjectKind.TABLE, table_id, name, problem)
        raise


def ask_rows(actor: Actor, table: Table, given: Mapping[str, Any]) -> Read:
    """Queues the read. `given` holds `limit`, and perhaps `version`, `timestamp`, `columns`, `predicate` (text).

    Raises Problem 403 `outside_roots`, 404 when the directory is gone, 400 `predicate_refused`, 503 `audit_unavailable`.
    """
    if given.get("predicate") is not None:
        return _ask_some(actor, table, given)
    version = given.get("version")
    return queued(
        actor,
        ROWS,
        table,
        given,
        log_access.head_version(table.path, table.version) if version is None else int(version),
    )


def _ask_some(actor: Actor, table: Table, given: Mapping[str, Any]) -> Read:
    """Rows that match a predicate, at the version whose schema it was parsed with. The engine gets the tree, never the text."""
    places.check_place(table)
    version = version_asked(table, given.get("version"), given.get("timestamp"))
    tree = tree_for(table, version, given["predicate"])
    asked = {name: value for name, value in given.items() if name != "timestamp"} | {"version": version}
    return queued(actor, ROWS, table, asked | {"predicate": to_text(tree)}, version, {"predicate": to_json(tree)})


def ask_changes(actor: Actor, table: Table, given: Mapping[str, Any]) -> Read:
    """The same for the change feed: `from_version`, `limit`, and perhaps `to_version` (the newest without it)."""
    return queued(actor, CHANGES, table, given, log_access.head_version(table.path, table.version))


def queued(
    actor: Actor,
    kind: str,
    table: Table,
    given: Mapping[str, Any],
    version: int | None,
    for_engine: Mapping[str, Any] | None = None,
    *,
    by_name: bool = True,
) -> Read:
    """Records and queues the read. An earlier answer is reused only if it was asked for at the same `version`.

    `for_engine` holds the values that the engine gets in another form than the event. The engine gets the table's name in the catalog
    as well, unless it is asked by the path alone.
    """
    places.check_place(table)
    asked = {name: _plain(value) for name, value in given.items() if value is not None}
    place = {"path": table.path, **({"name": table.catalog_name} if by_name and table.catalog_name else {})}
    with transaction.atomic():
        after = {"read": kind, **asked}
        record(
            actor, Action.TABLE_READ_ROWS, ObjectKind.TABLE, table.pk, table.name, after=after, table_version=version
        )
        question = place | asked | dict(for_engine or {})
        return queue.ask(_person(actor), kind, Worker.Kind.INTERACTIVE, question, table, version)


def note_file(actor: Actor, read: Read, kind: str) -> None:
    """Records that the person takes the rows of an answer away as a file. Raises Problem 503 `audit_unavailable`."""
    answer = read.answer or {}
    name, version = (read.table.name, answer.get("version", answer.get("to_version"))) if read.table else ("", None)
    after = {"read": read.kind, "file": kind, "rows": len(answer.get("rows", ()))}
    record(actor, Action.TABLE_READ_ROWS, ObjectKind.TABLE, read.table_id, name, after=after, table_version=version)


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def _person(actor: Actor) -> Person:
    if actor.person is None:
        raise Problem(403, "forbidden", "Only a person can read rows.")
    return actor.person
