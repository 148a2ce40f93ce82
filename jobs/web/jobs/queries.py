"""Reads of jobs for pages and API: narrowed to what a person may see, a constant number of queries each."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import JSONObject, Now
from django.urls import reverse
from django.utils import timezone

from console.accounts.models import Person
from console.base.addresses import address_of
from console.base.pagination import OrderKey, Page, page
from console.base.text.short_ids import ids_from
from jobs.commands.registry import queue_of, title_fields, title_of
from jobs.domain.results import Result
from jobs.domain.states import CANCELLABLE, OPEN, SENTENCE, State, table_state
from jobs.lifecycle.cancelling import may_cancel
from jobs.lifecycle.endings import success_text
from jobs.lifecycle.worker_states import LIVES_S
from jobs.models import Attempt, Job, JobEvent, LogLine, Worker
from jobs.targets.access import visible_to
from tables.catalog.listing import visible_to as tables_visible_to
from tables.history.version_links import commit_url
from tables.models import Commit, Explanation
from tables.rules.destruction import DESTRUCTIVE, OPERATIONS, overwrites
from tables.rules.reported_rows import reported_taken

NEWEST = (OrderKey("requested_at", descending=True), OrderKey("id", descending=True))
OLDEST = (OrderKey("requested_at"), OrderKey("id"))
ON_HOME = 20
LISTED = (
    "command", "parameters", "state", "version", "no_op", "progress", "reason", "requested_at", "finished_at", "table__name",
    "requested_by__name",
)  # fmt: skip
COMMITS = (
    "version", "incarnation", "committed_at", "operation", "operation_metrics", "job", "files_removed", "rows_removed",
    "rows_changed", "operation_parameters", "table__name", "table__path", "table__incarnation",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobFilter:
    """The filter of a list of jobs; empty texts filter nothing."""

    state: str = ""
    command: str = ""
    table: str = ""
    by: str = ""
    id: str = ""  # or how it begins
    on: str = ""  # what a table's name or name in the catalog has in it
    reason: str = ""  # what it has in it
    since: datetime | None = None
    before: datetime | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))

    def apply(self, jobs: QuerySet[Job]) -> QuerySet[Job]:
        if self.state == "open":
            jobs = jobs.filter(state__in=OPEN)
        elif self.state:
            jobs = jobs.filter(state=self.state)
        if self.id:
            jobs = jobs.filter(pk__range=span) if (span := ids_from(self.id)) else jobs.none()
        # Of a stream's rounds lists show the newest, unless you ask for the command, or for one by its id.
        if self.command:
            jobs = jobs.filter(command=self.command)
        elif not self.id:
            jobs = jobs.filter(folded=False)
        if self.table:
            jobs = jobs.filter(table_id=_uuid(self.table))
        if self.by:
            jobs = jobs.filter(requested_by__name__iexact=self.by)
        return self._by_text_and_time(jobs)

    def _by_text_and_time(self, jobs: QuerySet[Job]) -> QuerySet[Job]:
        if self.on:
            jobs = jobs.filter(Q(table__name__icontains=self.on) | Q(table__catalog_name__icontains=self.on))
        if self.reason:
            jobs = jobs.filter(reason__icontains=self.reason)
        if self.since:
            jobs = jobs.filter(requested_at__gte=self.since)
        if self.before:
            jobs = jobs.filter(requested_at__lt=self.before)
        return jobs


def _uuid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        return uuid.UUID(int=0)


def job_page(
    person: Person, wanted: JobFilter, limit: int, cursor: str = "", order: tuple[OrderKey, OrderKey] = NEWEST
) -> Page[Job]:
    """Jobs as the API returns them, newest first unless told."""
    jobs = wanted.apply(visible_to(person)).select_related("table", "requested_by")
    return page(jobs.defer("preview"), order, limit, cursor)  # it can be long, and a list doesn't need it


def row_page(
    person: Person, wanted: JobFilter, limit: int, cursor: str = "", order: tuple[OrderKey, OrderKey] = NEWEST
) -> Page[Job]:
    """The same jobs with what `row` shows of each."""
    return page(listed(wanted.apply(visible_to(person))), order, limit, cursor)


def listed(jobs: QuerySet[Job]) -> QuerySet[Job]:
    """With the columns that `row` shows: the others are wide, and those of tables and people many."""
    return titled(jobs).select_related("table", "requested_by").only(*LISTED)


def titled(jobs: QuerySet[Job]) -> QuerySet[Job]:
    """With what their titles take of their previews, which stay where they are: those list files."""
    return jobs.defer("preview").annotate(
        title_preview=JSONObject(**{name: F(f"preview__{name}") for name in title_fields()})
    )


def table_state_sentence(job: Job) -> str:
    """What the job's state means for its table."""
    progress = job.progress or {}
    return table_state(
        State(job.state),
        job.version,
        no_op=job.no_op,
        committed="committed" in progress,
        unproven="unproven" in progress,
    )


def row(job: Job) -> dict[str, Any]:
    """A job as lists show it."""
    return {
        "id": job.pk,
        "url": address_of("jobs:detail", job.pk),
        "title": title_of(job),
        "reason": job.reason,
        "state": job.state,
        "table_state_text": table_state_sentence(job),
        "requested_by": job.requested_by.name,
        "requested_at": job.requested_at,
        "finished_at": job.finished_at,
        "progress": job.progress,
    }


def running(person: Person) -> list[dict[str, Any]]:
    """Jobs that run, or will without anybody's decision, newest first; ON_HOME of them at most."""
    return _rows(_running(person))


def count_running(person: Person, listed: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many jobs run or will, by state, where `running` lists these: no query where those are all."""
    if len(listed) < ON_HOME:
        return dict(Counter(str(each["state"]) for each in listed))
    return dict(_running(person).order_by().values_list("state").annotate(Count("pk")))


def _running(person: Person) -> QuerySet[Job]:
    return visible_to(person).filter(state__in=OPEN - {State.AWAITING_APPROVAL})


def awaiting_others(person: Person, own: QuerySet[Job]) -> list[dict[str, Any]]:
    """As many jobs that wait for anybody's decision, newest first, apart from `own`, which wait for the person's."""
    jobs = visible_to(person).filter(state=State.AWAITING_APPROVAL)
    return _rows(jobs.exclude(pk__in=own.order_by().values("pk")))


def _rows(jobs: QuerySet[Job]) -> list[dict[str, Any]]:
    return [row(job) for job in listed(jobs).order_by("-requested_at", "-id")[:ON_HOME]]


def ended_lately(person: Person, limit: int = 8) -> list[dict[str, Any]]:
    """Jobs that ended in the last week, newest first."""
    since = timezone.now() - timedelta(days=7)
    jobs = listed(visible_to(person).filter(finished_at__gt=since, folded=False))
    return [row(job) for job in jobs.order_by("-finished_at")[:limit]]


def events_of(job: Job) -> list[dict[str, Any]]:
    """The job's events, oldest first."""
    fields = ("at", "who", "kind", "source", "target", "attempt", "text", "table_text")
    return list(JobEvent.objects.filter(job=job).order_by("id").values(*fields))


def attempts_of(job: Job) -> list[dict[str, Any]]:
    """The job's attempts at running it (previews aside), oldest first."""
    fields = ("number", "worker", "claimed_at", "ended_at", "outcome")
    return list(Attempt.objects.filter(job=job, kind=Attempt.Kind.RUN).order_by("claimed_at").values(*fields))


def log_of(job: Job) -> list[dict[str, Any]]:
    """The lines of all its attempts, oldest first."""
    return [dict(line) for line in LogLine.objects.filter(attempt__job=job).order_by("id").values("at", "text")]


def state_sentence(job: Job) -> str:
    """The job's state in one sentence; the stage while it runs or what it waits for, the reason when it failed."""
    stage = job.progress.get("stage") if job.progress else None
    if job.state in (State.RUNNING, State.PREVIEWING) and (waiting := (job.progress or {}).get("waiting")):
        return str(waiting)
    if job.state == State.RUNNING and stage:
        done, total = job.progress.get("done"), job.progress.get("total")
        return f"{stage.capitalize()}, {done:,} of {total:,} Spark tasks." if total else f"{stage.capitalize()}."
    if job.state == State.SUCCEEDED and job.result:
        return success_text(Result.from_json(job.result))
    return SENTENCE[State(job.state)]


def workers_trouble(job: Job) -> str:
    """Why no worker takes the job yet, as the workers of its kind say it; empty while one is ready or none says anything."""
    if job.state not in (State.QUEUED, State.PREVIEWING) or job.lease_until is not None:
        return ""
    kind = Worker.Kind.INTERACTIVE if job.state == State.PREVIEWING else queue_of(job.command)
    alive = Worker.objects.filter(kind=kind, heartbeat_at__gt=Now() - timedelta(seconds=LIVES_S))
    told = list(alive.exclude(condition=Worker.Condition.DOWN).values_list("condition", "text"))
    if any(condition == Worker.Condition.READY for condition, _ in told):
        return ""
    return next((f"No worker is ready for it: {text}." for _, text in told if text), "")


def stages_of(job: Job) -> list[dict[str, Any]]:
    """The stages of the run: done, now, or where it failed or was stopped."""
    stages: Sequence[dict[str, Any]] = (job.progress or {}).get("stages", [])
    last = {State.SUCCEEDED: "done", State.FAILED: "failed", State.STALE: "failed"}.get(
        State(job.state), "stopped" if job.is_ended else "now"
    )
    return [
        {"name": s["name"], "state": "done" if s["seconds"] is not None else last, "seconds": s["seconds"], "what": ""}
        for s in stages
    ]


def details(person: Person, job: Job) -> dict[str, Any]:
    """The context of a job's page."""
    state = State(job.state)
    return {
        **row(job),
        "short_id": str(job.pk)[:8],
        "command": job.command,
        "state_text": f"{state_sentence(job)} {workers_trouble(job)}".strip(),
        "table": {"id": job.table_id, "name": job.table.name, "url": reverse("tables:overview", args=[job.table_id])},
        "reason": job.reason,
        "schedule": job.schedule,
        "digest": job.digest,
        "base_version": job.base_version,
        "preview": job.preview,
        "progress": {**(job.progress or {}), "stages": stages_of(job)},
        "attempts": attempts_of(job),
        "events": events_of(job),
        "result": job.result,
        "error": job.error,
        "finished_at": job.finished_at,
        "can_cancel": state in CANCELLABLE and may_cancel(person, job),
        "log": log_of(job),
    }


def destructive_lately(person: Person, limit: int = 8) -> list[dict[str, Any]]:
    """Commits of the last week that removed or replaced rows, newest first, with the person whose job made each."""
    since = timezone.now() - timedelta(days=7)
    commits = Commit.objects.filter(DESTRUCTIVE, table__in=tables_visible_to(person), committed_at__gt=since)
    newest = list(commits.select_related("table").only(*COMMITS).order_by("-committed_at")[:limit])
    jobs = Job.objects.filter(pk__in=[c.job for c in newest if c.job]).select_related("requested_by")
    known = {
        (job.pk, job.location, version): job.requested_by.name
        for job in jobs.only("location", "version", "result", "requested_by__name")
        for version in job.versions
    }
    asked = Explanation.objects.filter(verdict__in=Explanation.UNEXPLAINED, acknowledged_at=None)
    open_ones = set(
        asked.filter(table__in=[c.table_id for c in newest]).values_list("table_id", "incarnation", "version")
    )
    return [
        {
            "table_name": commit.table.name,
            "version": commit.version,
            "url": commit_url(commit.table, commit.version, commit.incarnation),
            "operation": commit.operation,
            "rows": _rows_gone(commit),
            "files": commit.files_removed,
            "behind": known.get((commit.job, commit.table.path, commit.version)) if commit.job else None,
            "is_open": (commit.table_id, commit.incarnation, commit.version) in open_ones,
            "at": commit.committed_at,
        }
        for commit in newest
    ]


def _rows_gone(commit: Commit) -> int | None:
    """How many rows a commit took away; None when unknown.

    Of a delete, and of what has no name that Levee knows, those that the table shrank by: a rewritten file holds most of its rows again.
    Of an update or a merge, those that its writer says; without that, and of an overwrite, all rows of the files that it removed.
    """
    reported = reported_taken(commit.operation, commit.operation_metrics)
    is_replacing = commit.operation in OPERATIONS or overwrites(commit.operation_parameters)
    if is_replacing and commit.operation != "DELETE":
        return commit.rows_removed if reported is None else reported
    if commit.rows_changed is not None:
        return max(-commit.rows_changed, 0)
    return reported or commit.rows_removed
