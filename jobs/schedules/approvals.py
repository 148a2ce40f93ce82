"""What people decide about a schedule's definition, by its digest; the database counts (`jobs_schedule_approvals`)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from console.accounts.appointments import Doubt
from console.accounts.models import Person
from console.accounts.roles import Permission, Role, TokenScope
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record, refuse
from console.base.errors import Problem, broken
from jobs.domain.policy import Policy, TableClass
from jobs.lifecycle.cancelling import require_person
from jobs.models import Schedule, ScheduleDecision
from jobs.policy.approvers import authors_of, doubt_about_any
from jobs.policy.candidates import Candidates, candidates_for
from jobs.schedules import times
from jobs.schedules.definition import policy_of
from jobs.schedules.locking import locked_row
from jobs.schedules.places import SchedulePlace, may, place_of
from jobs.schedules.queries import is_author
from jobs.schedules.stopping import end_waiting, stop

COMMENT_LENGTH = 4000
State = Schedule.State
REJECTABLE = frozenset({State.AWAITING_APPROVAL, State.ACTIVE, State.PAUSED})


def policy_now(schedule: Schedule) -> Policy:
    """The policy of the schedule's command under the current rules."""
    authors = sorted(uuid.UUID(author) for author in {*schedule.edited_by, str(schedule.run_by_id)})
    return policy_of(schedule.command, authors, place_of(schedule), TableClass(schedule.table_class))


def candidates_of(authors: Collection[uuid.UUID], policy: Policy, place: SchedulePlace) -> Candidates | None:
    """Who could approve what these people define there; None, without a query, where no approval is needed."""
    if not policy.required_approvals:
        return None
    people = list(Person.objects.filter(pk__in=authors).order_by("name"))
    return candidates_for(people, policy.role, place.scope, policy.required_approvals)


def doubt_of(judge: Person, schedule: Schedule) -> Doubt | None:
    """Why a person's approval doesn't count because of who appointed them or gave them the role; None if it does."""
    role = Role(schedule.policy.get("role", Role.APPROVER.value))
    return doubt_about_any(judge, authors_of(schedule), role, place_of(schedule).scope)


def required(schedule: Schedule) -> int:
    """The approvals that it needs: as when it was defined, or by the current rules, whichever is more."""
    return max(int(schedule.policy.get("required_approvals", 0)), policy_now(schedule).required_approvals)


def approvals(schedule: Schedule) -> int:
    """The approvals of its digest that count now."""
    with connection.cursor() as cursor:
        cursor.execute("select jobs_schedule_approvals(%s, %s)", [schedule.pk, schedule.digest])
        return int(cursor.fetchone()[0])


def is_approved(schedule: Schedule) -> bool:
    """Whether its definition has as many approvals as it needs now."""
    needed = required(schedule)
    return needed == 0 or approvals(schedule) >= needed


def approve(actor: Actor, schedule: Schedule, digest: str, comment: str = "") -> None:
    """Approves exactly this digest as one person. The approval that completes the quorum makes the schedule active.

    Raises Problem: 403 `forbidden`, `not_your_own`, `not_independent`, `tokens_refused`; 409 `stale`, `already_decided`,
    `wrong_state`; 503.
    """
    _check_may_decide(actor, schedule, Action.SCHEDULE_APPROVE, comment)
    with _deciding(actor, schedule, Action.SCHEDULE_APPROVE), transaction.atomic():
        locked = _fresh(schedule, digest, frozenset({State.AWAITING_APPROVAL}))
        _check_counts(actor, locked)
        _decide(actor, locked, Action.SCHEDULE_APPROVE, "approve", comment)
        if is_approved(locked):
            activate(locked)


def activate(locked: Schedule) -> None:
    """Runs are opened from now on. The caller holds the row, in its transaction, and has audited why. Raises Problem 409 `wrong_state`."""
    try:
        due = times.upcoming(locked.cron, locked.time_zone, timezone.now(), 1)[0]
    except times.NeverDue as never:
        text = f"{never} {times.CHOOSE_AGAIN} Nothing was changed."
        raise Problem(409, "wrong_state", text, state=locked.state) from None
    Schedule.objects.filter(pk=locked.pk).update(
        state=State.ACTIVE, state_at=Now(), state_text="", next_due_at=due, failures=0
    )


def reject(actor: Actor, schedule: Schedule, digest: str, comment: str = "") -> None:
    """Rejects the definition: one rejection stops the schedule, even when it is active. Raises Problem as `approve` does."""
    _check_may_decide(actor, schedule, Action.SCHEDULE_REJECT, comment)
    with _deciding(actor, schedule, Action.SCHEDULE_REJECT), transaction.atomic():
        locked = _fresh(schedule, digest, REJECTABLE)
        _decide(actor, locked, Action.SCHEDULE_REJECT, "reject", comment)
        locked.decisions.filter(voided_at=None, decision="approve").update(voided_at=Now())
        text = f"Rejected by {actor.name}{f': {comment}' if comment else '.'}"
        end_waiting(actor, locked, text)
        stop(actor, locked, text)


def _check_may_decide(actor: Actor, schedule: Schedule, action: Action, comment: str) -> None:
    """Requires another person's schedule, and the role on its table. There is no bypass."""
    if len(comment) > COMMENT_LENGTH:
        text = f"A comment can have at most {COMMENT_LENGTH:,} characters."
        raise Problem(400, "invalid", text, fields={"comment": text})
    person = require_person(actor)
    if is_author(person, schedule):
        problem = Problem(403, "not_your_own", "You can’t decide about your own schedule. Nothing was changed.")
    elif actor.token is not None and not actor.token.allows(TokenScope.APPROVE):
        problem = Problem(403, "forbidden", "This token lacks the scope approve.")
    elif not may(person, Permission.JOB_DECIDE, place := place_of(schedule)):
        what = "this table" if place.table is not None else place.name
        problem = Problem(403, "forbidden", f"Only an approver of {what} can decide about its schedules.")
    else:
        return
    refuse(actor, action, ObjectKind.SCHEDULE, schedule.pk, schedule.name, problem)


def _fresh(schedule: Schedule, digest: str, states: frozenset[Schedule.State]) -> Schedule:
    """The locked row, if it is the one that the person looked at."""
    locked = locked_row(schedule)
    if locked.digest != digest:
        text = "The schedule is no longer the one that you looked at. Nothing was decided; review it as it is now."
        raise Problem(409, "stale", text, digest=locked.digest)
    if locked.state not in states:
        raise wrong_state(locked)
    return locked


def wrong_state(schedule: Schedule) -> Problem:
    """The state that the schedule is in doesn't take this act."""
    words = schedule.state.replace("_", " ")
    return Problem(
        409,
        "wrong_state",
        f"The schedule is {words} now, so you can’t do this. Nothing was changed.",
        state=schedule.state,
    )


def _check_counts(actor: Actor, locked: Schedule) -> None:
    """Refuses an approval that wouldn't count."""
    if actor.token is not None and locked.policy.get("refuses_tokens"):
        text = "A rule requires approval in the browser; a token’s approval doesn’t count."
        raise Problem(403, "tokens_refused", text)
    doubt = doubt_of(require_person(actor), locked)
    if doubt is not None:
        text = f"Your approval doesn’t count here: {doubt.why} Nothing was decided. {doubt.remedy} {doubt.command}"
        raise Problem(403, "not_independent", text)


def _decide(actor: Actor, locked: Schedule, action: Action, decision: str, comment: str) -> None:
    record(
        actor, action, ObjectKind.SCHEDULE, locked.pk, locked.name,
        reason=comment, digest=locked.digest, table=locked.table_id,
    )  # fmt: skip
    ScheduleDecision.objects.create(
        schedule=locked,
        person=require_person(actor),
        decision=decision,
        digest=locked.digest,
        comment=comment,
        token=actor.token,
    )


_REFUSED: dict[str, tuple[int, str, str]] = {
    "schedule_decision_once": (
        409,
        "already_decided",
        "You have already decided about this schedule. Nothing was changed.",
    ),
    "schedule_decision_not_own": (
        403,
        "not_your_own",
        "You can’t decide about your own schedule. Nothing was changed.",
    ),
    "schedule_decision_stale": (409, "stale", "The schedule has changed since you looked at it. Nothing was decided."),
    "schedule_decision_state": (409, "wrong_state", "The schedule no longer takes this decision. Nothing was changed."),
}


@contextmanager
def _deciding(actor: Actor, schedule: Schedule, action: Action) -> Iterator[None]:
    """Around a decision: records what the service or the database refuses, in a separate transaction."""
    try:
        yield
    except IntegrityError as error:
        problem = _named(error)
    except Problem as refused:
        if refused.status == 503:
            raise
        problem = refused
    else:
        return
    refuse(actor, action, ObjectKind.SCHEDULE, schedule.pk, schedule.name, problem)


def _named(error: IntegrityError) -> Problem:
    if broken(error) not in _REFUSED:
        raise error
    return Problem(*_REFUSED[broken(error)])
