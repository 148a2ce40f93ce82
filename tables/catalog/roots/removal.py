"""Removing a root: its tables leave the lists, their histories and the audit stay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now
from django.utils import timezone
from psycopg.errors import LockNotAvailable

from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from console.base.text.counted import counted
from tables import ports
from tables.catalog.entries import write_name
from tables.catalog.rights import locked, require_everywhere
from tables.catalog.roots import object_stores, sync_interval
from tables.catalog.roots.places import outer_root
from tables.models import Addition, Favourite, Finding, Root, SyncTimes, Table

TURN_SECONDS = 5.0  # that a removal waits for those who hold its tables


@dataclass(frozen=True, slots=True)
class RootConsequences:
    """What a removal would do: hide `tables`, or pass them to the root around it; `uses` stand against it."""

    tables: int
    named: int
    passes_to: Root | None
    uses: ports.Uses


def consequences_of(root: Root) -> RootConsequences:
    """As things are now."""
    tables = Table.objects.filter(root=root, hidden_at=None)
    named = tables.exclude(catalog_name=None).count()
    return RootConsequences(tables.count(), named, outer_root(root.uri), ports.uses_of(root))


def remove(actor: Actor, root: Root) -> None:
    """Takes a root away. Tables that lie in an outer root pass to it; the others are hidden, and their catalog names are free.

    Adding the place again brings the root back; the credential of a bucket goes with the last root in it. Raises Problem: 403
    `forbidden`, 404 `not_found`, 409 `in_use` while jobs of its tables are open, streams run there, or approval rules are on the root,
    409 `sync_running` while a sync holds one of its tables for more than TURN_SECONDS.
    """
    require_everywhere(actor, Permission.ROOT_MANAGE)
    with _within_a_turn(root), locked(root) as fresh:
        # From here on no job of these tables is requested until this ends: it would take the row of its table too.
        tables = Table.objects.filter(root=fresh)
        list(tables.select_for_update(of=("self",)).order_by("pk").values_list("pk"))
        _refuse_used(fresh, ports.uses_of(fresh))
        outer = outer_root(fresh.uri)
        shown = tables.filter(hidden_at=None)
        after: dict[str, Any] = {"tables": shown.count(), "tables_pass_to": outer.name if outer else None}
        is_last = object_stores.goes_with(fresh)
        after |= {"credential": "removed"} if is_last else {}
        before = {"uri": fresh.uri}
        record(actor, Action.ROOT_REMOVE, ObjectKind.ROOT, fresh.id, fresh.name, before=before, after=after)
        _end_additions(fresh)
        if outer is None:
            _hide(fresh)
        else:
            sync_interval.set_due(outer, tables_of=fresh)
            tables.update(root=outer)
            found = Finding.objects.filter(root=fresh)
            found.filter(gone_at=None).update(seen_at=Now())  # a scan of the outer root that is under way left them out
            found.update(root=outer)
        _close(fresh)
        if is_last:
            object_stores.drop(fresh)


@contextmanager
def _within_a_turn(root: Root) -> Iterator[None]:
    """Waits for no row longer than TURN_SECONDS: a sync holds that of its table until a long log is read."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("select set_config('lock_timeout', %s, true)", [f"{TURN_SECONDS * 1000:.0f}ms"])
            object_stores.hold(object_stores.bucket_of(root.uri))
            yield
            with connection.cursor() as cursor:
                cursor.execute("set local lock_timeout to default")
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        detail = f"Levee is reading a table of {root.name} or changing its storage right now. Nothing was changed; try again in a moment."
        raise Problem(409, "sync_running", detail) from None


def _refuse_used(root: Root, uses: ports.Uses) -> None:
    if uses:
        detail = f"Can’t remove {root.name}: {told(uses)} still use{'s' if _number(uses) == 1 else ''} it. Nothing was changed."
        raise Problem(409, "in_use", detail, jobs=uses.jobs, streams=uses.streams, rules=uses.rules)


def told(uses: ports.Uses) -> str:
    """`2 open jobs, 1 running stream and 1 approval rule`."""
    parts = [
        (uses.jobs, "open job"),
        (uses.streams, "running stream"),
        (uses.rules, "approval rule"),
    ]
    *others, last = [counted(number, noun) for number, noun in parts if number]
    return f"{', '.join(others)} and {last}" if others else last


def _number(uses: ports.Uses) -> int:
    return uses.jobs + uses.streams + uses.rules


def _end_additions(root: Root) -> None:
    Finding.objects.filter(addition__root=root).update(addition=None)
    stopped = "The root was removed."
    Addition.objects.filter(root=root, ended_at=None).update(ended_at=Now(), stopped=stopped)


def _hide(root: Root) -> None:
    """Named ones one by one, since a name is part of what searches look through; the others in one statement."""
    tables = Table.objects.filter(root=root)
    for table in tables.select_related("root").exclude(catalog_name=None):
        write_name(table, None, None)
    SyncTimes.objects.filter(table__root=root).exclude(next_sync_at=None).update(next_sync_at=None)
    Favourite.objects.filter(table__root=root).delete()
    tables.filter(hidden_at=None).update(hidden_at=Now())


def _close(root: Root) -> None:
    root.removed_at = timezone.now()
    root.scan_asked_at = root.scan_claimed_at = root.scan_pass = None
    root.scan_hours = root.adds_found_by = root.facets = root.facets_at = None
    root.save()
