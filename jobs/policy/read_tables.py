"""The table that a job takes rows from beside the one that it changes, as a clone does: its approvals come from approvers of both.

The role on the job's own table is the database's to check (`jobs_approvals`), the role on the other one is checked here.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from console.accounts.appointments import Doubt, doubt_about, who_may_judge
from console.accounts.authority import GrantScope
from console.accounts.models import Person
from console.accounts.roles import Permission, Role
from jobs.domain.policy import APPROVER
from jobs.models import Decision, Job


@dataclass(frozen=True, slots=True)
class ReadTable:
    """The other table, as the preview names it."""

    id: uuid.UUID
    root_id: uuid.UUID
    name: str

    @property
    def place(self) -> GrantScope:
        return GrantScope(table_id=self.id)


def read_table(preview: Mapping[str, Any] | None) -> ReadTable | None:
    """The other table of a preview; None for most commands."""
    reads = (preview or {}).get("reads")
    if not reads:
        return None
    name = ((preview or {}).get("source") or {}).get("name") or "the other table"
    return ReadTable(uuid.UUID(reads["table"]), uuid.UUID(reads["root"]), name)


def why_not_there(person: Person, job: Job) -> str:
    """Why the person can't approve what the job reads, whatever they may on its own table; empty if they can."""
    other = read_table(job.preview)
    if other is None or person.scopes(Permission.JOB_DECIDE).covers_table(other.root_id, other.id):
        return ""
    return f"Approving it takes the role approver on {other.name} too, whose rows it reads."


def doubt_there(person: Person, job: Job) -> Doubt | None:
    """Why the person's approval doesn't count there because of who appointed them; None if it does, or if the job reads no other."""
    other = read_table(job.preview)
    return None if other is None else doubt_about(person, job.requested_by, _role(job), other.place)


def approvers_of_both(job: Job, other: ReadTable) -> frozenset[uuid.UUID]:
    """Whose approvals of the job's digest count on both tables now."""
    given = Decision.objects.filter(job=job, digest=job.digest, decision=Decision.Kind.APPROVE, voided_at=None)
    given = given.filter(person__is_active=True).exclude(person=job.requested_by)
    if job.policy.get("refuses_tokens"):
        given = given.filter(token=None)
    people = frozenset(given.values_list("person_id", flat=True))
    for place in (GrantScope(table_id=job.table_id), other.place):
        people = who_may_judge(people, job.requested_by, _role(job), place)
    return people


def decidable_by(person: Person) -> Q:
    """The jobs that read no other table than those that the person is an approver of."""
    scopes = person.scopes(Permission.JOB_DECIDE)
    if scopes.everything:
        return Q()
    roots, tables = ([str(each) for each in ids] for ids in (scopes.roots, scopes.tables))
    own = Q(preview__reads__root__in=roots) | Q(preview__reads__table__in=tables)
    return Q(preview=None) | ~Q(preview__has_key="reads") | own


def _role(job: Job) -> Role:
    return Role(job.policy.get("role", APPROVER))
