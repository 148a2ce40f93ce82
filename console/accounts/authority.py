"""Who may manage whom: people by admins of everything, roles by admins of the place where they hold."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from console.accounts.models import Grant, Person
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.errors import Problem
from tables.models import Table


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a grant holds; at most one of the two ids is set, neither means everything."""

    root_id: uuid.UUID | None = None
    table_id: uuid.UUID | None = None

    @property
    def kind(self) -> Grant.Scope:
        if self.root_id:
            return Grant.Scope.ROOT
        return Grant.Scope.TABLE if self.table_id else Grant.Scope.EVERYTHING


EVERYTHING = Scope()


def holds_on(person: Person, permission: Permission, scope: Scope) -> bool:
    """Whether the person has the permission on the whole of the scope: there, or above it."""
    own = person.scopes(permission)
    if own.everything:
        return True
    if scope.root_id is not None:
        return scope.root_id in own.roots
    if scope.table_id is None:
        return False
    return scope.table_id in own.tables or Table.objects.filter(pk=scope.table_id, root_id__in=own.roots).exists()


def require_admin_of(actor: Actor, scope: Scope) -> None:
    """Raises Problem 403 `forbidden` unless the actor is Levee itself or may give roles on the scope."""
    if actor.person is not None and not holds_on(actor.person, Permission.PEOPLE_MANAGE, scope):
        raise Problem(403, "forbidden", "Roles are given and taken by admins of the place where they hold.")


def require_admin_of_everything(actor: Actor) -> None:
    """People are of the whole console: raises Problem 403 `forbidden` for an admin of one root."""
    if actor.person is not None and not holds_on(actor.person, Permission.PEOPLE_MANAGE, EVERYTHING):
        raise Problem(403, "forbidden", "People are managed by admins of everything.")
