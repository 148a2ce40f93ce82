"""Whose approval of a request counts, and why another's doesn't. The database counts them (`jobs_approvals`)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from console.accounts.appointments import Doubt, appointed_by, appointments_of, doubt_about
from console.accounts.authority import Scope, holds_on
from console.accounts.models import Person
from console.accounts.roles import Permission, Role
from jobs.models import Decision, Job


@dataclass(frozen=True, slots=True)
class Weight:
    """Who appointed the approver, and why the approval doesn't count (empty: it does)."""

    appointed: str
    why_not: str
    command: str = ""  # run on the machine, it makes the approval count


def doubt_of(judge: Person, job: Job) -> Doubt | None:
    """Why a person's approval of the job doesn't count because of who appointed them; None if it does."""
    return doubt_about(judge, job.requested_by, _role(job), Scope(table_id=job.table_id))


def _role(job: Job) -> Role:
    return Role(job.policy.get("role", Role.APPROVER.value))


def weights(job: Job, decisions: Iterable[Decision]) -> dict[uuid.UUID, Weight]:
    """Whether each approval of a request counts now, by person."""
    people = {d.person_id: d.person for d in decisions if d.decision == Decision.Kind.APPROVE and d.voided_at is None}
    known = list(appointments_of(people)) if people else []
    return {pk: _weight(job, p, appointed_by(a for a in known if a.person_id == pk)) for pk, p in people.items()}


def _weight(job: Job, person: Person, appointed: str) -> Weight:
    if not person.is_active:
        return Weight(appointed, f"It no longer counts: {person.name}’s account is closed.")
    if not holds_on(person, Permission.JOB_DECIDE, Scope(table_id=job.table_id)):
        return Weight(appointed, f"It no longer counts: {person.name} isn’t an approver here now.")
    doubt = doubt_of(person, job)
    if doubt is None:
        return Weight(appointed, "")
    return Weight(appointed, f"It doesn’t count: {doubt.why}", doubt.command)
