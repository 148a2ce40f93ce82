"""Who may manage whom: admins of everything manage people, admins of a scope manage the roles on it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from console.accounts.models import Grant, Person
from console.accounts.roles import Permission, Role
from console.audit.actor import Actor
from console.base.errors import Problem


@dataclass(frozen=True, slots=True)
class GrantScope:
    """The scope of a grant; at most one of the two ids is set, neither means everything."""

    root_id: uuid.UUID | None = None
    table_id: uuid.UUID | None = None

    @property
    def kind(self) -> Grant.Scope:
        if self.root_id:
            return Grant.Scope.ROOT
        return Grant.Scope.TABLE if self.table_id else Grant.Scope.EVERYTHING


EVERYTHING = GrantScope()


def root_of(scope: GrantScope) -> uuid.UUID | None:
    """The root of the scope, or of its table; None for everything, and for a table that isn't there.

    The catalog stands above this room: the relation of grants leads to its tables.
    """
    if scope.root_id is not None or scope.table_id is None:
        return scope.root_id
    tables = Grant._meta.get_field("table").remote_field.model._default_manager
    root_id: uuid.UUID | None = tables.filter(pk=scope.table_id).values_list("root_id", flat=True).first()
    return root_id


def covering(scope: GrantScope) -> Q:
    """Grants on the scope or above it."""
    root_id = root_of(scope)
    on_root = Q(root_id=root_id) if root_id else Q(pk__in=())
    on_table = Q(table_id=scope.table_id) if scope.table_id else Q(pk__in=())
    return Q(scope=Grant.Scope.EVERYTHING) | on_root | on_table


def covers(grant: Grant, scope: GrantScope, root_id: uuid.UUID | None) -> bool:
    """`covering` for a grant in memory; `root_id` is `root_of` the scope."""
    if grant.scope == Grant.Scope.EVERYTHING:
        return True
    return bool((grant.root_id and grant.root_id == root_id) or (grant.table_id and grant.table_id == scope.table_id))


def holders_on(role: Role, scope: GrantScope) -> QuerySet[Person]:
    """The people with open accounts who have the role on the whole scope: on it, or above it."""
    held = Grant.objects.filter(covering(scope), role=role.value)
    return Person.objects.filter(pk__in=held.values("person"), is_active=True)


def holds_on(person: Person, permission: Permission, scope: GrantScope) -> bool:
    """Whether the person has the permission on the whole scope: on it, or above it."""
    own = person.scopes(permission)
    if own.everything:
        return True
    return scope.table_id in own.tables or root_of(scope) in own.roots


def require_admin_of(actor: Actor, scope: GrantScope) -> None:
    """Raises Problem 403 `forbidden` unless the actor is Levee itself or may give roles on the scope."""
    if actor.person is not None and not holds_on(actor.person, Permission.PEOPLE_MANAGE, scope):
        raise Problem(403, "forbidden", "Only an admin of a role's scope can give or remove it.")


def require_admin_of_everything(actor: Actor) -> None:
    """Raises Problem 403 `forbidden` for an admin of one root only: people belong to the whole console."""
    if actor.person is not None and not holds_on(actor.person, Permission.PEOPLE_MANAGE, EVERYTHING):
        raise Problem(403, "forbidden", "Only admins of everything can manage people.")
