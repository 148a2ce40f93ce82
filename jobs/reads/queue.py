"""Reads: questions that a worker answers for a page. A row, a wake-up, and an answer kept ten minutes for the person who asked."""

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
from console.base.errors import Problem
from console.base.timeouts import timing
from console.base.waiting import ANSWERS
from jobs.domain.digest import sha256_of
from jobs.domain.errors import remedy_of
from jobs.lifecycle import wakeups
from jobs.models import Read, Worker
from tables.models import Table
from tables.sync import log_access

Answer = dict[str, Any]
IN_FLIGHT = 12  # unanswered reads that one person can have; a page needs a few
IN_FLIGHT_OF_TABLE = 24  # that all people together can have about one table
RETRY_AFTER = 5
# Seconds between two looks: a warm worker answers in a few hundredths.
FIRST_STEP, LAST_STEP = 0.02, 0.1
INSPECTION = "inspect"
LONG = ("row_diff", "profile")  # kinds of reads that look at whole files


def ask(
    person: Person,
    kind: str,
    queue: str,
    question: Answer,
    table: Table | None = None,
    version: int | None = None,
    *,
    joins: bool = True,
    open_for: timedelta | None = None,
) -> Read:
    """Queues a read, or joins the same person's same question: an unanswered one always, an answered one at the same `version`.

    The commit's file identifies a version, not its number alone: a recreated table counts from 0 again. `joins=False` always
    queues a new one. It expires unanswered after `open_for`, ten minutes unless you say so. Raises Problem 429 `too_many_reads`.
    """
    mark = "" if table is None or version is None else log_access.commit_mark(table.path, version)
    sha = sha256_of({"kind": kind, "question": question})
    same = Read.objects.filter(person=person, question_sha256=sha, expires_at__gt=Now())
    unanswered = Q(state=Read.State.WAITING) | (Q(state=Read.State.RUNNING) & ~overdue())
    answered = Q(state=Read.State.ANSWERED, asked_version=version, asked_version__isnull=False, asked_mark=mark)
    known = same.filter(unanswered | answered).order_by("-asked_at").first() if joins else None
    if known is not None:
        return known
    if queue == Worker.Kind.INTERACTIVE:
        _refuse_too_many(person, question.get("path"))
    read = Read.objects.create(
        kind=kind,
        queue=queue,
        person=person,
        table=table,
        question=question,
        question_sha256=sha,
        asked_version=version,
        asked_mark=mark,
        expires_at=timezone.now() + (open_for or kept()),
    )
    wakeups.wake_after_commit(queue)
    return read


def kept() -> timedelta:
    """How long an answer is kept."""
    return timedelta(seconds=timing().read_kept)


def _refuse_too_many(person: Person, location: str | None) -> None:
    unanswered = Read.objects.filter(
        Q(state=Read.State.WAITING) | (Q(state=Read.State.RUNNING) & ~overdue()),
        queue=Worker.Kind.INTERACTIVE,
        expires_at__gt=Now(),
    )
    if unanswered.filter(person=person).count() >= IN_FLIGHT:
        raise _too_many(f"You have {IN_FLIGHT} questions that Spark hasn't answered yet.")
    if location is not None and unanswered.filter(question__path=location).count() >= IN_FLIGHT_OF_TABLE:
        raise _too_many(f"There are {IN_FLIGHT_OF_TABLE} questions about {location} that Spark hasn't answered yet.")


def _too_many(text: str) -> Problem:
    return Problem(429, "too_many_reads", f"{text} Wait for their answers, then try again.", retry_after=RETRY_AFTER)


def wait_for(read: Read, seconds: float) -> Read:
    """The read once answered, or as it is after so many seconds; as it is now if its asker already has too many requests waiting.

    Raises Http404 if the read expires meanwhile.
    """
    with ANSWERS.place(read.person_id) as there:
        return until_answered(read, seconds) if there else read


def until_answered(read: Read, seconds: float) -> Read:
    """The same for a request that already has its place to wait."""
    remaining = (read.expires_at - timezone.now()).total_seconds()
    until = time.monotonic() + min(seconds, remaining)
    step = FIRST_STEP
    while read.is_open and time.monotonic() < until:
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
    if kind in LONG:
        return timing().long_read_limit
    return timing().preview_limit if kind == INSPECTION else timing().read_limit


def overdue() -> Q:
    """Reads that a worker has held for longer than their limit and a margin: no answer will come.

    A sync may take as long as any other sync; a scan of a root has no limit.
    """
    own = (INSPECTION, *LONG)
    late = ~Q(kind__in=own) & Q(started_at__lt=_ago(limit_of("")))
    for kind in own:
        late |= Q(kind=kind, started_at__lt=_ago(limit_of(kind)))
    syncs = Q(kind="sync", started_at__lt=Now() - log_access.SYNC_CLAIM)
    return Q(queue=Worker.Kind.INTERACTIVE) & late | syncs


def _ago(limit: float) -> CombinedExpression:
    return Now() - timedelta(seconds=limit + timing().read_margin)


def withdraw(read: Read) -> bool:
    """Withdraws a read that no worker has begun; False if one has, even if that worker was lost."""
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
    """The error that a failed read is answered with."""
    if read.problem is None:
        return None
    stored = read.problem
    detail = f"{stored['detail']} {stored.get('remedy') or ''}".strip()
    return Problem(stored["status"], stored["code"], detail, engine=stored.get("engine"))


def as_error(read: Read) -> Answer | None:
    """A failed read's problem as pages show it."""
    if read.problem is None:
        return None
    problem = read.problem
    engine = problem.get("engine") or {}
    remedy = problem.get("remedy") or remedy_of(engine.get("condition"))
    return {
        "code": problem["code"],
        "message": problem["detail"],
        "engine": problem.get("engine"),
        "table_state": "Nothing was changed: Levee only read.",
        "what_to_do": remedy or "Fix what the message names, then try again.",
    }
