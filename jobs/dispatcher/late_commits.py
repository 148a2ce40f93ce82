"""Finds commits that appear after their job has ended without one."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.logs import log
from console.base.timeouts import timing
from jobs.commands.registry import several_kinds
from jobs.dispatcher.reconcile import WHO
from jobs.dispatcher.stores import Stores
from jobs.dispatcher.turns import RoundTurns
from jobs.domain.results import Result
from jobs.domain.states import ENDED, State
from jobs.lifecycle import endings
from jobs.lifecycle.transitions import note
from jobs.models import Attempt, Job
from tables.sync import log_access

AT_ONCE = 1_000  # jobs of a store in a round
COMMITS = 100  # of one job's table in a round
SECONDS = 1.0  # of a round at one store
_FIELDS = ("command", "location", "base_version", "finished_at", "digest", "table_id", "attempt", "state", "version")


@dataclass(frozen=True, slots=True)
class SearchedLog:
    """How far a round has searched a job's table. The commit's mark shows when another log has taken the table's place."""

    version: int
    mark: str
    until: datetime


class LateCommits:
    """Looks for the marks of jobs that ran and ended without a commit; reports each late commit once, on job, table and audit."""

    def __init__(self) -> None:
        self._stores = Stores()
        self._searches = defaultdict[str, Search](Search)

    def __call__(self) -> int:
        """One round. Returns how many commits it found."""
        return self._stores.ask(_lost(), lambda jobs, store: self._searches[store].go_on(jobs))


class Search:
    """The search in one store's tables.

    It remembers its place between rounds: no round reads a commit twice, and the next one continues where the last one stopped.
    """

    def __init__(self) -> None:
        self._seen: dict[uuid.UUID, SearchedLog] = {}
        self._turns = RoundTurns[Job]()

    def go_on(self, jobs: QuerySet[Job]) -> int:
        """One round. Returns how many commits it found."""
        ends, count = time.monotonic() + SECONDS, 0
        self._forget()
        for job in self._turns.take(jobs.only(*_FIELDS), AT_ONCE):
            count += self._look(job)
            if time.monotonic() >= ends:
                break
        return count

    def _forget(self) -> None:
        now = timezone.now()
        self._seen = {pk: seen for pk, seen in self._seen.items() if seen.until > now}

    def _look(self, job: Job) -> bool:
        since = self._since(job)
        try:
            result, reached = endings.committed_after(job, since, COMMITS)
        except endings.LogUnreadable as error:
            log.warning("late_commit_unknown", job=str(job.pk), error=str(error))
            return False
        if result is not None:
            return _late_commit(job, result)
        if reached > since:
            mark = log_access.commit_mark(job.location, reached)
            self._seen[job.pk] = SearchedLog(reached, mark, timezone.now() + timedelta(seconds=timing().late_commit))
        return False

    def _since(self, job: Job) -> int:
        known = [version for version in (job.base_version, job.version) if version is not None]
        seen = self._seen.get(job.pk)
        if seen and seen.mark == log_access.commit_mark(job.location, seen.version):
            known.append(seen.version)
        return max(known, default=-1)


find_late_commits = LateCommits()


def _lost() -> QuerySet[Job]:
    """Jobs that ran and ended recently without a commit, however they ended if an attempt may be alive. Once Levee finds its commit, a
    job has a version; one that makes several has no result as long as only late ones were found, and the next may come."""
    nothing = Q(version=None) | Q(command__in=several_kinds(), result__isnull=True)
    given_up = Exists(Attempt.objects.filter(job=OuterRef("pk"), outcome=Attempt.UNPROVEN))
    return Job.objects.filter(
        Q(state__in=[State.STALE, State.FAILED, State.CANCELLED]) | Q(given_up, state__in=ENDED),
        nothing,
        finished_at__gt=Now() - timedelta(seconds=timing().late_commit),
        claimed_at__isnull=False,
    )


def _late_commit(job: Job, result: Result) -> bool:
    text = f"Levee found a commit of this job after its end: version {result.version:,}. The table has changed."
    with transaction.atomic():
        if not Job.objects.filter(pk=job.pk, version=job.version).update(version=result.version):
            return False  # another dispatcher was first
        record(
            Actor.system(WHO), Action.JOB_LATE_COMMIT, ObjectKind.JOB, job.pk, str(job),
            reason=text, job=job.pk, digest=job.digest, table_version=result.version,
        )  # fmt: skip
        note(job, WHO, "late_commit", text, f"Committed as version {result.version:,}.")
        log_access.sync_soon(job.table_id)
    return True
