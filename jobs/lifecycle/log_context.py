"""The ids that each log line of a job carries: its own, its attempt's, and the request's that opened it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, InterfaceError

from console.audit.actions import Action
from console.audit.models import Event
from console.base.logs import log_ids
from jobs.models import Attempt


@contextmanager
def about_job(job: uuid.UUID, attempt: uuid.UUID | None = None) -> Iterator[None]:
    """Names the job, its attempt (the newest one unless told) and the request that opened it on every log line inside.

    Only this thread's lines: start another thread with a copy of its context. What the database doesn't tell is left out.
    """
    try:
        request = _opened_by(job)
        attempt = (
            attempt or Attempt.objects.filter(job=job).order_by("-claimed_at").values_list("pk", flat=True).first()
        )
    except (DatabaseError, InterfaceError):
        request = ""  # the work itself meets the same trouble, and deals with it
    with log_ids(job=str(job), attempt=str(attempt) if attempt else "", opened_by=request):
        yield


def _opened_by(job: uuid.UUID) -> str:
    """The id of the request that asked for the job, from the audit; empty for one that Levee opened."""
    asked = Event.objects.filter(job=job, action=Action.JOB_REQUEST).order_by("at")
    return asked.values_list("request_id", flat=True).first() or ""
