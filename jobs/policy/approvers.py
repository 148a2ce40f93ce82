"""Whose approval of a request counts, and why another's doesn't. The database counts them (`jobs_approvals`)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from console.accounts.appointments import Doubt, appointed_by, appointments_of, doubt_about
from console.accounts.authority import GrantScope, holds_on
from console.accounts.models import Person
from console.accounts.roles import Permission, Role
from jobs.models import Decision, Job, Schedule
from jobs.policy.read_tables import doubt_there, why_not_there


@dataclass(frozen=True, slots=True)
class Weight:
    """Who appointed the approver, and why the approval doesn't count (empty: it does)."""

    appointed: str
    why_not: str
    command: str = ""  # run on the machine, it makes the approval count


def doubt_of(judge: Person, job: Job) -> Doubt | None:
    """Why a person's approval of the job doesn't count because of who appointed them; None if it does.

    The authors of the schedule whose run it is count as its requester does.
    """
    authors = [job.requested_by] if job.schedule is None else authors_of(job.schedule)
    return doubt_about_any(judge, authors, _role(job), GrantScope(table_id=job.table_id)) or doubt_there(judge, job)


def authors_of(schedule: Schedule) -> list[Person]:
    """Everyone who shaped a schedule's definition, and the person whom it runs for."""
    return list(Person.objects.filter(pk__in={*schedule.edited_by, str(schedule.run_by_id)}).order_by("name"))


def doubt_about_any(judge: Person, authors: Iterable[Person], role: Role, scope: GrantScope) -> Doubt | None:
    """Why the person's decision on what several people shaped doesn't count: the first doubt about one of them."""
    doubts = (doubt_about(judge, author, role, scope) for author in authors)
    return next((doubt for doubt in doubts if doubt is not None), None)


def has_shaped(person: Person, job: Job) -> bool:
    """Whether the person is an author of the schedule whose run it is: then another person decides."""
    return job.schedule is not None and str(person.pk) in job.schedule.edited_by


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
    if not holds_on(person, Permission.JOB_DECIDE, GrantScope(table_id=job.table_id)):
        return Weight(appointed, f"It no longer counts: {person.name} isn’t an approver here now.")
    if why := why_not_there(person, job):
        return Weight(appointed, f"It doesn’t count: {why[:1].lower()}{why[1:]}")
    doubt = doubt_of(person, job)
    if doubt is None:
        return Weight(appointed, "")
    return Weight(appointed, f"It doesn’t count: {doubt.why}", doubt.command)
