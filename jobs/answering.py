"""Answering reads: what a worker does with a claimed one, and what becomes of those whose worker is gone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import InterfaceError, OperationalError
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from console.errors import Problem
from console.logs import log
from jobs import reads
from jobs.domain.engine import Engine, Marks
from jobs.domain.errors import CommandRefused, EngineCancelled, EngineFailed, EngineLost
from jobs.domain.storable import storable
from jobs.models import Read, Worker
from jobs.report import RunReport
from jobs.timing import timing

Answer = dict[str, Any]
TRIES = 2
LOST = {
    Worker.Kind.INTERACTIVE: ("engine_lost", "Spark was lost while it answered; ask again."),
    Worker.Kind.LIGHT: ("worker_lost", "The light worker was lost while it was at it; ask again."),
}


def answer(read: Read, engine: Engine) -> None:
    """Answers one claimed read on Spark and stores the answer or its problem. Raises EngineLost."""
    marks = Marks(job=f"read-{read.pk}", attempt=1, digest=None)
    limit = reads.limit_of(read.kind)
    over = threading.Event()
    timer = threading.Thread(target=_limit, args=(engine, marks.tag, limit, over), daemon=True)
    timer.start()
    try:
        _store(read, lambda: engine.read(read.kind, read.question, marks, RunReport()))
    except CommandRefused as refused:
        first = refused.refusals[0]
        engine_part = first.engine.as_json() if first.engine else None
        _store_problem(read, 422, first.code, first.message, engine_part)
    except EngineLost as lost:
        _store_problem(read, 503, *LOST[Worker.Kind.INTERACTIVE], lost.failure.as_json())
        raise
    except EngineCancelled:
        _store_problem(read, 422, "time_limit", f"Spark didn't answer within {limit:.0f} s; ask for less.", None)
    except EngineFailed as failed:
        _store_problem(read, 422, "engine_failed", failed.failure.message.split("\n")[0], failed.failure.as_json())
    finally:
        over.set()
        timer.join()


def answer_light(read: Read, answerers: dict[str, Callable[[Read], Answer]]) -> None:
    """Answers a read that needs no Spark: a scan, or a sync."""
    try:
        _store(read, lambda: answerers[read.kind](read))
    except Problem as problem:
        _store_problem(read, problem.status, problem.code, problem.detail, None)


def _store(read: Read, find: Callable[[], Answer]) -> None:
    """Finds the answer and keeps it. Raises what the engine says, and the database's trouble: the read is given out again then."""
    try:
        store_answer(read, find())
    except (CommandRefused, EngineFailed, EngineCancelled, Problem, OperationalError, InterfaceError):
        raise
    except Exception as error:  # noqa: BLE001 - the asker waits for an answer whatever is wrong; the log has the fault
        log.exception("read_broken", read=str(read.pk), kind=read.kind, error=str(error).split("\n")[0])
        _store_problem(
            read, 500, "broken", f"Levee has a fault here; it is in the worker's log as read {read.pk}.", None
        )


def store_answer(read: Read, found: Answer) -> None:
    """Keeps the answer until the read expires, unless it was given to another worker meanwhile."""
    _claimed(read).update(state=Read.State.ANSWERED, answer=storable(found), answered_at=Now())


def _store_problem(read: Read, status: int, code: str, detail: str, engine: Answer | None) -> None:
    problem = storable({"status": status, "code": code, "detail": detail, "engine": engine})
    _claimed(read).update(state=Read.State.FAILED, problem=problem, answered_at=Now())


def _claimed(read: Read) -> QuerySet[Read]:
    """The read as long as it is this worker's: each claim counts one try."""
    return Read.objects.filter(pk=read.pk, state=Read.State.RUNNING, tries=read.tries)


def _limit(engine: Engine, tag: str, seconds: float, over: threading.Event) -> None:
    """Cancel is not sticky: repeated until the read has ended."""
    if over.wait(seconds):
        return
    while not over.wait(0.3):
        engine.cancel(tag)


def take_back() -> int:
    """Reads that nobody answers any more are given out once more; the second time they fail. Returns how many they are.

    Nobody answers when the worker is gone, began anew since, or works longer than any answer may take.
    """
    lost = Read.objects.filter(reads.overdue() | ~_has_worker(), state=Read.State.RUNNING)
    given_up = 0
    for queue, (code, detail) in LOST.items():
        problem = {"status": 503, "code": code, "detail": detail, "engine": None}
        ended = lost.filter(tries__gte=TRIES, queue=queue)
        given_up += ended.update(state=Read.State.FAILED, problem=problem, answered_at=Now())
    again = lost.filter(tries__lt=TRIES).update(state=Read.State.WAITING, worker="", started_at=None)
    if given_up or again:
        log.warning("reads_taken_back", again=again, given_up=given_up)
    return given_up + again


def _has_worker() -> Exists:
    alive = Now() - timedelta(seconds=3 * timing().heartbeat)
    same = Worker.objects.filter(
        name=OuterRef("worker"), started_at__lte=OuterRef("started_at"), heartbeat_at__gt=alive
    )
    return Exists(same.exclude(condition=Worker.Condition.DOWN))
