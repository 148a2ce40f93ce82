"""Changing a root: its name, how often its tables are synced and it is scanned, what becomes of finds, and a pause."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import IntegrityError
from django.utils import timezone

from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from tables.catalog.adding import bulk as bulk_additions
from tables.catalog.rights import locked
from tables.catalog.roots import entries as roots
from tables.catalog.roots import sync_interval
from tables.models import Root

FIELDS = ("name", "sync_seconds", "scan_hours", "adds_found")


def change(actor: Actor, root: Root, wanted: Mapping[str, Any]) -> Root:
    """Changes what differs of FIELDS; one event of the audit, none where nothing differs.

    `sync_seconds` is the pause between syncs of a table (None: by hand, and after Levee's jobs, only), `scan_hours` that between
    scans (None: on request only). With `adds_found`, Levee adds what scans find new; the person who switches it on stands for it.
    Raises Problem: 403 `forbidden`, 400 `invalid`, 409 `already_known` (name taken), 404 `not_found` (removed meanwhile).
    """
    require_managed(actor, root)
    if "name" in wanted:
        roots.checked_name(wanted["name"])
    sync_interval.checked(wanted.get("sync_seconds"))
    roots.checked_hours(wanted.get("scan_hours"))
    try:
        with locked(root) as fresh:
            after = {name: value for name, value in wanted.items() if value != options(fresh)[name]}
            if after:
                _write(actor, fresh, after)
    except IntegrityError:
        raise Problem(409, "already_known", f"Another root is, or was, named {wanted['name']}.") from None
    return fresh


def _write(actor: Actor, root: Root, after: dict[str, Any]) -> None:
    before = {name: value for name, value in options(root).items() if name in after}
    record(actor, Action.ROOT_CHANGE, ObjectKind.ROOT, root.id, root.name, before=before, after=after)
    for name, value in after.items():
        if name == "adds_found":
            root.adds_found_by = roots.adder(actor, wanted=value)
        else:
            setattr(root, name, value)
    root.save(update_fields=["adds_found_by" if name == "adds_found" else name for name in after])
    if "sync_seconds" in after:
        sync_interval.set_due(root)


def options(root: Root) -> dict[str, Any]:
    """What can be changed of a root, by FIELDS."""
    return {
        "name": root.name,
        "sync_seconds": root.sync_seconds,
        "scan_hours": root.scan_hours,
        "adds_found": root.adds_found_by_id is not None,
    }


def pause(actor: Actor, root: Root) -> Root:
    """No syncs, no scans and no additions in the root from now on; jobs go on. Nothing happens to one that is paused already.

    Raises Problem: 403 `forbidden`, 404 `not_found`.
    """
    return _turn(actor, root, Action.ROOT_PAUSE, lambda fresh: fresh.paused_at is None, timezone.now())


def resume(actor: Actor, root: Root) -> Root:
    """Syncs and scans go on; the tables are due within the root's pause. Nothing happens to a root that isn't paused.

    Raises Problem: 403 `forbidden`, 404 `not_found`.
    """
    return _turn(actor, root, Action.ROOT_RESUME, lambda fresh: fresh.paused_at is not None, None)


def _turn(actor: Actor, root: Root, act: Action, applies: Callable[[Root], bool], paused_at: Any) -> Root:
    require_managed(actor, root)
    with locked(root) as fresh:
        if applies(fresh):
            record(actor, act, ObjectKind.ROOT, fresh.id, fresh.name)
            fresh.paused_at = paused_at
            fresh.save(update_fields=["paused_at"])
            sync_interval.set_due(fresh)
            if paused_at is None:
                bulk_additions.open_automatic(fresh)  # what a turn found whose end came after the pause
    return fresh


def require_managed(actor: Actor, root: Root) -> None:
    """Raises Problem 403 `forbidden` unless the actor may change the root."""
    if actor.person is not None and not actor.person.scopes(Permission.ROOT_MANAGE).covers_root(root.pk):
        raise Problem(403, "forbidden", f"This needs {Permission.ROOT_MANAGE.value} on the root {root.name}.")
