"""What acts on the catalog require: permissions of their actor, and a root that is there and not paused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from console.accounts.admins import role_needed
from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.errors import Problem
from tables.models import Root, Table


def require_everywhere(actor: Actor, permission: Permission) -> None:
    """For acts on everything. Levee itself has no person and needs no permission."""
    if actor.person is not None and not actor.person.scopes(permission).everything:
        raise Problem(403, "forbidden", role_needed(permission, where="everything"))


def person_of(actor: Actor) -> Person:
    """The person who acts. Raises Problem 403 `forbidden` for Levee itself."""
    if actor.person is None:
        raise Problem(403, "forbidden", "Only a person can ask for this.")
    return actor.person


def require_below(person: Person, root: Root) -> None:
    """Raises Problem 403 `forbidden` unless the person may add tables below the root."""
    if not person.scopes(Permission.TABLE_ADD).covers_root(root.pk):
        raise Problem(403, "forbidden", role_needed(Permission.TABLE_ADD, where=f"the root {root.name}"))


def refuse_paused(root: Root) -> None:
    """Raises Problem 409 `root_paused` for a root that nothing is read in."""
    if root.paused_at is not None:
        detail = f"The root {root.name} is paused: Levee syncs, scans and adds nothing there. Nothing was changed; have an admin resume it."
        raise Problem(409, "root_paused", detail)


def require_on(actor: Actor, table: Table, permission: Permission) -> None:
    """Raises Problem 403 `forbidden` unless the actor has the permission on the table."""
    if actor.person is None:
        return
    if not actor.person.scopes(permission).covers_table(table.root_id, table.pk):
        raise Problem(403, "forbidden", role_needed(permission, where=table.name))


@contextmanager
def locked(root: Root) -> Iterator[Root]:
    """The root as it is now, in a transaction in which nobody else changes it. Raises Problem 404 `not_found` for a removed one."""
    with transaction.atomic():
        fresh = Root.objects.select_for_update(no_key=True).filter(pk=root.pk).first()
        if fresh is None:
            raise Problem(404, "not_found", f"The root {root.name} was removed. Nothing was changed.")
        yield fresh
