"""Commits that appear after the end of a job that was believed uncommitted."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.logs import log
from jobs import outcomes
from jobs.domain.states import State
from jobs.models import Job
from jobs.reconcile import WHO
from jobs.timing import timing
from jobs.transitions import note
from tables import after_jobs


def find_late_commits() -> int:
    """Looks for the marks of jobs that were run and ended without a commit; each is said on job, table and audit, once."""
    lost = Job.objects.filter(
        state__in=[State.STALE, State.FAILED, State.CANCELLED],
        version=None,
        finished_at__gt=Now() - timedelta(seconds=timing().late_commit),
        claimed_at__isnull=False,
    ).exclude(events__kind="late_commit")
    return sum(_late_commit(job) for job in lost[:200])


def _late_commit(job: Job) -> bool:
    try:
        found = outcomes.committed(job)
    except outcomes.Unreadable as error:
        log.warning("late_commit_unknown", job=str(job.pk), error=str(error))
        return False
    if found is None or found.version is None:
        return False
    text = f"A commit of this job was found after its end: version {found.version:,}. The table has changed."
    with transaction.atomic():
        if not Job.objects.filter(pk=job.pk, version=None).update(version=found.version):
            return False  # another dispatcher was quicker
        record(
            Actor.system(WHO), Action.JOB_LATE_COMMIT, ObjectKind.JOB, job.pk, str(job),
            reason=text, job=job.pk, digest=job.digest, table_version=found.version,
        )  # fmt: skip
        note(job, WHO, "late_commit", text, f"Committed as version {found.version:,}.")
        after_jobs.sync_soon(job.table_id)
    return True
