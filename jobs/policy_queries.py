"""The rules of policy as pages and API read them."""

from __future__ import annotations

import uuid

from django.db.models import Q, QuerySet
from django.http import Http404

from console.accounts.models import Person
from console.accounts.roles import Permission
from jobs.models import PolicyRule

READ_BY = (Permission.POLICY_MANAGE, Permission.AUDIT_READ)


def rules_for(person: Person) -> QuerySet[PolicyRule]:
    """The rules that hold where the person looks after policies or audits: those on everything, and those of their places."""
    found = Q(pk__in=())
    for scopes in map(person.scopes, READ_BY):
        if scopes.everything:
            return _in_force()
        if scopes:
            own = Q(root__in=scopes.roots) | Q(table__in=scopes.tables) | Q(table__root__in=scopes.roots)
            found |= own | Q(scope=PolicyRule.Scope.EVERYTHING)
    return _in_force().filter(found)


def _in_force() -> QuerySet[PolicyRule]:
    return PolicyRule.objects.filter(removed_at=None).select_related("root", "table", "changed_by")


def rule_for(person: Person, rule_id: uuid.UUID) -> PolicyRule:
    """One of them. Raises Http404."""
    rule = rules_for(person).filter(pk=rule_id).first()
    if rule is None:
        raise Http404
    return rule
