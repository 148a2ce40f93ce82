"""Answers claimed reads, and gives out again those whose worker is gone."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from console.base.errors import Problem
from console.base.logs import log
from console.base.timeouts import timing
from jobs.domain.engine import Engine, Marks
from jobs.domain.errors import CommandRefused, EngineCancelled, EngineFailed, EngineLost
from jobs.domain.storable import storable
from jobs.models import Read, Worker
from jobs.reads import file_check, metastore, rows
from jobs.reads import queue as reads
from jobs.targets import places
from jobs.worker import stragglers
from jobs.worker.border import border
from jobs.worker.executors import READ, Executors
from jobs.worker.run_log import RunReport

Answer = dict[str, Any]
TRIES = 2
LOOK_S = 1.0  # between two looks at the executors
# Spark's of a file that a scan doesn't find, and Delta's of one that it looks up.
MISSED = frozenset({"FAILED_READ_FILE.FILE_NOT_EXIST", "DELTA_FILE_NOT_FOUND", "DELTA_FILE_NOT_FOUND_DETAILED"})
CONDITION = re.compile(r"\[([A-Z_]+(?:\.[A-Z_]+)?)\]")
LOST = {
    Worker.Kind.INTERACTIVE: ("engine_lost", "The Spark JVM died while answering; try again."),
    Worker.Kind.LIGHT: ("worker_lost", "The light worker died while answering; try again."),
}


def answer(read: Read, engine: Engine, end: Callable[[], None]) -> None:
    """Answers one claimed read on Spark and stores the answer or its problem. Raises EngineLost.

    `end` ends this process and its engine. It is called when Spark ignores a cancel, after the fate of its reads is on record.
    """
    marks = Marks(job=f"read-{read.pk}", attempt=1, digest=None)
    limit = reads.limit_of(read.kind)
    over, executors = threading.Event(), Executors(settings.ENV.spark_master)
    late = partial(_store_late, read, limit, executors)
    give_up = partial(_give_up, read, late, end)
    timer = threading.Thread(target=_limit, args=(engine, marks.tag, limit, over, executors, give_up), daemon=True)
    timer.start()
    try:
        if read.kind != metastore.LIST:  # the one that is about no path
            places.check_claimed(str(read.question["path"]))
        _store(read, lambda: engine.read(read.kind, read.question, marks, RunReport()))
    except CommandRefused as refused:
        first = refused.refusals[0]
        engine_part = first.engine.as_json() if first.engine else None
        status = metastore.problem_status(first.code) if read.kind == metastore.LIST else 422
        _store_problem(read, status, first.code, first.message, engine_part, first.remedy)
    except EngineLost as lost:
        if not _ask_again(_claimed(read)):
            _store_problem(read, 503, *LOST[Worker.Kind.INTERACTIVE], lost.failure.as_json())
        raise
    except EngineCancelled:
        late()
    except EngineFailed as failed:
        _store_problem(read, 422, "engine_failed", failed.failure.message.split("\n")[0], failed.failure.as_json())
        _have_files_checked(read, failed)
    else:
        return
    finally:
        over.set()
        timer.join()
    if not stragglers.they_end(engine, marks.tag):
        _end(read.worker, end)


def _have_files_checked(read: Read, failed: EngineFailed) -> None:
    """After a file was missing: the light worker looks which ones are, and what that means for the table's health and reach."""
    missed = {str(failed.failure.condition), *CONDITION.findall(failed.failure.message)} & MISSED
    version = read.question.get("version", None if "timestamp" in read.question else read.asked_version)
    if read.table_id is not None and missed and read.kind == rows.ROWS and isinstance(version, int):
        with border("file_check_lost", {"read": str(read.pk)}, lambda error: None, _PASSING):
            file_check.ask_unseen(read, version)


def answer_light(read: Read, answerers: Mapping[str, Callable[[Read], Answer]]) -> None:
    """Answers a read that needs no Spark: a scan, or a sync."""
    try:
        _store(read, lambda: answerers[read.kind](read))
    except Problem as problem:
        _store_problem(read, problem.status, problem.code, problem.detail, None)


def _store(read: Read, find: Callable[[], Answer]) -> None:
    """Computes and stores the answer. Raises the engine's errors, and database errors, after which the read is given out again."""
    with border("read_broken", {"read": str(read.pk), "kind": read.kind}, partial(_store_broken, read), _PASSING):
        store_answer(read, find())


_PASSING = (CommandRefused, EngineFailed, EngineCancelled, Problem, OperationalError, InterfaceError)


def _store_broken(read: Read, error: Exception) -> None:
    detail = f"Something went wrong in Levee. The worker's log has the details under read {read.pk}."
    _store_problem(read, 500, "broken", detail, None)


def store_answer(read: Read, result: Answer) -> None:
    """Stores the answer until the read expires, unless another worker has claimed the read since."""
    _claimed(read).update(state=Read.State.ANSWERED, answer=storable(result), answered_at=Now(), **_until(read.kind))


def _store_problem(
    read: Read, status: int, code: str, detail: str, engine: Answer | None, remedy: str | None = None
) -> None:
    problem = storable({"status": status, "code": code, "detail": detail, "engine": engine, "remedy": remedy})
    _claimed(read).update(state=Read.State.FAILED, problem=problem, answered_at=Now(), **_until(read.kind))


def _until(kind: str) -> dict[str, CombinedExpression]:
    """An addition takes as long as its tables need, so what became of it is kept from its end on."""
    return {"expires_at": Now() + reads.kept()} if kind == metastore.ADD else {}


def _claimed(read: Read) -> QuerySet[Read]:
    """The read while this claim of it is the latest: each claim counts one try, so the count fences off earlier ones."""
    return Read.objects.filter(pk=read.pk, state=Read.State.RUNNING, tries=read.tries)


def _store_late(read: Read, limit: float, executors: Executors) -> None:
    detail = f"Spark didn't answer within {limit:.0f} s; request less data."
    if executors.waiting:
        detail = _sentence(READ.format(cluster=executors.cluster, seconds=timing().no_executors))
    _store_problem(read, 422, "time_limit", detail, None)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _limit(
    engine: Engine, tag: str, seconds: float, over: threading.Event, executors: Executors, give_up: Callable[[], None]
) -> None:
    """Cancels the read at its time limit, or when the cluster gives no executors; again and again since Spark's cancel isn't sticky, and
    finally gives the engine up."""
    limit = time.monotonic() + seconds
    while not over.wait(max(0.0, min(LOOK_S, limit - time.monotonic()))):
        if time.monotonic() >= limit or _starves(engine, executors):
            break
    else:
        return
    until = time.monotonic() + timing().listen
    while not over.wait(stragglers.CANCEL_AGAIN):
        if time.monotonic() > until:
            log.warning("read_does_not_listen", tag=tag, seconds=timing().listen)
            give_up()
            return
        engine.cancel(tag)


def _starves(engine: Engine, executors: Executors) -> bool:
    """Whether the engine has had no executors for so long that the person had better know."""
    with suppress(EngineFailed):  # the read's own call finds out
        executors.seen(engine.has_executors())
    text = executors.news()
    if text:
        executors.told(text)
    return text is not None


def _give_up(read: Read, late: Callable[[], None], end: Callable[[], None]) -> None:
    """Fails the read that ignores its cancel before the engine ends, so that no worker tries it again."""
    try:
        late()
    except (OperationalError, InterfaceError) as error:
        log.warning("read_not_recorded", read=str(read.pk), error=str(error).split("\n")[0])
    _end(read.worker, end)
    connection.close()  # of this thread


def _end(worker: str, end: Callable[[], None]) -> None:
    """Gives out the other reads on this engine again at once, since they did nothing wrong, and ends the engine."""
    try:
        again = _ask_again(Read.objects.filter(worker=worker, state=Read.State.RUNNING))
        log.warning("engine_given_up", worker=worker, reads_asked_again=again)
    except (OperationalError, InterfaceError) as error:  # the dispatcher takes them back
        log.warning("reads_not_given_back", worker=worker, error=str(error).split("\n")[0])
    end()


def _ask_again(running: QuerySet[Read]) -> int:
    """Gives out again the reads that have a try left. Returns their number."""
    return running.filter(tries__lt=TRIES).update(state=Read.State.WAITING, worker="", started_at=None)


def take_back() -> int:
    """Gives abandoned reads out once more, and fails them the second time. Returns their number.

    A read is abandoned when its worker is gone, has restarted since, or takes longer than any answer may.
    """
    running = Read.objects.filter(state=Read.State.RUNNING)
    if not running.exists():
        return 0  # usually: without writing
    lost = running.filter(reads.overdue() | ~_has_worker())
    given_up = 0
    for queue, (code, detail) in LOST.items():
        problem = {"status": 503, "code": code, "detail": detail, "engine": None}
        ended = lost.filter(tries__gte=TRIES, queue=queue)
        ended.filter(kind=metastore.ADD).update(**_until(metastore.ADD))
        given_up += ended.update(state=Read.State.FAILED, problem=problem, answered_at=Now())
    again = _ask_again(lost)
    if given_up or again:
        log.warning("reads_taken_back", again=again, given_up=given_up)
    return given_up + again


def _has_worker() -> Exists:
    alive = Now() - timedelta(seconds=3 * timing().heartbeat)
    same = Worker.objects.filter(
        name=OuterRef("worker"), started_at__lte=OuterRef("started_at"), heartbeat_at__gt=alive
    )
    return Exists(same.exclude(condition=Worker.Condition.DOWN))
