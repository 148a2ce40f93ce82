"""People's acts on jobs: cancel and withdraw. Each checks, acts and audits in one transaction."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models.functions import Now

from console.accounts.models import Person
from console.accounts.roles import Permission, TokenScope
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record, refuse
from console.base.errors import Problem
from jobs.domain.digest import request_digest
from jobs.domain.states import Cause, State, sources
from jobs.lifecycle.transitions import Fenced, move
from jobs.models import Job


def require_person(actor: Actor) -> Person:
    """The acting person. Raises PermissionDenied for Levee itself, since every job has a requester."""
    if actor.person is None:
        raise PermissionDenied("Only a person can request a job.")
    return actor.person


def digest_of(job: Job) -> str:
    """The digest over the job's stored row."""
    return request_digest(
        command=job.command,
        schema_version=job.schema_version,
        parameters=job.parameters,
        location=job.location,
        # The preview's table id, not the catalog's: the catalog follows the table, and a changed table is drift, not another request.
        table_id=(job.preview or {}).get("table_id"),
        base_version=job.base_version,
        preview=job.preview,
        policy=job.policy,
        reason=job.reason,
        requested_by=str(job.requested_by_id),
        expires_at=job.expires_at.isoformat(),
        revision=job.revision,
    )


def cancel(actor: Actor, job: Job) -> None:
    """Cancels a job: at once while it waits, else through the state `cancelling`, on which its worker acts until the run has ended.

    Raises Problem 403 `forbidden`, 409 `wrong_state`.
    """
    _check_cancel(actor, job)
    target = State.CANCELLED if job.state in sources(State.CANCELLED, Cause.CANCELLER) else State.CANCELLING
    _act(actor, job, target, Cause.CANCELLER, Action.JOB_CANCEL, "Cancelled.")


def withdraw(actor: Actor, job: Job) -> None:
    """Withdraws the actor's own request before it runs. Raises Problem 403 `forbidden`, 409 `wrong_state`."""
    if actor.person is None or job.requested_by_id != actor.person.pk:
        problem = Problem(403, "forbidden", "Only the requester can withdraw a job.")
        refuse(actor, Action.JOB_WITHDRAW, ObjectKind.JOB, job.pk, str(job), problem)
    _act(actor, job, State.WITHDRAWN, Cause.REQUESTER, Action.JOB_WITHDRAW, "Withdrawn.")


def may_cancel(person: Person, job: Job) -> bool:
    """Whether the person may cancel the job: their own as an operator, any as an admin of its scope."""
    own = job.requested_by_id == person.pk and person.scopes(Permission.JOB_REQUEST)
    return bool(own) or person.scopes(Permission.JOB_CANCEL_ANY).covers_table(job.table.root_id, job.table_id)


def _check_cancel(actor: Actor, job: Job) -> None:
    own = job.requested_by_id == require_person(actor).pk
    needed = TokenScope.REQUEST if own else TokenScope.ADMIN
    allowed = actor.token is None or any(map(actor.token.allows, {needed, TokenScope.ADMIN}))
    if not allowed or not may_cancel(require_person(actor), job):
        problem = Problem(403, "forbidden", "Only the requester or an admin can cancel a job.")
        refuse(actor, Action.JOB_CANCEL, ObjectKind.JOB, job.pk, str(job), problem)


def _act(actor: Actor, job: Job, target: State, cause: Cause, action: Action, text: str) -> None:
    changes: dict[str, Any] = {}
    if target is State.CANCELLING:
        changes = {"cancel_requested_at": Now(), "cancel_requested_by": actor.person}
    try:
        with transaction.atomic():
            record(actor, action, ObjectKind.JOB, job.pk, str(job), reason=text, job=job.pk, digest=job.digest)
            move(job, target, cause, actor.name, text=text, **changes)
    except Fenced:
        job.refresh_from_db()
        detail = f"The job is now {job.state.replace('_', ' ')}, so you can’t do this any more. Nothing changed."
        raise Problem(409, "wrong_state", detail, state=job.state) from None
