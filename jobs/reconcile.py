"""Lost claims: first the old JVM is made dead, then its mark is looked for, then the job goes on. Needs only the database."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from django.db import connection, transaction
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.errors import Problem
from console.logs import log
from jobs import broker, leftovers, outcomes
from jobs.claims import LOST_PREVIEW
from jobs.death import proven_dead
from jobs.domain.commands import Convert
from jobs.domain.results import Result
from jobs.domain.states import MAX_ATTEMPTS, Cause, State
from jobs.models import Attempt, Job, JobEvent, Worker
from jobs.timing import timing
from jobs.transitions import Fenced, move, note, release
from tables import after_jobs
from tables.locations import LocationError, resolve
from tables.models import Root

WHO = "dispatcher"
LOST = Q(lease_until=None) | Q(lease_until__lt=Now())


def reconcile() -> int:
    """One round over every claim whose lease has lapsed. Returns how many jobs it has changed."""
    return (
        _each(_take_over, Job.objects.filter(LOST, state=State.RUNNING))
        + _each(_decide, _unknown())
        + _each(_give_preview_up, _hopeless_previews())
        + _each(_end_unheeded, _unheeded_cancels())
    )


def _each(act: Callable[[uuid.UUID], bool], jobs: QuerySet[Job]) -> int:
    """One job's trouble (an audit that can't be written, a race lost) holds up no other."""
    done = 0
    for pk in list(jobs.values_list("pk", flat=True)[:500]):
        try:
            done += act(pk)
        except Fenced:
            continue
        except Problem as problem:
            log.error("not_reconciled", job=str(pk), error=problem.detail)
    return done


def _unknown() -> QuerySet[Job]:
    return Job.objects.filter(Q(state=State.RECONCILING) | Q(LOST, state=State.CANCELLING))


def _take_over(pk: uuid.UUID) -> bool:
    """A running job whose worker is gone or frozen becomes `reconciling` under a new token: the old one writes nothing more."""
    text = "The worker stopped renewing its lease. Making sure that it is dead, then looking for a commit of this job."
    with transaction.atomic():
        if not Job.objects.filter(LOST, pk=pk, state=State.RUNNING).update(token=_new_token()):
            return False
        move(Job.objects.get(pk=pk), State.RECONCILING, Cause.DISPATCHER, WHO, text=text, lease_until=None)
    return True


def _new_token() -> int:
    with connection.cursor() as cursor:
        cursor.execute("select nextval('jobs_fencing_token')")
        return int(cursor.fetchone()[0])


def _decide(pk: uuid.UUID) -> bool:
    """The truth about a lost run: dead first, then the history."""
    job = Job.objects.select_related("table").get(pk=pk)
    attempt = _last_run(job)
    if attempt is None:
        return False
    # A cancelled run's old worker must not write any more either, whatever it finds out later.
    if job.state == State.CANCELLING and not _fence_cancelled(job):
        return False
    dead = proven_dead(attempt)
    if dead is False:
        return False
    try:
        found = outcomes.committed(job)
    except outcomes.Unreadable as error:
        log.warning("history_unreadable", job=str(pk), error=str(error))
        return _stale_in_time(job, attempt, outcomes.UNREADABLE)
    if found is not None:
        return _succeed(job, found)
    return _without_commit(job, attempt) if dead else _stale_in_time(job, attempt, outcomes.UNPROVEN)


def _last_run(job: Job) -> Attempt | None:
    return Attempt.objects.filter(job=job, kind=Attempt.Kind.RUN).order_by("-claimed_at").first()


def _fence_cancelled(job: Job) -> bool:
    return bool(Job.objects.filter(LOST, pk=job.pk, state=State.CANCELLING).update(token=_new_token()))


def _succeed(job: Job, found: Result) -> bool:
    found = outcomes.judged(job, found)
    text = f"The worker was lost after its commit: found in the history as version {found.version:,}."
    with transaction.atomic():
        move(
            job, State.SUCCEEDED, Cause.DISPATCHER, WHO,
            only_from=_now(job), text=text, result=found.as_json(), version=found.version, attempt_outcome="lost, committed",
        )  # fmt: skip
        # The catalog follows by the light worker: nothing that is wrong with one table may hold up this round.
        after_jobs.sync_soon(job.table_id)
    broker.wake(Worker.Kind.LIGHT)
    return True


def _now(job: Job) -> frozenset[State]:
    """The state that was decided upon: of three dispatchers one writes."""
    return frozenset({State(job.state)})


def _without_commit(job: Job, attempt: Attempt) -> bool:
    _clean_up(job)
    if job.state == State.CANCELLING or job.cancel_requested_at:
        _end(job, State.CANCELLED, "lost", text="The worker was ended; nothing was committed.")
    elif attempt.outcome == "limit":
        _end(job, State.FAILED, "lost", error=outcomes.limit_reached("a run", timing().run_limit))
    elif attempt.outcome == "stopping":
        text = "The worker was stopped on purpose before it committed anything: this counts as no attempt."
        release(job, Cause.DISPATCHER, WHO, text)
        broker.wake(Worker.Kind.SPARK)
    elif job.attempt >= MAX_ATTEMPTS:
        _end(job, State.FAILED, "lost", error=outcomes.ATTEMPTS_EXHAUSTED)
    else:
        _try_again(job)
    return True


def _clean_up(job: Job) -> None:
    """A convert whose worker died may have left a `_delta_log` without a commit. Its JVM is dead and its lease still held."""
    if job.command != Convert.kind:
        return
    try:
        place = resolve(job.table.path, Root.objects.all())
    except LocationError:
        return
    leftovers.remove_empty_directories(Path(place.path) / leftovers.DELTA_LOG)


def _end(job: Job, target: State, attempt_outcome: str, **changes: object) -> None:
    move(
        job, target, Cause.DISPATCHER, WHO,
        only_from=_now(job), attempt_outcome=attempt_outcome, **changes,  # type: ignore[arg-type]
    )  # fmt: skip


def _try_again(job: Job) -> None:
    text = "The worker was lost before it committed anything. Another attempt follows."
    with transaction.atomic():
        record(Actor.system(WHO), Action.JOB_RETRY, ObjectKind.JOB, job.pk, str(job), reason=text, job=job.pk)
        _end(job, State.QUEUED, "lost", text=text, release=True)
    broker.wake(Worker.Kind.SPARK)


def _stale_in_time(job: Job, attempt: Attempt, error: dict[str, object]) -> bool:
    """Nothing is proven (a process on another host, a log that can't be read): stale after 90 s, by the database's clock."""
    long_ago = Now() - timedelta(seconds=timing().unproven)
    last = JobEvent.objects.filter(job=job, target=job.state).order_by("-id").first()
    waited = last is None or JobEvent.objects.filter(pk=last.pk, at__lt=long_ago).exists()
    lapsed = Job.objects.filter(Q(lease_until=None) | Q(lease_until__lt=long_ago), pk=job.pk).exists()
    if not (waited and lapsed):
        return False
    _end(job, State.STALE, "lost, unproven", error=error)
    return True


def _hopeless_previews() -> QuerySet[Job]:
    lost = Count("attempts", filter=Q(attempts__kind=Attempt.Kind.PREVIEW) & LOST_PREVIEW)
    return Job.objects.filter(LOST, state=State.PREVIEWING).annotate(lost=lost).filter(lost__gte=MAX_ATTEMPTS)


def _give_preview_up(pk: uuid.UUID) -> bool:
    move(Job.objects.get(pk=pk), State.FAILED, Cause.DISPATCHER, WHO,
         only_from=frozenset({State.PREVIEWING}), attempt_outcome="lost", error=outcomes.PREVIEW_LOST)  # fmt: skip
    return True


def _unheeded_cancels() -> QuerySet[Job]:
    """A worker that keeps its lease but doesn't react to a cancel in time."""
    patience = timedelta(seconds=timing().cancel_grace + timing().reconcile)
    return Job.objects.filter(state=State.CANCELLING, cancel_requested_at__lt=Now() - patience, lease_until__gte=Now())


def _end_unheeded(pk: uuid.UUID) -> bool:
    """Ends it with its JVM; the next round reconciles."""
    job = Job.objects.get(pk=pk)
    attempt = _last_run(job)
    if attempt is None or attempt.ended_at is not None or not proven_dead(attempt):
        return False
    if not Job.objects.filter(pk=pk, state=State.CANCELLING).update(lease_until=None):
        return False
    text = f"The worker didn't react to the cancel within {timing().cancel_grace:.0f} s and was ended."
    note(job, WHO, "note", text)
    return True
