"""Changing, naming and hiding an entry of the catalog."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from tables import ports
from tables.catalog.requested_syncs import take_turn
from tables.catalog.rights import require_on
from tables.models import Favourite, SyncTimes, Table
from tables.record import table_fields


def update_table(
    actor: Actor,
    table: Table,
    *,
    owner: str | None = None,
    description: str | None = None,
    tags: Iterable[str] | None = None,
) -> Table:
    """Changes a table's description, owner or tags; None leaves a field as it is.

    Owner and description need TABLE_ADD on the table, tags TAG_MANAGE. Raises Problem 403 `forbidden`, 400 `invalid`.
    """
    wanted: dict[str, object] = {}
    if owner is not None:
        wanted["owner"] = _short("owner", owner, 100)
    if description is not None:
        wanted["description"] = _short("description", description, 10_000)
    if wanted:
        require_on(actor, table, Permission.TABLE_ADD)
    if tags is not None:
        require_on(actor, table, Permission.TAG_MANAGE)
        wanted["tags"] = sorted({_short("tags", tag, 50) for tag in tags} - {""})
    changed = {name: value for name, value in wanted.items() if getattr(table, name) != value}
    return _change(actor, table, changed) if changed else table


def _change(actor: Actor, table: Table, changed: dict[str, object]) -> Table:
    with transaction.atomic():
        fresh = Table.objects.select_for_update(of=("self",)).select_related("root", "schema", "times").get(pk=table.pk)
        before = {name: getattr(fresh, name) for name in changed}
        record(actor, Action.TABLE_CHANGE, ObjectKind.TABLE, fresh.id, fresh.name, before=before, after=changed)
        for name, value in changed.items():
            setattr(fresh, name, value)
        table_fields.index_words(fresh)
        fresh.save(update_fields=[*changed, "leaf", "words", "grams"])
    return fresh


def _short(field: str, text: str, length: int) -> str:
    if len(text) > length or "\x00" in text:
        raise Problem(400, "invalid", f"{field} can have at most {length:,} characters.", fields={field: "too long"})
    return text.strip()


def hide_table(actor: Actor, table: Table) -> None:
    """Hides a table from the catalog's lists. Its history and the audit stay; Levee never touches the data.

    A catalog name that it had is free for another table. Raises Problem: 403 `forbidden`; 409 `in_use` or `sync_running` for a
    table with a name.
    """
    require_on(actor, table, Permission.TAG_MANAGE)
    with transaction.atomic():
        fresh = locked(table) if table.catalog_name else table
        name, before = fresh.name, {"catalog_name": fresh.catalog_name} if fresh.catalog_name else None
        if fresh.catalog_name:
            refuse_in_use(fresh)
            write_name(fresh, None, None)
        if Table.objects.filter(pk=table.pk, hidden_at=None).update(hidden_at=Now()):
            SyncTimes.objects.filter(pk=table.pk).update(next_sync_at=None)
            Favourite.objects.filter(table=table).delete()
            record(
                actor, Action.TABLE_HIDE, ObjectKind.TABLE, table.id, name, before=before, after={"path": table.path}
            )


def locked(table: Table) -> Table:
    """The entry as it is now, with no sync of it running and no job of it beginning until the transaction ends."""
    take_turn(table)
    return Table.objects.select_for_update(of=("self",)).select_related("root", "schema", "times").get(pk=table.pk)


def refuse_in_use(table: Table) -> None:
    """Raises Problem 409 `in_use` while a job of the table is under way."""
    if ports.is_under_way(table):
        detail = f"A job of {table.catalog_name} hasn’t ended and may use this name. Nothing was changed."
        raise Problem(409, "in_use", detail)


def write_name(table: Table, name: str | None, entry: dict[str, Any] | None) -> None:
    """Sets the table's displayed name: its name in the catalog, else its location. `table` is `locked`."""
    below = table.path.removeprefix(table.root.uri).strip("/")
    table.catalog_name, table.catalog_entry = name, entry
    table.name = name or below or table.path.rpartition("/")[2]
    table_fields.index_words(table)
    table.save(update_fields=["catalog_name", "name", "catalog_entry", "leaf", "words", "grams"])
