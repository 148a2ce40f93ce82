"""Asking for a job: the one door through which a command comes in. Each checks, does and records together, in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record, refuse
from console.errors import Problem
from jobs import broker, locating
from jobs.domain.commands import Command, Convert, Delete, Restore, command_to_json
from jobs.domain.convert import check_convert
from jobs.domain.digest import sha256_of
from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.partitions import CODE
from jobs.domain.predicates import to_text
from jobs.domain.predicates.stored import to_json
from jobs.domain.states import OPEN, SENTENCE, State
from jobs.models import Job, JobEvent, Worker
from jobs.points import Point, reached
from jobs.preview.delete import from_log
from jobs.preview.problems import problem_of_refused
from jobs.preview.subject import subject_of
from jobs.services import require_person
from tables import queries
from tables.models import Table

EXPIRES_AFTER = timedelta(days=7)
REASON_LENGTH = 2000


@dataclass(frozen=True, slots=True)
class Requested:
    """A job, and whether this call made it (False: the idempotency key had made it before)."""

    job: Job
    fresh: bool


def request(actor: Actor, command: Command, reason: str, idempotency_key: str | None = None) -> Requested:
    """Asks for any command, as a program names it. Raises Problem as the command's own function does."""
    match command:
        case Convert():
            return request_convert(actor, command, reason, idempotency_key)
        case Delete():
            return request_delete(actor, uuid.UUID(command.table), command.predicate, reason, idempotency_key)
        case Restore():
            return request_restore(actor, uuid.UUID(command.table), command.version, reason, idempotency_key)


def request_convert(actor: Actor, command: Convert, reason: str, idempotency_key: str | None = None) -> Requested:
    """Asks for a conversion: job, event and audit in one transaction, the wake-up after commit.

    Raises Problem: 400 (reason, source format, partition schema), 403 `outside_roots` or `forbidden`, 404, 409
    `already_open` or `idempotency_conflict`, 503 `audit_unavailable`.
    """
    check_reason(reason)
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
    job = _new_job(actor, command, place.path, reason, idempotency_key, request_sha)
    return _open(actor, job, lambda: locating.entry(actor, place))


def request_delete(
    actor: Actor, table_id: uuid.UUID, predicate: str | None, reason: str, idempotency_key: str | None = None
) -> Requested:
    """Asks for a delete of the rows that match (None: of all). The log's preview is there at once, Spark's follows.

    Raises Http404; Problem 400 (reason, `predicate_refused`), 403 `forbidden`, 409 `already_open` or `idempotency_conflict`, 422
    (`not_delta`, `append_only`, `unreadable`), 503 `audit_unavailable`.
    """
    check_reason(reason)
    asked = {"command": Delete.kind, "table": str(table_id), "predicate": predicate, "reason": reason}
    request_sha = sha256_of(asked)
    known = _known_request(actor, idempotency_key, request_sha) if idempotency_key else None
    if known is not None:
        return Requested(known, fresh=False)
    table = _table_for(actor, table_id)
    command, preview = delete_command(table, predicate)
    job = _new_job(actor, command, table.path, reason, idempotency_key, request_sha)
    job.preview = preview
    return _open(actor, job, lambda: table)


def delete_command(table: Table, predicate: str | None) -> tuple[Delete, dict[str, Any]]:
    """The command, and what the log says about it. Raises Problem."""
    try:
        subject = subject_of(table.pk)
        node = None if predicate is None else subject.read(predicate)
        preview = from_log(subject, node).values
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None
    text, tree = (None, None) if node is None else (to_text(node), to_json(node))
    return Delete(table=str(table.pk), predicate=text, path=table.path, tree=tree), preview


def request_restore(
    actor: Actor,
    table_id: uuid.UUID,
    version: int,
    reason: str,
    idempotency_key: str | None = None,
    *,
    undoes: Job | None = None,
    accepted: tuple[int, ...] = (),
) -> Requested:
    """Asks for a restore to a version; `undoes` is the job whose commit it undoes, `accepted` the later commits that may go too.

    Raises Http404; Problem 400 (reason, a version that never was), 403 `forbidden`, 409, 410 `version_gone`, 422, 503.
    """
    check_reason(reason)
    asked = {"command": Restore.kind, "table": str(table_id), "version": version, "reason": reason}
    undone = str(undoes.pk) if undoes else None
    request_sha = sha256_of(asked | ({"undoes": undone} if undone else {}))
    known = _known_request(actor, idempotency_key, request_sha) if idempotency_key else None
    if known is not None:
        return Requested(known, fresh=False)
    table = _table_for(actor, table_id)
    _check_version(table, version)
    command = Restore(str(table.pk), version, table.path, undone, sorted(accepted))
    job = _new_job(actor, command, table.path, reason, idempotency_key, request_sha)
    job.undoes = undoes
    return _open(actor, job, lambda: table)


def _check_version(table: Table, version: int) -> None:
    try:
        head = subject_of(table.pk).version
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None
    if not 0 <= version <= head:
        text = f"The table has no version {version:,}: its newest is {head:,}. Nothing was asked for."
        raise Problem(400, "invalid", text, fields={"version": text})


def _table_for(actor: Actor, table_id: uuid.UUID) -> Table:
    """The table, for somebody who may ask for jobs on it. Raises Http404; Problem 403 `forbidden`, which is recorded."""
    person = require_person(actor)
    table = queries.table_for(person, table_id)
    if not person.scopes(Permission.JOB_REQUEST).covers_table(table.root_id, table.pk):
        problem = Problem(
            403, "forbidden", "You may see this table but not request jobs on it; that takes an operator."
        )
        refuse(actor, Action.JOB_REQUEST, ObjectKind.TABLE, table.pk, table.name, problem)
    return table


def _open(actor: Actor, job: Job, table: Callable[[], Table]) -> Requested:
    """Job, event and audit in one transaction, the wake-up after commit."""
    try:
        with transaction.atomic():
            _write(actor, job, table)
            broker.wake_after_commit(Worker.Kind.INTERACTIVE)
    except IntegrityError as error:
        return _lost_race(actor, job, job.request_sha256, error)
    return Requested(Job.objects.select_related("table", "requested_by").get(pk=job.pk), fresh=True)


def check_reason(reason: str) -> None:
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


def _new_job(
    actor: Actor, command: Command, location: str, reason: str, idempotency_key: str | None, request_sha: str
) -> Job:
    parameters = command_to_json(command)
    return Job(
        command=command.kind,
        schema_version=command.schema_version,
        parameters=parameters,
        parameters_sha256=sha256_of(parameters),
        location=location,
        state=State.PREVIEWING,
        requested_by=require_person(actor),
        reason=reason,
        expires_at=timezone.now() + EXPIRES_AFTER,
        idempotency_key=idempotency_key,
        request_sha256=request_sha,
    )


def _write(actor: Actor, job: Job, table: Callable[[], Table]) -> None:
    """The table's entry, which a convert may make and record; then audit, row and first event."""
    job.table = table()
    after: Mapping[str, Any] = {"command": job.command, "parameters": job.parameters, "location": job.location}
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
