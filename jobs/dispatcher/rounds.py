"""The dispatcher: rounds that wake workers, reconcile lost jobs and tidy up. It needs the database, and Redis only for wake-ups."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections, connection
from django.db.models import F, Q
from django.db.models.functions import Now

from console.base.errors import Problem, unexpected
from console.base.logs import log
from console.base.timeouts import timing
from jobs.commands.registry import queue_of
from jobs.dispatcher import lost_quorum, protected_jobs, schedules, streams
from jobs.dispatcher.absent_workers import mark_absent
from jobs.dispatcher.attribution import explain_commits
from jobs.dispatcher.hung_workers import HungWorkers
from jobs.dispatcher.late_commits import find_late_commits
from jobs.dispatcher.reconcile import WHO, reconcile
from jobs.domain.states import Cause, State, sources
from jobs.lifecycle import wakeups
from jobs.lifecycle.transitions import Fenced, move
from jobs.models import DispatcherRound, Job, Read
from jobs.sample.growth import grow
from jobs.streams.thinning import thin
from jobs.worker import read_executor
from tables.catalog.due import syncs_due

LONGEST_BACK_OFF = 300.0  # seconds
STREAMS_LOOK = 2.0  # seconds: whoever has started a stream waits for its batches on the page
LAST_ANSWERS = 5.0  # seconds that a dispatcher which stops waits for the rounds that ask stores
SAMPLE_LOOK = 20.0  # seconds: a file of the sample lake arrives a minute after the last one
ENOUGH = 16  # wake-ups waiting in a queue: more would wake no further worker


@dataclass(frozen=True, slots=True)
class Round:
    """One kind of round: its interval in seconds, and its act, which returns how much it did.

    `asks_stores`: its act reads tables' logs or streams' sources. A store may take the connection and then say nothing for half a
    minute, so the round has a thread of its own.
    """

    kind: str
    every: Callable[[], float]
    act: Callable[[], int]
    asks_stores: bool = False


def wake_waiting() -> int:
    """Wakes every queue with rows that a worker could claim. Duplicate wake-ups do no harm."""
    live = Job.objects.filter(expires_at__gt=Now())
    queued = live.filter(state=State.QUEUED).order_by().values_list("command", flat=True).distinct()
    queues = {queue_of(kind) for kind in queued}
    if live.filter(Q(lease_until=None) | Q(lease_until__lt=Now()), state=State.PREVIEWING).exists():
        queues.add("interactive")
    queues |= set(Read.objects.filter(state=Read.State.WAITING, expires_at__gt=Now()).values_list("queue", flat=True))
    if syncs_due():
        queues.add("light")
    return sum(wakeups.wake(queue) for queue in queues if wakeups.pending(queue) < ENOUGH)


def tidy() -> int:
    """Expires requests past their time, deletes expired reads, and thins the past of streams."""
    forgotten, _ = Read.objects.filter(expires_at__lt=Now()).delete()
    late = Job.objects.filter(state__in=_expirable(), expires_at__lt=Now())
    return forgotten + sum(_expire(job) for job in late[:500]) + thin()


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
    Round("reads", lambda: timing().wake, read_executor.take_back),
    Round("quorum", lambda: timing().wake, lost_quorum.send_back),
    Round("protected", lambda: timing().wake, protected_jobs.cancel),
    Round("reconcile", lambda: timing().reconcile, reconcile, asks_stores=True),
    Round("hung", lambda: timing().reconcile, HungWorkers().end),
    Round("absent", lambda: timing().reconcile, mark_absent),
    Round("late_commits", lambda: timing().reconcile, find_late_commits, asks_stores=True),
    Round("streams", lambda: min(timing().wake, STREAMS_LOOK), streams.look, asks_stores=True),
    Round("schedules", lambda: min(timing().wake, STREAMS_LOOK), schedules.look, asks_stores=True),
    Round("explain", lambda: timing().wake, explain_commits),
    Round("sample", lambda: SAMPLE_LOOK, grow),
    Round("tidy", lambda: timing().housekeeping, tidy),
)


def run_for_ever(stop: threading.Event) -> None:
    """Runs every round at its interval until `stop` is set, backing off from one that fails. Waits for a database that is away.

    Rounds that ask stores run beside the others, each in a thread. Each round is safe beside any other, since there may be several
    dispatchers.
    """
    apart = [
        threading.Thread(target=_run_apart, args=(each, stop), name=f"round-{each.kind}", daemon=True)
        for each in ROUNDS
        if each.asks_stores
    ]
    for thread in apart:
        thread.start()
    _run_in_turn([each for each in ROUNDS if not each.asks_stores], stop)
    until = time.monotonic() + LAST_ANSWERS
    for thread in apart:  # one that still waits for its store then ends with the process, as when that is killed
        thread.join(max(0.0, until - time.monotonic()))


def _run_apart(round_: Round, stop: threading.Event) -> None:
    try:
        _run_in_turn([round_], stop)
    finally:
        connection.close()  # this thread's


def _run_in_turn(rounds: Sequence[Round], stop: threading.Event) -> None:
    due = {r.kind: 0.0 for r in rounds}
    failures = {r.kind: 0 for r in rounds}
    while not stop.is_set():
        for round_ in rounds:
            if time.monotonic() >= due[round_.kind]:
                failures[round_.kind] = 0 if run_round(round_) else failures[round_.kind] + 1
                due[round_.kind] = time.monotonic() + pause(round_, failures[round_.kind])
        stop.wait(max(0.05, min(due.values()) - time.monotonic()))


def pause(round_: Round, failures: int) -> float:
    """Seconds until the round's next turn: its interval, doubled for each failure in a row."""
    every = round_.every()
    return max(every, min(every * 2 ** min(failures, 16), LONGEST_BACK_OFF)) if failures else every


def run_round(round_: Round) -> bool:
    """Runs one round and records it for the health endpoint and the workers page; False if it failed. Never raises.

    A database that is away doesn't count as a failure: the round tries again at its interval.
    """
    started = time.monotonic()
    close_old_connections()
    try:
        did = round_.act()
        seconds = round(time.monotonic() - started, 3)
        values = {"at": Now(), "seconds": seconds, "text": f"{did} done", "failures": 0, "error": ""}
        # One statement, each time but the first.
        if not DispatcherRound.objects.filter(kind=round_.kind).update(**values):
            DispatcherRound.objects.update_or_create(kind=round_.kind, defaults=values)
    except (OperationalError, InterfaceError, Problem) as error:  # the database, or its audit, can't be written
        log.error("round_failed", round=round_.kind, error=str(error).split("\n")[0])
        connection.close()
    # Each round is a border: whatever fails in one, the others still reconcile lost runs and wake workers.
    except Exception as error:  # noqa: BLE001
        log.error("round_failed", round=round_.kind, exc_info=error)
        connection.close()
        _note_failure(round_, unexpected(error)[:500])
        return False
    return True


def _note_failure(round_: Round, error: str) -> None:
    try:
        first = {"failures": 1, "error": error.replace("\x00", " ")}
        DispatcherRound.objects.update_or_create(
            kind=round_.kind, defaults=first | {"failures": F("failures") + 1}, create_defaults=first
        )
    except DatabaseError as trouble:
        log.error("round_failure_not_noted", round=round_.kind, error=str(trouble).split("\n")[0])
        connection.close()
