"""Reads: questions that a worker answers for a page. A row, a wake-up, an answer kept ten minutes for its asker."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now
from django.http import Http404
from django.utils import timezone

from console.accounts.models import Person
from console.errors import Problem
from jobs import broker
from jobs.domain.digest import sha256_of
from jobs.models import Read, Worker
from jobs.timing import timing
from tables import after_jobs
from tables.models import Table

Answer = dict[str, Any]
# Seconds between two looks: a warm worker answers in a few hundredths.
FIRST_STEP, LAST_STEP = 0.02, 0.1


def ask(
    person: Person,
    kind: str,
    queue: str,
    question: Answer,
    table: Table | None = None,
    version: int | None = None,
    *,
    joins: bool = True,
) -> Read:
    """Asks, or joins the same question of the same person: an unanswered one always, an answered one while `version` is still its own.

    A version is told by its commit's file, not by its number alone: a table made anew counts from 0 again. Without `joins` it is
    a question of its own.
    """
    mark = "" if table is None or version is None else after_jobs.commit_mark(table.path, version)
    sha = sha256_of({"kind": kind, "question": question})
    same = Read.objects.filter(person=person, question_sha256=sha, expires_at__gt=Now())
    unanswered = Q(state=Read.State.WAITING) | (Q(state=Read.State.RUNNING) & ~overdue())
    answered = Q(state=Read.State.ANSWERED, asked_version=version, asked_version__isnull=False, asked_mark=mark)
    known = same.filter(unanswered | answered).order_by("-asked_at").first() if joins else None
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
        asked_mark=mark,
        expires_at=timezone.now() + timedelta(seconds=timing().read_kept),
    )
    broker.wake_after_commit(queue)
    return read


def wait_for(read: Read, seconds: float) -> Read:
    """The read as it is once answered, or after so many seconds. Raises Http404 when its time ends meanwhile."""
    kept = (read.expires_at - timezone.now()).total_seconds()
    until = time.monotonic() + min(seconds, kept)
    step = FIRST_STEP
    while read.state in {Read.State.WAITING, Read.State.RUNNING} and time.monotonic() < until:
        time.sleep(step)
        step = min(step * 1.5, LAST_STEP)
        _look_again(read)
    return read


def _look_again(read: Read) -> None:
    try:
        read.refresh_from_db()
    except Read.DoesNotExist:  # tidied away
        raise Http404 from None


def limit_of(kind: str) -> float:
    """The seconds that Spark has for an answer of this kind."""
    return timing().preview_limit if kind == "inspect" else timing().read_limit


def overdue() -> Q:
    """Reads that have been answered for longer than their limit and a margin: nothing comes of them any more.

    A sync has as long as any other one may take; a scan of a root has no limit.
    """
    inspections = Q(kind="inspect", started_at__lt=_ago(limit_of("inspect")))
    others = ~Q(kind="inspect") & Q(started_at__lt=_ago(limit_of("")))
    syncs = Q(kind="sync", started_at__lt=Now() - after_jobs.SYNC_CLAIM)
    return Q(queue=Worker.Kind.INTERACTIVE) & (inspections | others) | syncs


def _ago(limit: float) -> CombinedExpression:
    return Now() - timedelta(seconds=limit + timing().read_margin)


def withdraw(read: Read) -> bool:
    """Takes a read back that no worker has begun; False when one has, though it may have been lost with it."""
    deleted, _ = Read.objects.filter(pk=read.pk, state=Read.State.WAITING, tries=0).delete()
    return bool(deleted)


def is_ready(kind: str) -> bool:
    """Whether a worker of this kind is warm and alive now."""
    alive = timezone.now() - timedelta(seconds=3 * timing().heartbeat)
    return Worker.objects.filter(kind=kind, condition=Worker.Condition.READY, heartbeat_at__gt=alive).exists()


def is_over(read: Read) -> bool:
    """Whether the read is past its ten minutes."""
    return read.expires_at < timezone.now()


def problem_of(read: Read) -> Problem | None:
    """What a failed read is answered with."""
    if read.problem is None:
        return None
    told = read.problem
    return Problem(told["status"], told["code"], told["detail"], engine=told.get("engine"))


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
