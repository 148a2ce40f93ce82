"""Syncs that a person requests and waits for, and the light worker's part in them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from console.base.logs import log
from console.base.waiting import SYNCS
from tables import ports
from tables.catalog.rights import person_of, refuse_paused, require_on
from tables.models import SyncTimes, Table
from tables.sync import table as syncing

TURN_SECONDS = 5.0  # that a request waits for a sync which is running
PATIENCE_SECONDS = 3.0  # that a request waits for the light worker to begin a sync, before it reads the log itself
SYNC_SECONDS_WAITED = 120.0  # that it waits in all; a log that takes longer is read on without it
BUSY_SECONDS = 2  # after which a request that found no place to wait may come again


@dataclass(frozen=True, slots=True)
class Synced:
    """A table after a requested sync. `asked` is the question to the light worker if it isn't answered yet."""

    table: Table
    asked: uuid.UUID | None = None


def sync_table(actor: Actor, table: Table, seconds: float | None = None) -> Synced:
    """Has the light worker read what is new in a table's log, on request, and waits for it `seconds` at most.

    Where no light worker begins with it, the log is read here. Raises Problem: 403 `forbidden`; 409 `root_paused`, or `sync_running`
    when another sync of the table doesn't end within TURN_SECONDS; 503 `worker_lost` when workers were lost over it, `busy` when too
    many wait.
    """
    require_on(actor, table, Permission.TABLE_ADD)
    refuse_paused(table.root)
    person = person_of(actor)
    with place_to_wait(person):
        return _synced(actor, person, table, SYNC_SECONDS_WAITED if seconds is None else seconds)


def _synced(actor: Actor, person: Person, table: Table, seconds: float) -> Synced:
    with transaction.atomic():  # short: a log can be long, and what is on record shows at once
        asked = _ask_sync(person, table)
        if asked is None:
            take_turn(table)  # a refusal leaves no record
        record(actor, Action.TABLE_SYNC, ObjectKind.TABLE, table.id, table.name)
    done = None if asked is None else ports.await_sync(asked, PATIENCE_SECONDS, seconds)
    if done is None:
        with transaction.atomic():
            return Synced(_sync_here(table))
    return Synced(syncing.entry(table.pk), None if done else asked)


def _sync_here(table: Table) -> Table:
    take_turn(table)
    return syncing.sync(table.pk, reread_broken=True)


def sync_asked(table_id: uuid.UUID) -> Table:
    """What the light worker does for `sync_table` and `add_table`. Raises Problem 409 `sync_running` as they do: a table that is
    being read must not hold up a worker that has others to read."""
    with transaction.atomic():
        return _sync_here(Table.objects.get(pk=table_id))


def take_turn(table: Table) -> None:
    """As `sync.wait_for_turn`, for a request that can't wait for ever. Raises Problem 409 `sync_running`."""
    until = time.monotonic() + TURN_SECONDS
    while not syncing.try_turn(table.pk):
        if time.monotonic() >= until:
            detail = f"Another sync is reading {table.name} right now. Nothing was done; try again in a moment."
            raise Problem(409, "sync_running", detail)
        time.sleep(0.1)


def first_synced(person: Person, table: Table) -> Table:
    """The new entry as the light worker has filled it; one that is not filled yet is read when it can be."""
    with transaction.atomic():
        asked = _ask_sync(person, table)
    try:
        done = asked and ports.await_sync(asked, PATIENCE_SECONDS, SYNC_SECONDS_WAITED)
    except Problem as problem:
        log.warning("first_sync_failed", table=str(table.pk), code=problem.code)
        return syncing.entry(table.pk)
    return syncing.sync(table.pk) if done is None else syncing.entry(table.pk)


def _ask_sync(person: Person, table: Table) -> uuid.UUID | None:
    """Whatever becomes of the request and of the worker that takes it, the table is read by its next time."""
    asked = ports.ask_sync(person, table)
    if asked is not None:
        soon = Q(next_sync_at=None) | Q(next_sync_at__gt=Now() + syncing.CLAIM)
        SyncTimes.objects.filter(soon, pk=table.pk).update(next_sync_at=Now() + syncing.CLAIM)
    return asked


@contextmanager
def place_to_wait(person: Person) -> Iterator[None]:
    """For a request that is answered once a log has been read. Raises Problem 503 `busy`."""
    with SYNCS.place(person.pk) as there:
        if not there:
            detail = (
                "Levee is already reading as many logs as it can at once. Nothing was changed; try again in a moment."
            )
            raise Problem(503, "busy", detail, retry_after=BUSY_SECONDS)
        yield
