"""The idempotency keys of streams: one request makes one stream, however often and at whatever moments it arrives."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from django.db.models import Q

from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.lifecycle.cancelling import require_person
from jobs.models import Stream
from jobs.requests.asking import IdempotencyKey
from jobs.streams.queries import stream_for


def known_stream(actor: Actor, key: IdempotencyKey) -> Stream | None:
    """The stream that this key made, as it is now.

    Raises Http404 if the person may no longer see it, Problem 409 `idempotency_conflict` if the key was for another request, or
    if that stream has been removed.
    """
    person = require_person(actor)
    known = Stream.objects.filter(created_by=person, idempotency_key=key.text).first()
    if known is None:
        return None
    if known.removed_at is not None:
        raise _conflict("This Idempotency-Key made a stream that has been removed since")
    stream = stream_for(person, known.pk)
    if stream.request_sha256 != key.request_sha256:
        raise _conflict(f"This Idempotency-Key was used for another request, which made the stream {stream.name}")
    return stream


def _conflict(text: str) -> Problem:
    return Problem(409, "idempotency_conflict", f"{text}; nothing was created. Use a fresh key.")


def unused(directories: Iterable[Path]) -> list[Path]:
    """Those of the directories made for a request that failed which no stream has: two requests may have met on one."""
    return [path for path in directories if not _is_used(str(path))]


def _is_used(path: str) -> bool:
    return Stream.objects.filter(Q(checkpoint=path) | Q(definition__path=path), removed_at=None).exists()
