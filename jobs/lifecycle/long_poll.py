"""Waits for a job on behalf of an HTTP request, with small queries and no open transaction."""

from __future__ import annotations

import time
import uuid

from console.base.waiting import ANSWERS
from jobs.domain.states import ENDED
from jobs.models import Job

PAUSE_SECONDS = 0.15


def wait(job: Job, seconds: float, by: uuid.UUID, *, any_change: bool = False) -> None:
    """Returns when the job has ended (with `any_change`: when its state differs from `job.state`), or after `seconds`.

    Returns at once if too many requests wait already, in all or of the person `by`.
    """
    with ANSWERS.place(by) as there:
        if there:
            _wait(job, seconds, any_change)


def _wait(job: Job, seconds: float, any_change: bool) -> None:
    until = time.monotonic() + seconds
    state = job.state
    while not _is_over(state, job.state, any_change):
        left = until - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(PAUSE_SECONDS, left))
        state = Job.objects.values_list("state", flat=True).get(pk=job.pk)


def _is_over(state: str, at_arrival: str, any_change: bool) -> bool:
    return state in ENDED or (any_change and state != at_arrival)
