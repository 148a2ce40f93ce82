"""Lost claims: first the old JVM is made dead, then its mark is looked for, then the job goes on. Needs only the database."""

from __future__ import annotations

import os
import signal
import socket
import time
import uuid
from datetime import timedelta

from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.logs import log
from console.supervisor.pids import boot_id, group_members, start_ticks
from jobs import broker, outcomes
from jobs.domain.results import Result
from jobs.domain.states import MAX_ATTEMPTS, Cause, State
from jobs.models import Attempt, Job, JobEvent, Worker
from jobs.timing import timing
from jobs.transitions import Fenced, move, note
from tables import after_jobs

WHO = "dispatcher"
KILL_WAIT = 10.0
LOST = Q(lease_until=None) | Q(lease_until__lt=Now())


def reconcile() -> int:
    """One round over every claim whose lease has lapsed. Returns how many jobs changed their state."""
    return (
        sum(_take_over(pk) for pk in _lost_ids()) + sum(_decide(pk) for pk in _unknown_ids()) + end_unheeded_cancels()
    )


def _lost_ids() -> list[uuid.UUID]:
    rows = Job.objects.filter(LOST, state=State.RUNNING)
    return list(rows.values_list("pk", flat=True)[:500])


def _unknown_ids() -> list[uuid.UUID]:
    rows = Job.objects.filter(Q(state=State.RECONCILING) | Q(LOST, state=State.CANCELLING))
    return list(rows.values_list("pk", flat=True)[:500])


def _take_over(pk: uuid.UUID) -> bool:
    """A running job whose worker is gone or frozen becomes `reconciling` under a new token: the old one writes nothing more."""
    job = Job.objects.get(pk=pk)
    text = "The worker stopped renewing its lease. Making sure that it is dead, then looking for a commit of this job."
    return _moved(job, State.RECONCILING, text=text, only_if_lost=True, token=_new_token(), lease_until=None)


def _moved(job: Job, target: State, *, only_if_lost: bool = False, **changes: object) -> bool:
    """Moves the job unless somebody else has: three dispatchers do no more than one."""
    new_token = changes.pop("token", None)
    try:
        with transaction.atomic():
            still = Job.objects.select_for_update(skip_locked=True).filter(pk=job.pk, state=job.state)
            if only_if_lost:
                still = still.filter(LOST)
            if not still.exists():
                return False
            if new_token is not None:
                Job.objects.filter(pk=job.pk).update(token=new_token)
            move(job, target, Cause.DISPATCHER, WHO, **changes)  # type: ignore[arg-type]
    except Fenced:
        return False
    return True


def _new_token() -> int:
    with connection.cursor() as cursor:
        cursor.execute("select nextval('jobs_fencing_token')")
        return int(cursor.fetchone()[0])


def _decide(pk: uuid.UUID) -> bool:
    """The truth about a lost run: dead first, then the history."""
    job = Job.objects.select_related("table").get(pk=pk)
    attempt = Attempt.objects.filter(job=job, kind=Attempt.Kind.RUN).order_by("-claimed_at").first()
    if attempt is None:
        return False
    if job.state == State.CANCELLING:
        # Its old worker must not write any more, whatever it finds out later.
        Job.objects.filter(LOST, pk=job.pk, state=State.CANCELLING).update(token=_new_token())
    dead = proven_dead(attempt)
    if dead is None:
        return _wait_or_stale(job, attempt)
    if not dead:
        return False
    found = outcomes.committed(job)
    if found is not None:
        after_jobs.sync(job.table_id)
        return _succeed(job, found)
    return _without_commit(job)


def _succeed(job: Job, found: Result) -> bool:
    text = f"The worker was lost after its commit: found in the history as version {found.version:,}."
    result = found.as_json()
    return _moved(
        job, State.SUCCEEDED, text=text, result=result, version=found.version, attempt_outcome="lost, committed"
    )


def _without_commit(job: Job) -> bool:
    if job.state == State.CANCELLING or job.cancel_requested_at:
        return _moved(job, State.CANCELLED, text="The worker was ended; nothing was committed.", attempt_outcome="lost")
    if job.attempt >= MAX_ATTEMPTS:
        return _moved(job, State.FAILED, error=outcomes.ATTEMPTS_EXHAUSTED, attempt_outcome="lost")
    text = "The worker was lost before it committed anything. Another attempt follows."
    moved = _moved(job, State.QUEUED, text=text, release=True, attempt_outcome="lost")
    if moved:
        record(Actor.system(WHO), Action.JOB_RETRY, ObjectKind.JOB, job.pk, str(job), reason=text, job=job.pk)
        broker.wake(Worker.Kind.SPARK)
    return moved


def _wait_or_stale(job: Job, attempt: Attempt) -> bool:
    """Another host: its death can't be proven. A mark found is the truth all the same; else stale after 90 s."""
    found = outcomes.committed(job)
    if found is not None:
        return _succeed(job, found)
    last = JobEvent.objects.filter(job=job, target=job.state).order_by("-id").first()
    since = last.at if last else attempt.claimed_at
    if timezone.now() - since < timedelta(seconds=timing().unproven):
        return False
    return _moved(job, State.STALE, error=outcomes.UNPROVEN, attempt_outcome="lost, unproven")


def proven_dead(attempt: Attempt) -> bool | None:
    """Makes the attempt's processes dead and says whether they are; None when that can't be known from this host.

    The JVM's whole group first (it could still commit), then the worker's own process. A boot id that differs on the same
    host proves death: the machine was started anew.
    """
    if attempt.host != socket.gethostname():
        return None
    if attempt.boot_id != boot_id():
        return True
    return _end(attempt.jvm_pid, attempt.jvm_start_ticks, group=True) and _end(
        attempt.pid, attempt.start_ticks, group=False
    )


def _end(pid: int | None, ticks: int | None, *, group: bool) -> bool:
    if pid is None or ticks is None:
        return True
    alive = start_ticks(pid) == ticks
    # A JVM's group may outlive its leader (Python workers): a group is ours while its number is not somebody else's.
    left = group and start_ticks(pid) in {None, ticks} and bool(group_members(pid))
    if not alive and not left:
        return True
    try:
        (os.killpg if group else os.kill)(pid, signal.SIGKILL)
    except ProcessLookupError:
        return True
    except PermissionError as error:
        log.error("cannot_end", pid=pid, error=str(error))
        return False
    until = time.monotonic() + KILL_WAIT
    while time.monotonic() < until:
        if start_ticks(pid) != ticks and not (group and group_members(pid)):
            return True
        time.sleep(0.05)
    return False


def end_unheeded_cancels() -> int:
    """A worker that keeps its lease but doesn't react to a cancel in time is ended with its JVM; the next round reconciles."""
    late = timezone.now() - timedelta(seconds=timing().cancel_grace + timing().reconcile)
    ended = 0
    for job in Job.objects.filter(state=State.CANCELLING, cancel_requested_at__lt=late, lease_until__gte=Now()):
        attempt = Attempt.objects.filter(job=job, kind=Attempt.Kind.RUN, ended_at=None).order_by("-claimed_at").first()
        if attempt is None or not proven_dead(attempt):
            continue
        note(
            job,
            WHO,
            "note",
            f"The worker didn't react to the cancel within {timing().cancel_grace:.0f} s and was ended.",
        )
        Job.objects.filter(pk=job.pk, state=State.CANCELLING).update(lease_until=None)
        ended += 1
    return ended


def find_late_commits() -> int:
    """A mark that appears after the end of a job that was believed uncommitted: said on job, table and audit, once."""
    since = timezone.now() - timedelta(seconds=timing().late_commit)
    lost = Job.objects.filter(
        state__in=[State.STALE, State.FAILED, State.CANCELLED], version=None, finished_at__gt=since, attempt__gte=1
    ).exclude(events__kind="late_commit")
    return sum(_late_commit(job) for job in lost[:200])


def _late_commit(job: Job) -> bool:
    found = outcomes.committed(job)
    if found is None or found.version is None:
        return False
    text = f"A commit of this job was found after its end: version {found.version:,}. The table has changed."
    with transaction.atomic():
        record(
            Actor.system(WHO), Action.JOB_LATE_COMMIT, ObjectKind.JOB, job.pk, str(job),
            reason=text, job=job.pk, digest=job.digest, table_version=found.version,
        )  # fmt: skip
        note(job, WHO, "late_commit", text, f"Committed as version {found.version:,}.")
        Job.objects.filter(pk=job.pk).update(version=found.version)
    after_jobs.sync(job.table_id)
    return True
