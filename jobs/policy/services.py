"""Acts on the policy rules: each checks, does and records in one transaction. A rule is never deleted, only removed.

A change that lowers a rule waits for a second admin (`changes`); a command on the machine takes effect at once.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.http import Http404

from console.accounts.authority import GrantScope, holds_on
from console.accounts.notices import tell
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.models import Event
from console.audit.refusals import refusals_on_record
from console.audit.services import record
from console.base.errors import Problem
from jobs.commands.registry import ROWS
from jobs.domain.policy import ANY, Rule, lowers
from jobs.models import PolicyChange, PolicyRule
from jobs.policy import changes as policy_changes
from jobs.policy.changes import scope_of_rule
from jobs.policy.evaluate import with_terms

NAME_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Terms:
    """The parts of a rule that can change; its command and its scope can't. `table_class` empty: any; `min_share` from 0 to 1."""

    name: str
    required_approvals: int
    table_class: str = ""
    min_share: float | None = None
    refuses_tokens: bool = False
    enabled: bool = True


def terms_of(rule: PolicyRule) -> Terms:
    """The rule's current terms."""
    return Terms(
        rule.name, rule.required_approvals, rule.table_class, rule.min_share, rule.refuses_tokens, rule.enabled
    )


def add(actor: Actor, command: str, scope: GrantScope, terms: Terms, *, forbids: bool = False) -> PolicyRule:
    """Adds a rule. Raises Problem 400 `invalid`, 403 `forbidden` unless the actor is an admin of the scope.

    One that `forbids` has no other terms than its name: neither the command, which may be ANY, nor a schedule or stream of it runs there.
    """
    _check(terms)
    known = [*ROWS, ANY] if forbids else [*ROWS]
    if command not in known:
        raise _invalid({"command": f"Unknown command; use one of {', '.join(known)}."})
    if forbids:
        _check_forbidding(terms)
    values = {"command": command, "scope": scope.kind, "root_id": scope.root_id, "table_id": scope.table_id}
    rule = PolicyRule(**values, **asdict(terms), forbids=forbids, changed_by=actor.person)
    with _act(actor, Action.POLICY_ADD, rule), transaction.atomic():
        _require_admin(actor, scope)
        record(actor, Action.POLICY_ADD, ObjectKind.POLICY, rule.pk, rule.name, after=as_json(rule))
        rule.save(force_insert=True)
    return rule


def change(actor: Actor, rule: PolicyRule, **changes: Any) -> PolicyRule:
    """Changes some of the rule's terms, if they differ. A change that lowers the rule waits: the rule is returned unchanged.

    Raises Problem 400 `invalid`, 403 `forbidden`; Http404 for a removed rule. The change doesn't lower what open requests need:
    at the claim the larger of the stored and the current number counts.
    """
    with _act(actor, Action.POLICY_CHANGE, rule), transaction.atomic():
        _require_admin(actor, scope_of_rule(rule))
        now = _locked(rule)
        terms = Terms(**{**asdict(terms_of(now)), **changes})
        _check(terms)
        if now.forbids:
            _check_forbidding(terms)
        if terms == terms_of(now):
            return now
        lowered = lowers(_in_force(now, terms_of(now)), _in_force(now, terms))
        if lowered:
            if actor.person is not None:
                policy_changes.ask(actor, now, asdict(terms_of(now)), asdict(terms))
                return now
            policy_changes.made_here(actor, now, asdict(terms_of(now)), asdict(terms))
        return _changed(actor, now, terms, lowered=lowered)


def _in_force(rule: PolicyRule, terms: Terms) -> Rule | None:
    """The rule with these terms; None if it is switched off."""
    return with_terms(rule, asdict(terms)) if terms.enabled else None


def _changed(
    actor: Actor, rule: PolicyRule, terms: Terms, *, lowered: bool = False, change: PolicyChange | None = None
) -> PolicyRule:
    before = as_json(rule)
    for name, value in asdict(terms).items():
        setattr(rule, name, value)
    policy_changes.drop(rule)
    rule.version += 1
    rule.changed_by = actor.person
    event = record(
        actor, Action.POLICY_CHANGE, ObjectKind.POLICY, rule.pk, rule.name, before=before, after=as_json(rule)
    )
    if lowered:
        _tell(actor, event, rule, change)
    PolicyRule.objects.filter(pk=rule.pk).update(
        **asdict(terms), version=rule.version, changed_by=actor.person, changed_at=Now()
    )
    return rule


def remove(actor: Actor, rule: PolicyRule) -> bool:
    """Removes a rule from the policy; the row stays, since requests name it. False: the removal waits for a second admin.

    Raises Problem 403 `forbidden`, Http404.
    """
    with _act(actor, Action.POLICY_REMOVE, rule), transaction.atomic():
        _require_admin(actor, scope_of_rule(rule))
        now = _locked(rule)
        terms = asdict(terms_of(now))
        lowered = lowers(_in_force(now, terms_of(now)), None)
        if lowered:
            if actor.person is not None:
                policy_changes.ask(actor, now, terms, terms, removes=True)
                return False
            policy_changes.made_here(actor, now, terms, terms, removes=True)
        _removed(actor, now, lowered=lowered)
        return True


def _removed(actor: Actor, rule: PolicyRule, *, lowered: bool, change: PolicyChange | None = None) -> None:
    policy_changes.drop(rule)
    event = record(actor, Action.POLICY_REMOVE, ObjectKind.POLICY, rule.pk, rule.name, before=as_json(rule))
    if lowered:
        _tell(actor, event, rule, change)
    PolicyRule.objects.filter(pk=rule.pk).update(
        removed_at=Now(), version=rule.version + 1, changed_by=actor.person, changed_at=Now()
    )


def _tell(actor: Actor, event: Event, rule: PolicyRule, change: PolicyChange | None) -> None:
    """Notifies the other admins of a lowered rule: those who neither requested nor confirmed it."""
    who = f"{actor.name}, asked by {_asker(change)}," if change else "A command on the machine"
    asker = change.asked_by if change else None
    text = f"{who} lowered the rule “{rule.name}”."
    tell(actor, event, text, about=asker, scope=scope_of_rule(rule))


def confirm(actor: Actor, rule: PolicyRule, change_id: uuid.UUID) -> None:
    """Confirms, as the second admin, exactly the change that they looked at; it takes effect at once.

    Raises Problem 403 `forbidden`, `not_your_own`, `not_independent`; 409 `wrong_state` for a change that isn't waiting.
    """
    with _act(actor, Action.POLICY_CONFIRM, rule), transaction.atomic():
        now, change = _waiting(actor, rule, change_id)
        policy_changes.require_second(actor, change)
        record(actor, Action.POLICY_CONFIRM, ObjectKind.POLICY, now.pk, now.name, before={"asked_by": _asker(change)})
        policy_changes.apply(actor, change)
        if change.removes:
            _removed(actor, now, lowered=True, change=change)
        else:
            _changed(actor, now, Terms(**change.after), lowered=True, change=change)


def decline(actor: Actor, rule: PolicyRule, change_id: uuid.UUID) -> None:
    """Takes back or declines a waiting change; the rule stays as it is. Raises Problem 403 `forbidden`, 409 `wrong_state`."""
    with _act(actor, Action.POLICY_DECLINE, rule), transaction.atomic():
        now, change = _waiting(actor, rule, change_id)
        record(actor, Action.POLICY_DECLINE, ObjectKind.POLICY, now.pk, now.name, before={"asked_by": _asker(change)})
        policy_changes.drop(now)


def _asker(change: PolicyChange) -> str:
    return change.asked_by.name if change.asked_by else "command line"


def _waiting(actor: Actor, rule: PolicyRule, change_id: uuid.UUID) -> tuple[PolicyRule, PolicyChange]:
    _require_admin(actor, scope_of_rule(rule))
    now = _locked(rule)
    change = policy_changes.waiting_of(now)
    if change is None or change.pk != change_id or change.rule_version != now.version:
        detail = "This change of the rule is no longer waiting; review the rule as it is now. Nothing was changed."
        raise Problem(409, "wrong_state", detail)
    return now, change


def _act(actor: Actor, action: Action, rule: PolicyRule) -> Any:
    return refusals_on_record(actor, action, ObjectKind.POLICY, rule.pk, rule.name)


def _locked(rule: PolicyRule) -> PolicyRule:
    rules = PolicyRule.objects.select_for_update(of=("self",)).select_related("root", "table")
    now = rules.filter(pk=rule.pk, removed_at=None).first()
    if now is None:
        raise Http404
    return now


def _require_admin(actor: Actor, scope: GrantScope) -> None:
    if actor.person is not None and not holds_on(actor.person, Permission.POLICY_MANAGE, scope):
        raise Problem(403, "forbidden", "Only an admin of a rule’s scope can add or change it.")


def _check(terms: Terms) -> None:
    wrong = {name: text for name, text in _wrong(terms).items() if text}
    if wrong:
        raise _invalid(wrong)


def _check_forbidding(terms: Terms) -> None:
    """Refuses terms about approvals: what is forbidden can't be approved."""
    plain = Terms(terms.name, 0, enabled=terms.enabled)
    odd = [name for name, value in asdict(terms).items() if value != getattr(plain, name)]
    if odd:
        text = "A rule that protects asks for no approval: leave this out."
        raise _invalid({"class" if name == "table_class" else name: text for name in odd})


def _wrong(terms: Terms) -> dict[str, str]:
    named = bool(terms.name.strip()) and terms.name.isprintable() and len(terms.name) <= NAME_LENGTH
    counted = 0 <= terms.required_approvals <= PolicyRule.MOST_APPROVALS
    share = terms.min_share
    shared = share is None or (math.isfinite(share) and 0 <= share <= 1)
    known = terms.table_class in ("", *PolicyRule.TableClass.values)
    return {
        "name": "" if named else f"Enter 1 to {NAME_LENGTH} printable characters.",
        "required_approvals": "" if counted else f"Enter 0 to {PolicyRule.MOST_APPROVALS} approvals.",
        "min_share": "" if shared else "Enter a number from 0 to 1.",
        "class": "" if known else f"Use {', '.join(PolicyRule.TableClass.values)}, or null for any.",
    }


def _invalid(fields: Mapping[str, str]) -> Problem:
    return Problem(400, "invalid", " ".join(fields.values()), fields=fields)


def on_text(rule: PolicyRule) -> str:
    """The rule's scope as text: `everything`, `root:NAME` or `table:PATH`."""
    if rule.root is not None:
        return f"root:{rule.root.name}"
    return f"table:{rule.table.path}" if rule.table is not None else "everything"


def as_json(rule: PolicyRule) -> dict[str, Any]:
    """The rule as the audit records it."""
    terms = asdict(terms_of(rule))
    named = {"command": rule.command, "on": on_text(rule), "version": rule.version, "role": rule.role}
    return {**named, **({"forbids": True} if rule.forbids else {}), **terms}
