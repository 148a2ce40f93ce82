"""Which schedules a person may see and change: every query of schedules begins here."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Subquery, When
from django.http import Http404

from console.accounts.models import Person
from console.accounts.roles import Permission
from jobs.models import Job, Schedule, ScheduleDecision, ScheduleRun
from tables.models import Table

ON_HOME = 8
MOST_WAITING = 50
State = Schedule.State
SHOWN = ("pk", "name", "command", "state", "state_text", "state_at", "table_id", "table__name")
RUNS = 20
RANK = Case(When(state=State.STOPPED, then=0), When(state=State.AWAITING_APPROVAL, then=1), default=2)
FAILING = Q(state=State.ACTIVE, failures__gt=0)  # the next run that fails stops it


def visible_to(person: Person) -> QuerySet[Schedule]:
    """The schedules on tables that the person may see; removed ones aside."""
    scopes = person.scopes(Permission.TABLE_READ)
    schedules = Schedule.objects.filter(removed_at=None).select_related("table", "run_by", "created_by")
    if scopes.everything:
        return schedules
    return schedules.filter(Q(table__root_id__in=scopes.roots) | Q(table_id__in=scopes.tables))


def schedule_for(person: Person, schedule_id: uuid.UUID) -> Schedule:
    """One schedule. Raises Http404 if the person may not see it."""
    schedule = visible_to(person).filter(pk=schedule_id).first()
    if schedule is None:
        raise Http404
    return schedule


def named(person: Person, text: str) -> QuerySet[Schedule]:
    """Those whose name, table or command holds the text, by name."""
    fits = Q(name__icontains=text) | Q(table__name__icontains=text) | Q(command__icontains=text)
    return visible_to(person).filter(fits).order_by("name")


def on_table(person: Person, table: Table) -> QuerySet[Schedule]:
    """Those of one table, by name."""
    return visible_to(person).filter(table=table).order_by("name")


def on_home(person: Person) -> list[dict[str, Any]]:
    """The schedules that have stopped, those that wait for approval, then those whose last run failed: what home shows of each.

    One query.
    """
    waiting = Q(state__in=[State.STOPPED, State.AWAITING_APPROVAL])
    needing = visible_to(person).select_related(None).filter(waiting | FAILING)
    failed = ScheduleRun.objects.filter(schedule=OuterRef("pk"), outcome=ScheduleRun.Outcome.FAILED).order_by("-id")
    told = {"failed_at": Subquery(failed.values("ended_at")[:1]), "failed_text": Subquery(failed.values("text")[:1])}
    return list(needing.annotate(rank=RANK, **told).order_by("rank", "name").values(*SHOWN, *told)[:ON_HOME])


def count_stopped(person: Person, listed: Iterable[Mapping[str, Any]]) -> int:
    """How many of the schedules that the person sees have stopped; no query unless all that `on_home` lists have."""
    stopped = sum(schedule["state"] == State.STOPPED for schedule in listed)
    return stopped if stopped < ON_HOME else visible_to(person).filter(state=State.STOPPED).count()


def waiting_for(person: Person) -> list[dict[str, Any]]:
    """The schedules about which the person may decide now, longest waiting first, as `on_home` has them. One query, or none."""
    decides = person.scopes(Permission.JOB_DECIDE)
    if not decides:
        return []
    waiting = Schedule.objects.filter(state=State.AWAITING_APPROVAL, removed_at=None)
    if not decides.everything:
        waiting = waiting.filter(Q(table__root_id__in=decides.roots) | Q(table_id__in=decides.tables))
    others = waiting.exclude(run_by=person).exclude(edited_by__contains=[str(person.pk)])
    decided = ScheduleDecision.objects.filter(schedule=OuterRef("pk"), person=person, voided_at=None)
    return list(others.filter(~Exists(decided)).order_by("state_at").values(*SHOWN)[:MOST_WAITING])


def may_run(person: Person, schedule: Schedule) -> bool:
    """Whether the person may change, pause and resume the schedule: as an operator of its table."""
    return person.scopes(Permission.JOB_REQUEST).covers_table(schedule.table.root_id, schedule.table_id)


def may_decide(person: Person, schedule: Schedule) -> bool:
    """Whether the person may decide on the schedule: as an approver of its table who had no part in its definition."""
    decides = person.scopes(Permission.JOB_DECIDE).covers_table(schedule.table.root_id, schedule.table_id)
    return decides and not is_author(person, schedule)


def is_author(person: Person, schedule: Schedule) -> bool:
    """Whether the person shaped the definition, or its runs are in their name."""
    return schedule.run_by_id == person.pk or str(person.pk) in schedule.edited_by


def last_runs(schedules: Iterable[Schedule]) -> dict[uuid.UUID, ScheduleRun]:
    """The newest run of each schedule; one query, which reads one run of each from an index, however many there are."""
    newest = ScheduleRun.objects.filter(schedule=OuterRef("pk")).order_by("-id").values("pk")[:1]
    rows = Schedule.objects.filter(pk__in=[schedule.pk for schedule in schedules]).values(newest=Subquery(newest))
    return {run.schedule_id: run for run in ScheduleRun.objects.filter(pk__in=rows).select_related("job")}


def newest_runs(schedule: Schedule) -> list[ScheduleRun]:
    """Its newest runs, RUNS at most."""
    return list(schedule.runs.select_related("job").order_by("-id")[:RUNS])


def open_run(schedule: Schedule) -> ScheduleRun | None:
    """The run that hasn't ended; a schedule has one at most."""
    return schedule.runs.select_related("job").filter(outcome=ScheduleRun.Outcome.OPEN).first()


def approvers_of_run(job: Job) -> set[uuid.UUID]:
    """Those who had approved the definition when its run was claimed, but for the person in whose name it ran."""
    run = ScheduleRun.objects.filter(job=job, schedule=job.schedule_id).first() if job.schedule_id else None
    if run is None or job.claimed_at is None:
        return set()
    stood = Q(voided_at=None) | Q(voided_at__gt=job.claimed_at)
    given = ScheduleDecision.objects.filter(stood, schedule=run.schedule_id, digest=run.digest, decision="approve")
    people = given.filter(decided_at__lt=job.claimed_at).exclude(person=job.requested_by_id)
    return set(people.values_list("person_id", flat=True))
