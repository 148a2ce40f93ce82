"""The dispatcher: rounds that wake, reconcile and tidy. It needs the database; Redis only for the wake-ups themselves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.db import InterfaceError, OperationalError, close_old_connections, connection
from django.db.models import Q
from django.db.models.functions import Now

from console.errors import Problem
from console.logs import log
from jobs import answering, broker, quorum
from jobs.domain.states import Cause, State, sources
from jobs.explaining import explain_commits
from jobs.late import find_late_commits
from jobs.models import DispatcherRound, Job, Read
from jobs.reconcile import WHO, reconcile
from jobs.timing import timing
from jobs.transitions import Fenced, move
from tables import after_jobs

ENOUGH = 16  # wake-ups that lie in a queue: more would wake nobody


@dataclass(frozen=True, slots=True)
class Round:
    """One kind of round: how often, and what it does (it returns how much it did)."""

    kind: str
    every: Callable[[], float]
    act: Callable[[], int]


def wake_waiting() -> int:
    """Wakes every queue in which rows wait that somebody could claim. Doubled wake-ups mean nothing."""
    waiting = {
        "spark": Job.objects.filter(state=State.QUEUED, expires_at__gt=Now()),
        "interactive": Job.objects.filter(
            Q(lease_until=None) | Q(lease_until__lt=Now()), state=State.PREVIEWING, expires_at__gt=Now()
        ),
    }
    queues = {queue for queue, rows in waiting.items() if rows.exists()}
    queues |= set(Read.objects.filter(state=Read.State.WAITING, expires_at__gt=Now()).values_list("queue", flat=True))
    if after_jobs.syncs_due():
        queues.add("light")
    return sum(broker.wake(queue) for queue in queues if broker.pending(queue) < ENOUGH)


def tidy() -> int:
    """Expires requests past their time, and forgets reads."""
    forgotten, _ = Read.objects.filter(expires_at__lt=Now()).delete()
    return forgotten + sum(
        _expire(job) for job in Job.objects.filter(state__in=_expirable(), expires_at__lt=Now())[:500]
    )


def _expirable() -> frozenset[State]:
    return sources(State.EXPIRED, Cause.DISPATCHER)


def _expire(job: Job) -> bool:
    try:
        move(job, State.EXPIRED, Cause.DISPATCHER, WHO)
    except Fenced:
        return False
    return True


ROUNDS = (
    Round("wake", lambda: timing().wake, wake_waiting),
    Round("reads", lambda: timing().wake, answering.take_back),
    Round("quorum", lambda: timing().wake, quorum.send_back),
    Round("reconcile", lambda: timing().reconcile, reconcile),
    Round("late_commits", lambda: timing().reconcile, find_late_commits),
    Round("explain", lambda: timing().wake, explain_commits),
    Round("tidy", lambda: timing().housekeeping, tidy),
)


def run_for_ever(stop: threading.Event) -> None:
    """Every round at its pace until `stop` is set. A database that is away is waited for."""
    due = {r.kind: 0.0 for r in ROUNDS}
    while not stop.is_set():
        for round_ in ROUNDS:
            if time.monotonic() >= due[round_.kind]:
                run_round(round_)
                due[round_.kind] = time.monotonic() + round_.every()
        stop.wait(max(0.05, min(due.values()) - time.monotonic()))


def run_round(round_: Round) -> int:
    """One round, with its record for the workers page. Returns how much it did; 0 when the database is away."""
    started = time.monotonic()
    close_old_connections()
    try:
        did = round_.act()
        seconds = round(time.monotonic() - started, 3)
        DispatcherRound.objects.update_or_create(
            kind=round_.kind, defaults={"at": Now(), "seconds": seconds, "text": f"{did} done"}
        )
    except (OperationalError, InterfaceError, Problem) as error:  # the database, or its audit, can't be written
        log.error("round_failed", round=round_.kind, error=str(error).split("\n")[0])
        connection.close()
        return 0
    return did
