"""Reconciles lost claims: kills the old JVM, then looks for its commit, then ends or requeues the job. Needs only the database."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from console.base.logs import log
from console.base.timeouts import timing
from jobs.commands.registry import clean_up, commits_several, fence_of, queue_of, reread, shortfall
from jobs.dispatcher import unread_logs
from jobs.dispatcher.fencing import proven_dead, takes_versions_once
from jobs.dispatcher.stores import Stores
from jobs.dispatcher.turns import RoundTurns
from jobs.domain.fences import Fence
from jobs.domain.results import Result
from jobs.domain.states import MAX_ATTEMPTS, Cause, State
from jobs.lifecycle import endings, wakeups
from jobs.lifecycle.log_context import about_job
from jobs.lifecycle.transitions import Fenced, move, note, release
from jobs.models import Attempt, Job, JobEvent, Worker
from jobs.schedules.refusals import run_limit
from jobs.worker.claims import LOST_PREVIEW
from tables.sync import log_access

WHO = "dispatcher"
LOST = Q(lease_until=None) | Q(lease_until__lt=Now())
AT_ONCE = 500  # jobs of a kind in a round
_STORES = Stores()
_turns = defaultdict[str, RoundTurns[Job]](RoundTurns)


def reconcile(stores: Stores = _STORES) -> int:
    """One round of a dispatcher over every claim whose lease has lapsed. Returns how many jobs it changed.

    Lost runs are decided store by store, since a store may say nothing for long; all else needs none.
    """
    return (
        _each(_take_over, Job.objects.filter(LOST, state=State.RUNNING))
        + stores.ask(_unknown(), lambda jobs, store: _each(_decide, jobs, store))
        + _each(_give_preview_up, _hopeless_previews())
        + _each(_end_unheeded, _unheeded_cancels())
    )


def _each(act: Callable[[uuid.UUID], bool], jobs: QuerySet[Job], store: str = "") -> int:
    """Acts on each job in its turn. A failure for one (an audit that can't be written, a lost race) doesn't hold up the others."""
    done = 0
    for job in _turns[f"{act.__name__} {store}"].take(jobs.only("pk"), AT_ONCE):
        try:
            with about_job(job.pk):
                done += act(job.pk)
        except Fenced:
            continue
        except Problem as problem:
            log.error("not_reconciled", job=str(job.pk), error=problem.detail)
    return done


def _unknown() -> QuerySet[Job]:
    return Job.objects.filter(Q(state=State.RECONCILING) | Q(LOST, state=State.CANCELLING))


def _take_over(pk: uuid.UUID) -> bool:
    """Moves a running job whose worker is gone or frozen to `reconciling`, under a new token so that the old worker can't write."""
    text = (
        "The worker stopped renewing its lease. Levee makes sure that it is dead, then looks for a commit of this job."
    )
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
    """Decides the outcome of a lost run: first proves its processes dead, then reads the history."""
    job = Job.objects.select_related("table").get(pk=pk)
    attempt = _last_run(job)
    if attempt is None:
        return False
    # The old worker of a cancelled run must not write any more either, whatever it learns later.
    if job.state == State.CANCELLING and not _fence_cancelled(job):
        return False
    # Before the look into the history: a JVM that still lives could commit right after it.
    dead = proven_dead(attempt)
    if dead is False:
        return False
    try:
        result = endings.all_committed(job) if commits_several(job) else endings.committed(job)
    except endings.LogUnreadable as error:
        return _wait_for_log(job, dead, str(error))
    # A store may have been silent for so long that another dispatcher has decided, and another attempt writes there.
    if not Job.objects.filter(pk=pk, state=job.state, token=job.token).exists():
        return False
    unread_logs.tell_end(job, WHO)
    if result is not None:
        return not _may_go_on(job, result, dead) and _succeed(job, result)
    return _without_commit(job, attempt) if dead else _without_proof(job, attempt)


def _last_run(job: Job) -> Attempt | None:
    return Attempt.objects.filter(job=job, kind=Attempt.Kind.RUN).order_by("-claimed_at").first()


def _fence_cancelled(job: Job) -> bool:
    job.token = _new_token()
    return bool(Job.objects.filter(LOST, pk=job.pk, state=State.CANCELLING).update(token=job.token))


def _may_go_on(job: Job, result: Result, dead: bool | None) -> bool:
    """Whether a run of several commits has made only some, and may be making the next on a host where nothing proves its end."""
    return not dead and shortfall(job, result) is not None and not _has_waited(timing().unproven, job)


def _succeed(job: Job, result: Result) -> bool:
    result = reread(job, endings.judged(job, result))
    text = f"The worker was lost after its commit, which Levee found in the history as version {result.version:,}."
    error = shortfall(job, result)
    changes: dict[str, Any] = {"result": result.as_json(), "version": result.version}
    target = State.SUCCEEDED if error is None else State.FAILED
    if error is not None:
        text = "The worker was lost between two commits of this job."
        changes["error"] = dict(error)
    with transaction.atomic():
        move(
            job, target, Cause.DISPATCHER, WHO,
            token=job.token, only_from=_now(job), text=text, attempt_outcome="lost, committed", **changes,
        )  # fmt: skip
        # The light worker syncs the catalog later: no trouble with one table may hold up this round.
        log_access.sync_soon(job.table_id)
    wakeups.wake(Worker.Kind.LIGHT)
    return True


def _now(job: Job) -> frozenset[State]:
    """The state that the decision was made on: of several dispatchers only one can then write, by the token of this very loss."""
    return frozenset({State(job.state)})


def _without_commit(job: Job, attempt: Attempt) -> bool:
    if attempt.outcome != "stopping" and Attempt.may_have_committed(job):
        # An earlier attempt may be alive all the same, and at work in the table's directory.
        return _stale_after(timing().unproven, job, endings.UNPROVEN)
    clean_up(job)
    if job.state == State.CANCELLING or job.cancel_requested_at:
        _end(job, State.CANCELLED, "lost", text="Levee ended the worker. Nothing was committed.")
    elif attempt.outcome == "limit":
        _end(job, State.FAILED, "lost", error=endings.limit_reached("a run", run_limit(job, timing().run_limit)))
    elif attempt.outcome == "stopping":
        text = "The worker was stopped on purpose before it committed anything. This doesn’t count as an attempt."
        release(job, Cause.DISPATCHER, WHO, text, token=job.token)
        wakeups.wake(queue_of(job.command))
    elif job.attempt >= MAX_ATTEMPTS:
        _end(job, State.FAILED, "lost", error=endings.ATTEMPTS_EXHAUSTED)
    else:
        _try_again(job, "The worker was lost before it committed anything. Levee tries again.", "lost")
    return True


def _without_proof(job: Job, attempt: Attempt) -> bool:
    """Tries again where Delta lets only one attempt commit, however late the other wakes up; elsewhere the job is stale after a while.

    The wait leaves it to a dispatcher on the worker's own host, if there is one, to end it first.
    """
    fence = fence_of(job) if takes_versions_once(job.location) else Fence.NONE
    has_ended = job.state == State.CANCELLING or job.cancel_requested_at or attempt.outcome == "limit"
    if not fence or has_ended or job.attempt >= MAX_ATTEMPTS:
        return _stale_after(timing().unproven, job, endings.UNPROVEN)
    if not _has_waited(timing().fenced, job):
        return False
    text = (
        "The worker was lost on another host, where Levee can’t prove its end, and Levee found no commit of it. Levee tries again:"
        f" {fence.value}, so that only one of them can commit."
    )
    _try_again(job, text, Attempt.UNPROVEN)
    return True


def _end(job: Job, target: State, attempt_outcome: str, **changes: object) -> None:
    move(
        job, target, Cause.DISPATCHER, WHO,
        token=job.token, only_from=_now(job), attempt_outcome=attempt_outcome, **changes,  # type: ignore[arg-type]
    )  # fmt: skip


def _try_again(job: Job, text: str, attempt_outcome: str) -> None:
    with transaction.atomic():
        record(Actor.system(WHO), Action.JOB_RETRY, ObjectKind.JOB, job.pk, str(job), reason=text, job=job.pk)
        progress = {"unproven": True} if attempt_outcome == Attempt.UNPROVEN else {}
        _end(job, State.QUEUED, attempt_outcome, text=text, release=True, progress=progress)
    wakeups.wake(queue_of(job.command))


def _wait_for_log(job: Job, dead: bool | None, why: str) -> bool:
    """A log that can't be read proves nothing: the job keeps its table's lease until it can be, so that nothing else writes there.

    Somebody who cancels it waits no longer, and neither does a job whose worker may be alive elsewhere.
    """
    if not dead or job.state == State.CANCELLING:
        return _stale_after(timing().unproven, job, endings.UNREADABLE)
    unread_logs.tell(job, WHO, why)
    return _stale_after(timing().unreadable, job, endings.UNREADABLE)


def _stale_after(seconds: float, job: Job, error: dict[str, object]) -> bool:
    """Ends a job without proof (a process on another host, an unreadable log) as stale, after so long by the database's clock."""
    if not _has_waited(seconds, job):
        return False
    _end(job, State.STALE, Attempt.UNPROVEN, error=error)
    return True


def _has_waited(seconds: float, job: Job) -> bool:
    """Whether the job has been in its state without a lease for so long, by the database's clock."""
    long_ago = Now() - timedelta(seconds=seconds)
    last = JobEvent.objects.filter(job=job, target=job.state).order_by("-id").first()
    waited = last is None or JobEvent.objects.filter(pk=last.pk, at__lt=long_ago).exists()
    lapsed = Job.objects.filter(Q(lease_until=None) | Q(lease_until__lt=long_ago), pk=job.pk).exists()
    return waited and lapsed


def _hopeless_previews() -> QuerySet[Job]:
    lost = Count("attempts", filter=Q(attempts__kind=Attempt.Kind.PREVIEW) & LOST_PREVIEW)
    return Job.objects.filter(LOST, state=State.PREVIEWING).annotate(lost=lost).filter(lost__gte=MAX_ATTEMPTS)


def _give_preview_up(pk: uuid.UUID) -> bool:
    move(Job.objects.get(pk=pk), State.FAILED, Cause.DISPATCHER, WHO,
         only_from=frozenset({State.PREVIEWING}), attempt_outcome="lost", error=endings.PREVIEW_LOST)  # fmt: skip
    return True


def _unheeded_cancels() -> QuerySet[Job]:
    """Jobs whose worker keeps its lease but hasn't reacted to a cancel in time."""
    patience = timedelta(seconds=timing().cancel_grace + timing().reconcile)
    return Job.objects.filter(state=State.CANCELLING, cancel_requested_at__lt=Now() - patience, lease_until__gte=Now())


def _end_unheeded(pk: uuid.UUID) -> bool:
    """Kills the worker and its JVM; the next round reconciles."""
    job = Job.objects.get(pk=pk)
    attempt = _last_run(job)
    if attempt is None or attempt.ended_at is not None or not proven_dead(attempt):
        return False
    if not Job.objects.filter(pk=pk, state=State.CANCELLING).update(lease_until=None):
        return False
    text = f"The worker didn't react to the cancel within {timing().cancel_grace:.0f} s, so Levee ended it."
    note(job, WHO, "note", text)
    return True
