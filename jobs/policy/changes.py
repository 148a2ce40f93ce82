"""Lowering, switching off or removing a rule: one admin requests it, an independent one confirms it; until then the old rule applies.

A command on the machine needs no second admin. `services` checks who may change a rule at all.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from django.db.models import BooleanField, F, Func, QuerySet, Value
from django.db.models.functions import Coalesce, Now

from console.accounts.appointments import Doubt, Doubts, doubt_about, may_judge
from console.accounts.authority import GrantScope
from console.accounts.models import Person
from console.accounts.notices import tell
from console.accounts.roles import Role
from console.audit.actions import Action, EventOutcome, ObjectKind
from console.audit.actor import Actor
from console.audit.models import Event
from console.audit.services import record
from console.base.errors import Problem
from console.base.machine import machine_command
from jobs.models import PolicyChange, PolicyRule

Terms = dict[str, Any]


def waiting() -> QuerySet[PolicyChange]:
    """Changes that no admin has confirmed or declined yet."""
    return PolicyChange.objects.filter(applied_at=None, dropped_at=None).select_related("rule", "asked_by")


def waiting_for(person: Person) -> QuerySet[PolicyChange]:
    """The same; `may_judge` is whether the person can be the second admin, answered by the database in the same query."""
    root = Coalesce(F("rule__root_id"), F("rule__table__root_id"))
    who = (Value(person.pk), F("asked_by_id"), Value(Role.ADMIN.value))
    answer = Func(*who, root, F("rule__table_id"), function="accounts_may_judge", output_field=BooleanField())
    return waiting().annotate(may_judge=answer)


def waiting_of(rule: PolicyRule) -> PolicyChange | None:
    """The change of this rule, if one waits."""
    return waiting().filter(rule=rule).first()


def ask(actor: Actor, rule: PolicyRule, before: Terms, after: Terms, *, removes: bool = False) -> PolicyChange:
    """Records a change that waits for a second admin; it replaces one that already waited."""
    known = waiting_of(rule)
    same = known is not None and (known.after, known.removes, known.asked_by_id) == (after, removes, _id(actor))
    if known is not None and same:
        return known
    event = record(
        actor, Action.POLICY_ASK, ObjectKind.POLICY, rule.pk, rule.name,
        before=before, after={"removed": True} if removes else after,
    )  # fmt: skip
    text = f"{actor.name} asked to lower the rule “{rule.name}”."
    tell(actor, event, text, scope=scope_of_rule(rule))
    return _asked(actor, rule, before, after, removes)


def _asked(actor: Actor, rule: PolicyRule, before: Terms, after: Terms, removes: bool) -> PolicyChange:
    drop(rule)
    return PolicyChange.objects.create(
        rule=rule, rule_version=rule.version, before=before, after=after, removes=removes, asked_by=actor.person
    )


def _id(actor: Actor) -> Any:
    return actor.person.pk if actor.person else None


def made_here(actor: Actor, rule: PolicyRule, before: Terms, after: Terms, *, removes: bool = False) -> None:
    """Requests and applies a change at once, for a command on the machine."""
    apply(actor, _asked(actor, rule, before, after, removes))


def apply(actor: Actor, change: PolicyChange) -> None:
    """Records that the change takes effect now, and who confirmed it; the database refuses two people who aren't independent."""
    PolicyChange.objects.filter(pk=change.pk).update(applied_at=Now(), confirmed_by=actor.person)


def drop(rule: PolicyRule) -> int:
    """Ends the change that waits for the rule, which has changed meanwhile or stays as it is."""
    return waiting().filter(rule=rule).update(dropped_at=Now())


def outcomes(events: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
    """What has become by now of the requests to lower a rule among these events, in a sentence each. One query if there is none."""
    asked = list(Event.objects.filter(pk__in=list(events), action=Action.POLICY_ASK))
    return {event.pk: _outcome(event) for event in asked}


def _outcome(event: Event) -> str:
    """The event and the change that it is about were written in one transaction, the event first."""
    known = PolicyChange.objects.filter(rule=uuid.UUID(event.object_id), asked_at__gte=event.at).select_related(
        "confirmed_by"
    )
    change = known.order_by("asked_at").first()
    if change is None:
        return ""
    if change.applied_at is not None:
        who = change.confirmed_by.name if change.confirmed_by else "a command on the machine"
        return f"It is in force: {who} confirmed it."
    if change.dropped_at is None:
        return "It waits for a second admin under Policies."
    declined = Event.objects.filter(
        action=Action.POLICY_DECLINE, outcome=EventOutcome.ALLOWED, object_id=event.object_id, at__gte=change.asked_at
    )
    by = declined.filter(at__lte=change.dropped_at).order_by("at").first()
    if by is None:
        return "It no longer waits: another change of the rule has overtaken it."
    return f"It no longer waits: {by.actor_name} {'took it back' if by.actor_id == event.actor_id else 'declined it'}."


def require_second(actor: Actor, change: PolicyChange) -> None:
    """Raises Problem 403 `not_your_own`, `not_independent` for an actor who can't be the second admin."""
    if actor.person is None or change.asked_by is None:
        return
    if actor.person.pk == change.asked_by_id:
        detail = (
            f"You requested this, so another admin has to confirm it; or run this on the machine: {command(change)}"
        )
        raise Problem(403, "not_your_own", detail)
    doubt = doubt_of(actor.person, change)
    if doubt is not None or not may_judge(actor.person, change.asked_by, Role.ADMIN, scope_of_rule(change.rule)):
        detail = f"Your confirmation doesn’t count here: {doubt.why} {doubt.remedy} {doubt.command}" if doubt else (
            f"Only an admin of the rule’s scope whose role doesn’t come from {change.asked_by.name} can confirm this."
        )  # fmt: skip
        raise Problem(403, "not_independent", f"{detail} The old rule still applies.")


def doubt_among(doubts: Doubts, change: PolicyChange) -> Doubt | None:
    """`doubt_of` for one of many changes, where the database has answered that the person can't be the second admin."""
    if change.asked_by is None or change.asked_by == doubts.judge:
        return None
    return doubts.about(change.asked_by, Role.ADMIN, scope_of_rule(change.rule))


def doubt_of(person: Person, change: PolicyChange) -> Doubt | None:
    """Why a person can't be the second admin: one appointed the other, or both come from the same one. None if they can."""
    if change.asked_by is None:
        return None
    return doubt_about(person, change.asked_by, Role.ADMIN, scope_of_rule(change.rule))


def command(change: PolicyChange) -> str:
    """What confirms the change on the machine, without a second admin."""
    return machine_command(f"policy confirm {change.rule_id}")


def scope_of_rule(rule: PolicyRule) -> GrantScope:
    """The scope of the rule."""
    return GrantScope(root_id=rule.root_id, table_id=rule.table_id)
