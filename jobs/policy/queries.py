"""Queries of the policy rules, for pages and API."""

from __future__ import annotations

import uuid

from django.db.models import Prefetch, Q, QuerySet
from django.http import Http404

from console.accounts.models import Person
from console.accounts.roles import Permission
from jobs.models import PolicyChange, PolicyRule
from jobs.policy import changes

READ_BY = (Permission.POLICY_MANAGE, Permission.AUDIT_READ)


def rules_for(person: Person) -> QuerySet[PolicyRule]:
    """The rules in the scopes where the person manages policies or audits, and those on everything.

    For a waiting change, `changes.waiting_for` answers whether this person can be the second admin.
    """
    visible = Q(pk__in=())
    for scopes in map(person.scopes, READ_BY):
        if scopes.everything:
            return _in_force(person)
        if scopes:
            own = Q(root__in=scopes.roots) | Q(table__in=scopes.tables) | Q(table__root__in=scopes.roots)
            visible |= own | Q(scope=PolicyRule.Scope.EVERYTHING)
    return _in_force(person).filter(visible)


def _in_force(person: Person) -> QuerySet[PolicyRule]:
    return _with(changes.waiting_for(person), PolicyRule.objects.filter(removed_at=None))


def with_waiting(rules: QuerySet[PolicyRule]) -> QuerySet[PolicyRule]:
    """Each rule with its scope, who changed it last, and in `waiting` the change that waits for a second admin, if any."""
    return _with(changes.waiting(), rules)


def _with(waiting: QuerySet[PolicyChange], rules: QuerySet[PolicyRule]) -> QuerySet[PolicyRule]:
    changes_waiting = Prefetch("changes", waiting, to_attr="waiting")
    return rules.select_related("root", "table", "changed_by").prefetch_related(changes_waiting)


def rule_for(person: Person, rule_id: uuid.UUID) -> PolicyRule:
    """One rule that the person may see. Raises Http404."""
    rule = rules_for(person).filter(pk=rule_id).first()
    if rule is None:
        raise Http404
    return rule
