"""The idempotency keys of starts that opened no round, because one was waiting."""

from __future__ import annotations

from console.accounts.models import Person
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.lifecycle.cancelling import require_person
from jobs.models import Job, StreamRound, StreamStart
from jobs.requests.asking import IdempotencyKey
from jobs.targets.access import job_for


def keep(person: Person, key: IdempotencyKey, waiting: StreamRound) -> None:
    """Keeps the key with the round that it met. Raises IntegrityError if the person has used it for a start before."""
    StreamStart.objects.create(
        person=person, idempotency_key=key.text, request_sha256=key.request_sha256, round=waiting
    )


def known_round(actor: Actor, key: IdempotencyKey) -> Job | None:
    """The round that a start with this key met, as it is now.

    Raises Http404 if the person may no longer see it, Problem 409 `idempotency_conflict` if the key was for another request.
    """
    person = require_person(actor)
    start = StreamStart.objects.filter(person=person, idempotency_key=key.text).select_related("round").first()
    if start is None:
        return None
    job = job_for(person, start.round.job_id)
    if start.request_sha256 != key.request_sha256:
        detail = "This Idempotency-Key was used for another request; nothing was requested. Use a fresh key."
        raise Problem(409, "idempotency_conflict", detail, job=str(job.pk))
    return job
