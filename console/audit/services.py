"""Writing the audit. Called first, inside the act's own transaction: when it fails, the act is rolled back."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from django.db import DatabaseError, transaction

from console.audit.actions import Action, EventOutcome, ObjectKind
from console.audit.actor import Actor
from console.audit.models import Event
from console.audit.redaction import redacted
from console.base.disks import full_disk, says_full
from console.base.errors import Problem, is_unstorable
from console.base.logs import log
from console.base.text.masking import masked_text
from console.base.unavailable import disk_full

# Whether this request's refusal is on record already: the middleware records those that no service did.
refused_in: ContextVar[bool] = ContextVar("refused_in", default=False)


def record(
    actor: Actor,
    action: Action,
    object_kind: ObjectKind,
    object_id: object,
    object_name: str,
    *,
    outcome: EventOutcome = EventOutcome.ALLOWED,
    reason: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    job: uuid.UUID | None = None,
    digest: str | None = None,
    table: uuid.UUID | None = None,
    table_version: int | None = None,
) -> Event:
    """Appends one event. Raises Problem 503 `audit_unavailable` when it can't be written: the caller's act must not happen.

    Secrets never enter: they are replaced (redaction.py). `table` needs saying only
    where neither the object is the table nor the job's row is written already: the database knows the others.
    """
    event = Event(
        **_by(actor),
        action=action,
        object_kind=object_kind,
        object_id=_storable(str(object_id)),
        object_name=_storable(object_name),
        outcome=outcome,
        reason=_storable(masked_text(reason) or ""),
        before=redacted(before),
        after=redacted(after),
        job=uuid.UUID(str(object_id)) if job is None and object_kind == ObjectKind.JOB else job,
        digest=digest,
        table_id=table,
        table_version=table_version,
    )
    with audit_or_nothing():
        event.save(force_insert=True)
    about = {"job": str(event.job)} if event.job else {}
    log.info(
        "audit",
        action=str(action),
        object=f"{object_kind}:{object_id}",
        outcome=str(outcome),
        actor=actor.name,
        **about,
    )
    return event


def _storable(text: str) -> str:
    """A refused request's own words hold anything: a picture stands for each NUL, `?` for half a character."""
    return text.replace("\x00", "␀").encode("utf-8", "replace").decode()


def _by(actor: Actor) -> dict[str, Any]:
    """The fields of an event that say who acts, and by which request."""
    return {
        "actor_kind": actor.kind,
        "actor_id": actor.person.id if actor.person else None,
        "actor_name": actor.name,
        "token_id": actor.token.id if actor.token else None,
        "session": actor.session,
        "address": actor.address,
        "request_id": actor.request_id,
    }


def record_each(
    actor: Actor, action: Action, object_kind: ObjectKind, objects: Sequence[tuple[object, str, Mapping[str, Any]]]
) -> None:
    """As `record` for many objects of one act, each an event with its id, name and state after it, in one statement."""
    events = [
        Event(
            **_by(actor),
            action=action,
            object_kind=object_kind,
            object_id=str(object_id),
            object_name=name,
            outcome=EventOutcome.ALLOWED,
            after=redacted(after),
        )
        for object_id, name, after in objects
    ]
    with audit_or_nothing():
        Event.objects.bulk_create(events)
    log.info("audit", action=str(action), object=f"{len(events)} of {object_kind}", actor=actor.name)


@contextmanager
def audit_or_nothing() -> Iterator[None]:
    """Turns a database error while writing the audit into the contract's refusal."""
    try:
        with transaction.atomic():
            yield
    except DatabaseError as error:
        if is_unstorable(error):
            raise  # the request's fault, and answered as that
        log.error("audit_unavailable", error=str(error).strip().split("\n")[0])
        if says_full(error):
            raise disk_full(full_disk(settings.ENV), "Nothing was done.") from error
        detail = (
            "The audit can't be written, so nothing was done. Nothing has changed; an administrator must look at it."
        )
        raise Problem(503, "audit_unavailable", detail) from error


def refuse(
    actor: Actor, action: Action, object_kind: ObjectKind, object_id: object, object_name: str, problem: Problem
) -> None:
    """Records a refusal in a transaction of its own and raises the problem. Not to be called inside an act's transaction."""
    refused_in.set(True)
    record(
        actor,
        action,
        object_kind,
        object_id,
        object_name,
        outcome=EventOutcome.REFUSED,
        reason=f"{problem.code}: {problem.detail}",
    )
    raise problem
