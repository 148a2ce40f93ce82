"""Asking for rows and changes: under the asker's own right to rows, and each asking is an event."""

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
from console.errors import Problem
from jobs import locating, reads
from jobs.domain.predicates import to_text
from jobs.models import Read, Worker
from jobs.predicates import to_json
from jobs.table_predicates import tree_for, version_asked
from tables import after_jobs, queries
from tables.models import Table

MAX_ROWS = 1000
USUAL_ROWS = 100
ROWS, CHANGES = "rows", "changes"
KINDS = (ROWS, CHANGES)


def table_with_rows(actor: Actor, table_id: uuid.UUID) -> Table:
    """The table, for somebody who may read its rows. Raises Http404; Problem 403 `forbidden`, which is recorded."""
    person = _person(actor)
    try:
        return queries.table_for(person, table_id, Permission.TABLE_ROWS)
    except Problem as problem:
        name = queries.table_for(person, table_id).name
        refuse(actor, Action.TABLE_READ_ROWS, ObjectKind.TABLE, table_id, name, problem)
        raise


def ask_rows(actor: Actor, table: Table, given: Mapping[str, Any]) -> Read:
    """The read that answers it. `given` holds `limit`, and perhaps `version`, `timestamp`, `columns`, `predicate` (text).

    Raises Problem 403 `outside_roots`, 404 when the directory is gone, 400 `predicate_refused`, 503 `audit_unavailable`.
    """
    if given.get("predicate") is not None:
        return _ask_some(actor, table, given)
    version = given.get("version")
    return _ask(
        actor,
        ROWS,
        table,
        given,
        after_jobs.head_version(table.path, table.version) if version is None else int(version),
    )


def _ask_some(actor: Actor, table: Table, given: Mapping[str, Any]) -> Read:
    """Rows of a predicate, at the one version whose schema it was read with. The engine gets the tree, never the text."""
    locating.check_place(table)
    version = version_asked(table, given.get("version"), given.get("timestamp"))
    tree = tree_for(table, version, given["predicate"])
    asked = {name: value for name, value in given.items() if name != "timestamp"} | {"version": version}
    return _ask(actor, ROWS, table, asked | {"predicate": to_text(tree)}, version, {"predicate": to_json(tree)})


def ask_changes(actor: Actor, table: Table, given: Mapping[str, Any]) -> Read:
    """The same for the change feed: `from_version`, `limit`, and perhaps `to_version` (the newest without it)."""
    return _ask(actor, CHANGES, table, given, after_jobs.head_version(table.path, table.version))


def _ask(
    actor: Actor,
    kind: str,
    table: Table,
    given: Mapping[str, Any],
    version: int | None,
    for_engine: Mapping[str, Any] | None = None,
) -> Read:
    """`version` is the one that an earlier answer must have been asked for to be given again.

    `for_engine` holds what the engine is told in another form than the event.
    """
    locating.check_place(table)
    asked = {name: _plain(value) for name, value in given.items() if value is not None}
    place = {"path": table.path, **({"name": table.catalog_name} if table.catalog_name else {})}
    with transaction.atomic():
        after = {"read": kind, **asked}
        record(
            actor, Action.TABLE_READ_ROWS, ObjectKind.TABLE, table.pk, table.name, after=after, table_version=version
        )
        question = place | asked | dict(for_engine or {})
        return reads.ask(_person(actor), kind, Worker.Kind.INTERACTIVE, question, table, version)


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def _person(actor: Actor) -> Person:
    if actor.person is None:
        raise Problem(403, "forbidden", "Rows are read for a person.")
    return actor.person
