"""Works on one claim, a preview or a run, to its end."""

from __future__ import annotations

import threading
from collections.abc import Callable

from django.db import InterfaceError, OperationalError

from console.base.errors import Problem
from jobs.domain.engine import Engine
from jobs.domain.errors import EngineLost
from jobs.lifecycle.transitions import Fenced
from jobs.models import Attempt
from jobs.worker.border import border
from jobs.worker.claimed_job import ClaimedJob
from jobs.worker.claims import Claim
from jobs.worker.preview_work import PreviewWork
from jobs.worker.run_work import RunWork


class Execution:
    """The work on one claim. `end_hard` kills the JVM and waits until it is gone."""

    def __init__(self, claim: Claim, engine: Engine, stop: threading.Event, end_hard: Callable[[], None]) -> None:
        kind = PreviewWork if claim.kind == Attempt.Kind.PREVIEW else RunWork
        self.engine = engine
        self.claimed: ClaimedJob = kind(claim, engine, stop, end_hard)
        self.job, self.marks = self.claimed.job, self.claimed.marks


def work(execution: Execution) -> None:
    """Works on one claim to its end. Only logs a lost claim, since its new owner records the outcome. Raises EngineLost."""
    try:
        _work(execution)
    except Fenced as fenced:
        execution.claimed.given_up(fenced)


def _work(execution: Execution) -> None:
    with border("job_broken", {"job": str(execution.job.pk)}, execution.claimed.broken, _PASSING):
        execution.claimed.work()


# Another worker has the claim, or another attempt may succeed.
_PASSING = (Fenced, EngineLost, OperationalError, InterfaceError, Problem)
