"""Acts on the rules of policy: each checks, does and records in one transaction. A rule is never deleted, only removed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.http import Http404

from console.accounts.authority import Scope, holds_on
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.refusals import refusals_on_record
from console.audit.services import record
from console.errors import Problem
from jobs.domain.commands import COMMANDS
from jobs.models import PolicyRule

NAME_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Terms:
    """What may change of a rule; its command and its place never do. `table_class` empty: any; `min_share` from 0 to 1."""

    name: str
    required_approvals: int
    table_class: str = ""
    min_share: float | None = None
    refuses_tokens: bool = False
    enabled: bool = True


def terms_of(rule: PolicyRule) -> Terms:
    """The rule's terms as they are."""
    return Terms(
        rule.name, rule.required_approvals, rule.table_class, rule.min_share, rule.refuses_tokens, rule.enabled
    )


def add(actor: Actor, command: str, scope: Scope, terms: Terms) -> PolicyRule:
    """Adds a rule. Raises Problem 400 `invalid`, 403 `forbidden` for who is no admin of the place."""
    _check(terms)
    if command not in COMMANDS:
        raise _invalid({"command": f"There is no such command; there are {', '.join(COMMANDS)}."})
    values = {"command": command, "scope": scope.kind, "root_id": scope.root_id, "table_id": scope.table_id}
    rule = PolicyRule(**values, **asdict(terms), changed_by=actor.person)
    with _act(actor, Action.POLICY_ADD, rule), transaction.atomic():
        _require_admin(actor, scope)
        record(actor, Action.POLICY_ADD, ObjectKind.POLICY, rule.pk, rule.name, after=as_json(rule))
        rule.save(force_insert=True)
    return rule


def change(actor: Actor, rule: PolicyRule, **changes: Any) -> PolicyRule:
    """Changes some of the rule's terms; without a difference nothing happens.

    Raises Problem 400 `invalid`, 403 `forbidden`; Http404 for a rule that has been removed. What open requests need is not
    lowered by it: at the claim the larger of stored and current counts.
    """
    with _act(actor, Action.POLICY_CHANGE, rule), transaction.atomic():
        _require_admin(actor, scope_of_rule(rule))
        now = _locked(rule)
        terms = Terms(**{**asdict(terms_of(now)), **changes})
        _check(terms)
        if terms == terms_of(now):
            return now
        return _changed(actor, now, terms)


def _changed(actor: Actor, rule: PolicyRule, terms: Terms) -> PolicyRule:
    before = as_json(rule)
    for name, value in asdict(terms).items():
        setattr(rule, name, value)
    rule.version += 1
    rule.changed_by = actor.person
    record(actor, Action.POLICY_CHANGE, ObjectKind.POLICY, rule.pk, rule.name, before=before, after=as_json(rule))
    PolicyRule.objects.filter(pk=rule.pk).update(
        **asdict(terms), version=rule.version, changed_by=actor.person, changed_at=Now()
    )
    return rule


def remove(actor: Actor, rule: PolicyRule) -> None:
    """Takes a rule out of the policy; the row stays, since requests name it. Raises Problem 403 `forbidden`, Http404."""
    with _act(actor, Action.POLICY_REMOVE, rule), transaction.atomic():
        _require_admin(actor, scope_of_rule(rule))
        now = _locked(rule)
        record(actor, Action.POLICY_REMOVE, ObjectKind.POLICY, now.pk, now.name, before=as_json(now))
        PolicyRule.objects.filter(pk=now.pk).update(
            removed_at=Now(), version=now.version + 1, changed_by=actor.person, changed_at=Now()
        )


def _act(actor: Actor, action: Action, rule: PolicyRule) -> Any:
    return refusals_on_record(actor, action, ObjectKind.POLICY, rule.pk, rule.name)


def _locked(rule: PolicyRule) -> PolicyRule:
    kept = PolicyRule.objects.select_for_update(of=("self",)).select_related("root", "table")
    now = kept.filter(pk=rule.pk, removed_at=None).first()
    if now is None:
        raise Http404
    return now


def scope_of_rule(rule: PolicyRule) -> Scope:
    """Where the rule holds."""
    return Scope(root_id=rule.root_id, table_id=rule.table_id)


def _require_admin(actor: Actor, scope: Scope) -> None:
    if actor.person is not None and not holds_on(actor.person, Permission.POLICY_MANAGE, scope):
        raise Problem(403, "forbidden", "Rules are made and changed by admins of the place where they hold.")


def _check(terms: Terms) -> None:
    wrong = {name: text for name, text in _wrong(terms).items() if text}
    if wrong:
        raise _invalid(wrong)


def _wrong(terms: Terms) -> dict[str, str]:
    named = bool(terms.name.strip()) and terms.name.isprintable() and len(terms.name) <= NAME_LENGTH
    counted = 0 <= terms.required_approvals <= PolicyRule.MOST_APPROVALS
    share = terms.min_share
    shared = share is None or (math.isfinite(share) and 0 <= share <= 1)
    known = terms.table_class in ("", *PolicyRule.TableClass.values)
    return {
        "name": "" if named else f"A name has 1 to {NAME_LENGTH} printable characters.",
        "required_approvals": "" if counted else f"From 0 to {PolicyRule.MOST_APPROVALS} approvals.",
        "min_share": "" if shared else "A share is a number from 0 to 1.",
        "class": "" if known else "whole_table, ordinary, or null for any.",
    }


def _invalid(fields: Mapping[str, str]) -> Problem:
    return Problem(400, "invalid", " ".join(fields.values()), fields=fields)


def on_text(rule: PolicyRule) -> str:
    """Where the rule holds, as scopes are written: `everything`, `root:NAME` or `table:PATH`."""
    if rule.root is not None:
        return f"root:{rule.root.name}"
    return f"table:{rule.table.path}" if rule.table is not None else "everything"


def as_json(rule: PolicyRule) -> dict[str, Any]:
    """The rule as the audit keeps it."""
    terms = asdict(terms_of(rule))
    return {"command": rule.command, "on": on_text(rule), "version": rule.version, "role": rule.role, **terms}
