"""The one way to change a job's state: the conditional update, its event and everything that ends with a job, in one transaction."""

from __future__ import annotations

import json
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from console.audit.actions import Action, EventOutcome, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from jobs.domain.errors import LeveeError
from jobs.domain.states import ENDED, SENTENCE, Cause, State, sources, table_state
from jobs.models import Attempt, Job, JobEvent, TableLease


class Fenced(LeveeError):
    """The write came too late: the claim has lost the job, or its state no longer allows the change. Nothing was written."""


def move(
    job: Job,
    target: State,
    cause: Cause,
    who: str,
    *,
    text: str | None = None,
    token: int | None = None,
    attempt: int | None = None,
    attempt_outcome: str = "",
    release: bool = False,
    only_from: frozenset[State] | None = None,
    kind: str | None = None,
    **changes: Any,
) -> None:
    """Moves the job to `target` if `cause` may do so from its state, and (with `token`) the claim still owns it.

    Writes the event. At an end, or with `release`, frees the lease and table lease and ends the open attempt with
    `attempt_outcome`; audits an end. Raises Fenced if the row didn't qualify: then nothing was written.
    """
    ended = target in ENDED
    changes["state"] = target
    if ended:
        changes["finished_at"] = Now()
    if ended or release:
        changes["lease_until"] = None
    allowed = sources(target, cause) & (only_from or frozenset(State))
    rows = Job.objects.filter(pk=job.pk, state__in=allowed)
    with transaction.atomic():
        # The token fences: a worker that lost its claim holds an older one and finds no row, whatever it believes.
        before = rows.filter(token=token) if token is not None else rows
        locked = before.select_for_update().values_list("state", "attempt", "progress").first()
        if locked is None:
            raise Fenced(f"job {job.pk} can't become {target} now")
        Job.objects.filter(pk=job.pk).update(**changes)
        number = attempt if attempt is not None else locked[1]
        progress = changes.get("progress", locked[2])
        meaning = table_state(
            target,
            changes.get("version"),
            no_op=bool(changes.get("no_op")),
            committed=bool(progress.get("committed")),
            unproven=bool(progress.get("unproven")),
        )
        _event(job, who, State(locked[0]), target, text, meaning, number, kind or target.value)
        if ended or release:
            TableLease.objects.filter(job=job).delete()
            Attempt.objects.filter(job=job, ended_at=None).update(
                ended_at=Now(), outcome=attempt_outcome or target.value
            )
        if ended:
            _audit_end(job, who, target, changes)


def _event(
    job: Job,
    who: str,
    source: State,
    target: State,
    text: str | None,
    meaning: str,
    attempt: int,
    kind: str,
) -> None:
    JobEvent.objects.create(
        job=job,
        kind=kind,
        who=who,
        source=source.value,
        target=target.value,
        attempt=attempt or None,
        text=text or SENTENCE[target],
        table_text=meaning,
    )


def _audit_end(job: Job, who: str, target: State, changes: dict[str, Any]) -> None:
    error = changes.get("error") or {}
    record(
        Actor.system(who),
        Action.JOB_END,
        ObjectKind.JOB,
        job.pk,
        str(job),
        outcome=EventOutcome.FAILED if target in {State.FAILED, State.STALE} else EventOutcome.ALLOWED,
        reason=f"{error['code']}: {error['message']}" if error else "",
        after={"state": target.value, "no_op": bool(changes.get("no_op"))},
        job=job.pk,
        digest=job.digest,
        table_version=changes.get("version"),
    )


def note(job: Job, who: str, kind: str, text: str, table_text: str = "") -> None:
    """Writes an event without a change of state."""
    JobEvent.objects.create(job=job, kind=kind, who=who, attempt=job.attempt or None, text=text, table_text=table_text)


def renew(job: Job, token: int, lease_seconds: float, progress: dict[str, Any] | None = None) -> str | None:
    """Renews the claim's lease by the database's clock. Returns its state; None if the claim was lost or given up."""
    with connection.cursor() as cursor:
        cursor.execute(
            "update jobs_job set lease_until = clock_timestamp() + make_interval(secs => %s), progress = coalesce(%s::jsonb, progress)"
            " where id = %s and token = %s and lease_until is not null"
            " and state in ('running', 'cancelling', 'previewing') returning state",
            [lease_seconds, _json(progress), job.pk, token],
        )
        row = cursor.fetchone()
    return str(row[0]) if row else None


def _json(value: dict[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(value)


def release(job: Job, cause: Cause, who: str, text: str, *, token: int | None = None) -> None:
    """Gives a job back after a planned stop, which doesn't count as an attempt. Raises Fenced like `move`."""
    with transaction.atomic():
        move(
            job, State.QUEUED, cause, who,
            text=text, token=token, release=True, attempt_outcome="released", kind="released",
        )  # fmt: skip
        Job.objects.filter(pk=job.pk, attempt__gt=0).update(attempt=F("attempt") - 1)
