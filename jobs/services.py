"""Acts on jobs because a person asked: each checks, does and records together, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from console.accounts.models import Person
from console.accounts.roles import Permission, TokenScope
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record, refuse
from console.errors import Problem
from jobs import broker, locating
from jobs.domain.commands import Command, Convert, command_to_json
from jobs.domain.convert import check_convert
from jobs.domain.digest import request_digest, sha256_of
from jobs.domain.errors import Refusal
from jobs.domain.partitions import CODE
from jobs.domain.states import OPEN, SENTENCE, Cause, State, sources
from jobs.models import Job, JobEvent, Worker
from jobs.points import Point, reached
from jobs.transitions import Fenced, move

EXPIRES_AFTER = timedelta(days=7)
REASON_LENGTH = 2000


@dataclass(frozen=True, slots=True)
class Requested:
    """A job, and whether this call made it (False: the idempotency key had made it before)."""

    job: Job
    fresh: bool


def request_convert(actor: Actor, command: Convert, reason: str, idempotency_key: str | None = None) -> Requested:
    """Asks for a conversion: job, event and audit in one transaction, the wake-up after commit.

    Raises Problem: 400 (reason, source format, partition schema), 403 `outside_roots` or `forbidden`, 404, 409
    `already_open` or `idempotency_conflict`, 503 `audit_unavailable`.
    """
    _check_reason(reason)
    _check(command)
    request_sha = sha256_of({"command": command.kind, "parameters": command_to_json(command), "reason": reason})
    if idempotency_key:
        known = _known_request(actor, idempotency_key, request_sha)
        if known is not None:
            return Requested(known, fresh=False)
    place = locating.for_convert(actor, command)
    _check_permission(actor, place)
    command = locating.by_catalog(command, place)
    _check(command)
    job = _new_job(actor, command, place, reason, idempotency_key, request_sha)
    try:
        with transaction.atomic():
            _write(actor, job, place)
            broker.wake_after_commit(Worker.Kind.INTERACTIVE)
    except IntegrityError as error:
        return _lost_race(actor, job, request_sha, error)
    return Requested(Job.objects.select_related("table", "requested_by").get(pk=job.pk), fresh=True)


def _check_reason(reason: str) -> None:
    if not reason.strip():
        raise Problem(400, "invalid", "A job needs a reason; nothing was asked for.", fields={"reason": "Say why."})
    if len(reason) > REASON_LENGTH:
        text = f"A reason has at most {REASON_LENGTH} characters."
        raise Problem(400, "invalid", text, fields={"reason": text})


def _check(command: Convert) -> None:
    refusals = check_convert(command)
    if refusals:
        raise problem_of(refusals[0])


# Fields of a request that a refusal's place may name; one about partitions is about their schema.
FIELDS = ("path", "name", "source_format", "partition_schema")


def problem_of(refusal: Refusal, status: int = 400) -> Problem:
    """A refusal of the domain as an answer; its place is named as a field where it is one."""
    message = refusal.message if refusal.message.endswith((".", "!", "?")) else f"{refusal.message}."
    detail = f"{message} {refusal.remedy}" if refusal.remedy else message
    engine = refusal.engine.as_json() if refusal.engine else None
    field = refusal.place if refusal.place in FIELDS else "partition_schema" if refusal.code == CODE else None
    code = "invalid" if refusal.code == "bad_request" else refusal.code
    fields = {field: detail} if field else None
    return Problem(status, code, detail, engine=engine, fields=fields, place=refusal.place)


def _known_request(actor: Actor, key: str, request_sha: str) -> Job | None:
    known = Job.objects.filter(requested_by=actor.person, idempotency_key=key)
    job = known.select_related("table", "requested_by").first()
    if job is not None and job.request_sha256 != request_sha:
        detail = "This Idempotency-Key was used for another request; nothing was asked for. Use a fresh key."
        raise Problem(409, "idempotency_conflict", detail, job=str(job.pk))
    return job


def _check_permission(actor: Actor, place: locating.Place) -> None:
    person = require_person(actor)
    scopes = person.scopes(Permission.JOB_REQUEST)
    allowed = scopes.covers_root(place.root.pk) or (place.table is not None and place.table.pk in scopes.tables)
    if not allowed:
        problem = Problem(
            403, "forbidden", "You may see this place but not request jobs on it; that takes an operator."
        )
        refuse(actor, Action.JOB_REQUEST, ObjectKind.PATH, place.path, place.path, problem)


def require_person(actor: Actor) -> Person:
    """The person who acts. Raises PermissionDenied for Levee itself: a job always has somebody who asked."""
    if actor.person is None:
        raise PermissionDenied("A job needs a person who asks for it.")
    return actor.person


def _new_job(
    actor: Actor, command: Command, place: locating.Place, reason: str, idempotency_key: str | None, request_sha: str
) -> Job:
    parameters = command_to_json(command)
    return Job(
        command=command.kind,
        schema_version=command.schema_version,
        parameters=parameters,
        parameters_sha256=sha256_of(parameters),
        location=place.path,
        state=State.PREVIEWING,
        requested_by=require_person(actor),
        reason=reason,
        expires_at=timezone.now() + EXPIRES_AFTER,
        idempotency_key=idempotency_key,
        request_sha256=request_sha,
    )


def _write(actor: Actor, job: Job, place: locating.Place) -> None:
    """Audit first, then the row and its first event."""
    after: Mapping[str, Any] = {"command": job.command, "parameters": job.parameters, "location": job.location}
    record(actor, Action.JOB_REQUEST, ObjectKind.JOB, job.pk, str(job), reason=job.reason, after=after, job=job.pk)
    job.table = locating.entry(actor, place)
    job.save(force_insert=True)
    JobEvent.objects.create(
        job=job,
        kind="requested",
        who=actor.name,
        target=job.state,
        text=f"Asked: {job.reason}",
        table_text=SENTENCE[State.PREVIEWING],
    )
    reached(Point.REQUEST_WRITTEN)


def _lost_race(actor: Actor, job: Job, request_sha: str, error: IntegrityError) -> Requested:
    if "job_idempotency" in str(error) and job.idempotency_key:
        known = _known_request(actor, job.idempotency_key, request_sha)
        if known is not None:
            return Requested(known, fresh=False)
    if "job_already_open" not in str(error):
        raise error
    same = Job.objects.filter(
        location=job.location, command=job.command, parameters_sha256=job.parameters_sha256, state__in=OPEN
    ).first()
    detail = "The same request is already open; nothing was asked for. Follow that one, or withdraw it first."
    raise Problem(409, "already_open", detail, job=str(same.pk) if same else None)


def digest_of(job: Job) -> str:
    """The digest over the job's row as it is stored now."""
    return request_digest(
        command=job.command,
        schema_version=job.schema_version,
        parameters=job.parameters,
        location=job.location,
        # As the preview found it: the entry of the table moves with the table, and that is drift, not another request.
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
    """Cancels a job: at once while it waits, else by a state that the worker keeps acting on until the run has ended.

    Raises Problem 403 `forbidden`, 409 `wrong_state`.
    """
    _check_cancel(actor, job)
    target = State.CANCELLED if job.state in sources(State.CANCELLED, Cause.CANCELLER) else State.CANCELLING
    _act(actor, job, target, Cause.CANCELLER, Action.JOB_CANCEL, "Cancelled.")


def withdraw(actor: Actor, job: Job) -> None:
    """Takes back one's own request before it runs. Raises Problem 403 `forbidden`, 409 `wrong_state`."""
    if actor.person is None or job.requested_by_id != actor.person.pk:
        problem = Problem(403, "forbidden", "Only the person who asked may withdraw a job.")
        refuse(actor, Action.JOB_WITHDRAW, ObjectKind.JOB, job.pk, str(job), problem)
    _act(actor, job, State.WITHDRAWN, Cause.REQUESTER, Action.JOB_WITHDRAW, "Withdrawn.")


def may_cancel(person: Person, job: Job) -> bool:
    """One's own job as an operator, or any as an admin of its place."""
    own = job.requested_by_id == person.pk and person.scopes(Permission.JOB_REQUEST)
    return bool(own) or person.scopes(Permission.JOB_CANCEL_ANY).covers_table(job.table.root_id, job.table_id)


def _check_cancel(actor: Actor, job: Job) -> None:
    own = job.requested_by_id == require_person(actor).pk
    needed = TokenScope.REQUEST if own else TokenScope.ADMIN
    allowed = actor.token is None or any(map(actor.token.allows, {needed, TokenScope.ADMIN}))
    if not allowed or not may_cancel(require_person(actor), job):
        problem = Problem(403, "forbidden", "Only the person who asked, or an admin, may cancel a job.")
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
        detail = (
            f"The job is {job.state.replace('_', ' ')} now; this can't be done to it any more. Nothing was changed."
        )
        raise Problem(409, "wrong_state", detail, state=job.state) from None
