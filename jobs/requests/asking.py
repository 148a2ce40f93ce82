"""Requests for jobs: the one way in for a command. It checks, acts and records in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from console.accounts.models import Person
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem, broken
from jobs.commands.base import Prepared
from jobs.commands.registry import handling_of, queue_of
from jobs.domain.commands import Command, command_to_json
from jobs.domain.digest import sha256_of
from jobs.domain.states import OPEN, SENTENCE, Cause, State
from jobs.domain.storable import storable_text
from jobs.lifecycle import wakeups
from jobs.lifecycle.cancelling import digest_of, require_person
from jobs.lifecycle.fault_points import FaultPoint, reached
from jobs.lifecycle.transitions import move
from jobs.models import Job, JobEvent, Worker
from jobs.policy import evaluate, protection
from jobs.requests import rehearsals
from jobs.targets.access import job_for
from jobs.targets.subject import Subject
from tables.models import Table

EXPIRES_AFTER = timedelta(days=7)
REASON_LENGTH = 2000


@dataclass(frozen=True, slots=True)
class Requested:
    """A job, and whether this call made it (False: an earlier call with the same idempotency key did)."""

    job: Job
    fresh: bool


def request(
    actor: Actor,
    command: Command,
    reason: str,
    idempotency_key: str | None = None,
    *,
    seen: Subject | None = None,
    rehearse: bool = False,
) -> Requested:
    """Requests a command: job, event and audit in one transaction, the wake-up after commit.

    `seen` is the table that the requesting page was built from; it saves another read. With `rehearse` the preview also runs the command
    on a private clone of the table. Raises Problem: 400 (the reason, or what the command refuses from its text alone), 409
    `already_open`, `protected` or `idempotency_conflict`, 503 `audit_unavailable`; and what the command's `prepare` raises for this
    person and place.
    """
    check_reason(reason)
    handling = handling_of(command.kind)
    handling.check(command)
    extra = {"rehearse": True} if rehearse else {}
    request_sha = sha256_of({**handling.asked(command), "command": command.kind, "reason": reason, **extra})
    known = _known_request(actor, idempotency_key, request_sha) if idempotency_key else None
    if known is not None:
        return Requested(known, fresh=False)
    if rehearse:
        rehearsals.require(command.kind)
    prepared = handling.prepare(actor, command, seen)
    if rehearse:
        rehearsals.require_clonable(prepared.table().pk)
    protection.require_unprotected(actor, command.kind, prepared.location, prepared.preview)
    job = _new_job(require_person(actor), prepared, reason, idempotency_key, request_sha)
    job.rehearse = rehearse
    return _open(actor, job, prepared.table)


def _open(actor: Actor, job: Job, table: Callable[[], Table]) -> Requested:
    """Job, event and audit in one transaction, the wake-up after commit."""
    try:
        with transaction.atomic():
            _write(actor, job, table)
            wakeups.wake_after_commit(Worker.Kind.INTERACTIVE)
            written = Job.objects.select_related("table", "requested_by").get(pk=job.pk)
    except IntegrityError as error:
        return _lost_race(actor, job, job.request_sha256, error)
    # No reads after the commit: a failure there would hide that the request was recorded.
    return Requested(written, fresh=True)


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A request's idempotency key, and the sha256 of what it was used for."""

    text: str
    request_sha256: str


def known_request(actor: Actor, key: IdempotencyKey) -> Job | None:
    """The job that this key made, as it is now. Raises Http404, Problem 409 `idempotency_conflict` if it was for another request."""
    return _known_request(actor, key.text, key.request_sha256)


def enter_measured(
    actor: Actor, requester: Person, prepared: Prepared, reason: str, key: IdempotencyKey | None = None
) -> Job:
    """Enters a job whose preview is complete as it is: queued, or waiting for its approvals. In the caller's transaction.

    `actor` is who enters it, Levee itself for the rounds of a running stream; `requester` is the person whom it runs for. Raises
    IntegrityError if the same job is open, Problem 503 `audit_unavailable`.
    """
    known = key or IdempotencyKey("", sha256_of(command_to_json(prepared.command)))
    job = _new_job(requester, prepared, reason, known.text or None, known.request_sha256)
    job.table = prepared.table()
    job.base_version = job.table.version
    policy = evaluate.policy_of(job, prepared.preview or {})
    job.policy = policy.as_json()
    with transaction.atomic():
        _write(actor, job, lambda: job.table)
        target = State.AWAITING_APPROVAL if policy.required_approvals else State.QUEUED
        move(
            job, target, Cause.DISPATCHER, actor.name,
            policy=job.policy, digest=digest_of(job), queued_at=Now(), progress={},
        )  # fmt: skip
        wakeups.wake_after_commit(queue_of(job.command))
    return Job.objects.select_related("table", "requested_by").get(pk=job.pk)


def enter(actor: Actor, requester: Person, prepared: Prepared, reason: str, schedule: uuid.UUID) -> Job:
    """Enters a scheduled job, which is previewed like any other. In the caller's transaction.

    `actor` is who enters it, Levee itself; `requester` is the person in whose name it runs. Raises IntegrityError if the same job is
    open, Problem 503 `audit_unavailable`.
    """
    job = _new_job(requester, prepared, reason, None, sha256_of(command_to_json(prepared.command)))
    job.schedule_id = schedule
    with transaction.atomic():
        _write(actor, job, prepared.table)
        wakeups.wake_after_commit(Worker.Kind.INTERACTIVE)
    return job


def check_reason(reason: str) -> None:
    if not reason.strip():
        raise Problem(
            400, "invalid", "A job needs a reason; nothing was requested.", fields={"reason": "Enter a reason."}
        )
    if len(reason) > REASON_LENGTH:
        text = f"A reason can have at most {REASON_LENGTH} characters."
        raise Problem(400, "invalid", text, fields={"reason": text})
    if storable_text(reason) != reason:
        text = "The reason holds a character that can’t be stored."
        raise Problem(400, "invalid", text, fields={"reason": text})


def _known_request(actor: Actor, key: str, request_sha: str) -> Job | None:
    """The job that this key made. Raises Http404 if the person may no longer see it, Problem 409 `idempotency_conflict`."""
    person = require_person(actor)
    known = Job.objects.filter(requested_by=person, idempotency_key=key).first()
    job = job_for(person, known.pk) if known else None
    if job is not None and job.request_sha256 != request_sha:
        detail = "This Idempotency-Key was used for another request; nothing was requested. Use a fresh key."
        raise Problem(409, "idempotency_conflict", detail, job=str(job.pk))
    return job


def _new_job(requester: Person, prepared: Prepared, reason: str, idempotency_key: str | None, request_sha: str) -> Job:
    command = prepared.command
    parameters = command_to_json(command)
    return Job(
        command=command.kind,
        schema_version=command.schema_version,
        parameters=parameters,
        parameters_sha256=sha256_of(parameters),
        location=prepared.location,
        state=State.PREVIEWING,
        requested_by=requester,
        reason=reason,
        expires_at=timezone.now() + EXPIRES_AFTER,
        idempotency_key=idempotency_key,
        request_sha256=request_sha,
        preview=prepared.preview,
        undoes_id=prepared.undoes,
    )


def _write(actor: Actor, job: Job, table: Callable[[], Table]) -> None:
    """Writes the table's entry, which a convert may add and record; then audit, row and first event."""
    job.table = table()
    after: dict[str, Any] = {"command": job.command, "parameters": job.parameters, "location": job.location}
    if job.rehearse:
        after["rehearse"] = True
    record(
        actor, Action.JOB_REQUEST, ObjectKind.JOB, job.pk, str(job),
        reason=job.reason, after=after, job=job.pk, table=job.table_id,
    )  # fmt: skip
    job.save(force_insert=True)
    JobEvent.objects.create(
        job=job,
        kind="requested",
        who=actor.name,
        target=job.state,
        text=f"Requested: {job.reason}",
        table_text=SENTENCE[State.PREVIEWING],
    )
    reached(FaultPoint.REQUEST_WRITTEN)


def _lost_race(actor: Actor, job: Job, request_sha: str, error: IntegrityError) -> Requested:
    if broken(error) == "job_idempotency" and job.idempotency_key:
        known = _known_request(actor, job.idempotency_key, request_sha)
        if known is not None:
            return Requested(known, fresh=False)
    if broken(error) != "job_already_open":
        raise error
    same = Job.objects.filter(
        location=job.location, command=job.command, parameters_sha256=job.parameters_sha256, state__in=OPEN
    ).first()
    detail = "The same request is already open; nothing was requested. Follow that one, or withdraw it first."
    raise Problem(409, "already_open", detail, job=str(same.pk) if same else None)
