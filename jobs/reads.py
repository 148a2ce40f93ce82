"""Reads: questions that a worker answers for a page. A row, a wake-up, an answer kept ten minutes for its asker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from console.accounts.models import Person
from jobs import broker
from jobs.domain.digest import sha256_of
from jobs.domain.engine import Engine, Marks
from jobs.domain.errors import CommandRefused, EngineCancelled, EngineFailed, EngineLost
from jobs.models import Read, Worker
from jobs.report import RunReport
from jobs.timing import timing
from tables.models import Table

Answer = dict[str, Any]


def ask(
    person: Person, kind: str, queue: str, question: Answer, table: Table | None = None, version: int | None = None
) -> Read:
    """Asks, or joins the same question of the same person: an unanswered one always, an answered one while `version` is still its own."""
    sha = sha256_of({"kind": kind, "question": question})
    same = Read.objects.filter(person=person, question_sha256=sha, expires_at__gt=Now())
    fresh = Q(state__in=[Read.State.WAITING, Read.State.RUNNING]) | Q(
        state=Read.State.ANSWERED, asked_version=version, asked_version__isnull=False
    )
    known = same.filter(fresh).order_by("-asked_at").first()
    if known is not None:
        return known
    read = Read.objects.create(
        kind=kind,
        queue=queue,
        person=person,
        table=table,
        question=question,
        question_sha256=sha,
        asked_version=version,
        expires_at=timezone.now() + timedelta(seconds=timing().read_kept),
    )
    broker.wake_after_commit(queue)
    return read


def wait_for(read: Read, seconds: float) -> Read:
    """The read as it is once answered, or after so many seconds."""
    until = time.monotonic() + seconds
    while read.state in {Read.State.WAITING, Read.State.RUNNING} and time.monotonic() < until:
        time.sleep(0.1)
        read.refresh_from_db()
    return read


def answer(read: Read, engine: Engine) -> None:
    """Answers one claimed read on Spark and stores the answer or its problem. Raises EngineLost."""
    marks = Marks(job=f"read-{read.pk}", attempt=1, digest=None)
    limit = timing().preview_limit if read.kind == "inspect" else timing().read_limit
    over = threading.Event()
    timer = threading.Thread(target=_limit, args=(engine, marks.tag, limit, over), daemon=True)
    timer.start()
    try:
        found = engine.read(read.kind, read.question, marks, RunReport())
    except CommandRefused as refused:
        first = refused.refusals[0]
        engine_part = first.engine.as_json() if first.engine else None
        _store_problem(read, 422, first.code, first.message, engine_part)
    except EngineLost as lost:
        _store_problem(read, 503, "engine_lost", "Spark was lost while it answered; ask again.", lost.failure.as_json())
        raise
    except EngineCancelled:
        _store_problem(read, 422, "time_limit", f"Spark didn't answer within {limit:.0f} s; ask for less.", None)
    except EngineFailed as failed:
        _store_problem(read, 422, "engine_failed", failed.failure.message.split("\n")[0], failed.failure.as_json())
    else:
        store_answer(read, found)
    finally:
        over.set()
        timer.join()


def store_answer(read: Read, found: Answer) -> None:
    """Keeps the answer until the read expires."""
    Read.objects.filter(pk=read.pk).update(state=Read.State.ANSWERED, answer=found, answered_at=Now())


def _store_problem(read: Read, status: int, code: str, detail: str, engine: Answer | None) -> None:
    problem = {"status": status, "code": code, "detail": detail, "engine": engine}
    Read.objects.filter(pk=read.pk).update(state=Read.State.FAILED, problem=problem, answered_at=Now())


def _limit(engine: Engine, tag: str, seconds: float, over: threading.Event) -> None:
    """Cancel is not sticky: repeated until the read has ended."""
    if over.wait(seconds):
        return
    while not over.wait(0.3):
        engine.cancel(tag)


def answer_light(read: Read, answerers: dict[str, Callable[[Read], Answer]]) -> None:
    """Answers a read that needs no Spark (a scan)."""
    store_answer(read, answerers[read.kind](read))


def spark_is_ready(kind: str = Worker.Kind.INTERACTIVE) -> bool:
    """Whether a worker of this kind is warm and alive now."""
    alive = timezone.now() - timedelta(seconds=3 * timing().heartbeat)
    return Worker.objects.filter(kind=kind, condition=Worker.Condition.READY, heartbeat_at__gt=alive).exists()


def is_over(read: Read) -> bool:
    """Whether the read is past its ten minutes."""
    return read.expires_at < timezone.now()


def as_error(read: Read) -> Answer | None:
    """A failed read's problem as pages show it."""
    if read.problem is None:
        return None
    problem = read.problem
    return {
        "code": problem["code"],
        "message": problem["detail"],
        "engine": problem.get("engine"),
        "table_state": "Nothing was changed: this only reads.",
        "what_to_do": "Mend what the message names, then ask again.",
    }
