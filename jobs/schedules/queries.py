"""Which schedules a person may see and change: every query of schedules begins here."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, Subquery, When
from django.http import Http404

from console.accounts.models import Person
from console.accounts.roles import Permission
from jobs.models import Job, Schedule, ScheduleDecision, ScheduleRun
from jobs.schedules.places import may, place_of
from tables.models import Table

ON_HOME = 8
MOST_WAITING = 50
State = Schedule.State
SHOWN = (
    "pk", "name", "command", "state", "state_text", "state_at", "failures", "table_id", "table__name", "root__name", "tag",
)  # fmt: skip
RUNS, LOOKED_AT = 20, 20_000
RANK = Case(When(state=State.STOPPED, then=0), When(state=State.AWAITING_APPROVAL, then=1), default=2)
FAILING = Q(state=State.ACTIVE, failures__gt=0)  # of one table: the next run that fails stops it


def visible_to(person: Person) -> QuerySet[Schedule]:
    """The schedules on tables that the person may see, and those for all tables of a root that has one of these; those of a tag, which any
    table may get, are seen by everyone who sees tables. Removed ones aside."""
    scopes = person.scopes(Permission.TABLE_READ)
    schedules = Schedule.objects.filter(removed_at=None).select_related("table", "root", "run_by", "created_by")
    if scopes.everything:
        return schedules
    own = Q(table__root_id__in=scopes.roots) | Q(table_id__in=scopes.tables) | Q(root_id__in=scopes.roots)
    own |= Q(root_id__in=Table.objects.filter(pk__in=scopes.tables).values("root_id"))
    return schedules.filter(own | ~Q(tag="") if scopes else own)


def schedule_for(person: Person, schedule_id: uuid.UUID) -> Schedule:
    """One schedule. Raises Http404 if the person may not see it."""
    schedule = visible_to(person).filter(pk=schedule_id).first()
    if schedule is None:
        raise Http404
    return schedule


def named(person: Person, text: str) -> QuerySet[Schedule]:
    """Those whose name, table or command holds the text, by name."""
    fits = Q(name__icontains=text) | Q(table__name__icontains=text) | Q(command__icontains=text)
    fits |= Q(root__name__icontains=text) | Q(tag__icontains=text)
    return visible_to(person).filter(fits).order_by("name")


def on_home(person: Person) -> list[dict[str, Any]]:
    """The schedules that have stopped, those that wait for approval, then those whose last run failed: what home shows of each.

    One query.
    """
    waiting = Q(state__in=[State.STOPPED, State.AWAITING_APPROVAL])
    needing = visible_to(person).select_related(None).filter(waiting | FAILING)
    runs = ScheduleRun.objects.filter(schedule=OuterRef("pk"), outcome=ScheduleRun.Outcome.FAILED)
    failed = _seen_by(person, runs).order_by("-id")
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
        of_tables = Q(table__root_id__in=decides.roots) | Q(table_id__in=decides.tables)
        waiting = waiting.filter(of_tables | Q(root_id__in=decides.roots))
    others = waiting.exclude(run_by=person).exclude(edited_by__contains=[str(person.pk)])
    decided = ScheduleDecision.objects.filter(schedule=OuterRef("pk"), person=person, voided_at=None)
    return list(others.filter(~Exists(decided)).order_by("state_at").values(*SHOWN)[:MOST_WAITING])


def may_run(person: Person, schedule: Schedule) -> bool:
    """Whether the person may change, pause and resume the schedule: as an operator of its table, its root, or everything."""
    return may(person, Permission.JOB_REQUEST, place_of(schedule))


def may_decide(person: Person, schedule: Schedule) -> bool:
    """Whether the person may decide on the schedule: as an approver there who had no part in its definition."""
    return may(person, Permission.JOB_DECIDE, place_of(schedule)) and not is_author(person, schedule)


def is_author(person: Person, schedule: Schedule) -> bool:
    """Whether the person shaped the definition, or its runs are in their name."""
    return schedule.run_by_id == person.pk or str(person.pk) in schedule.edited_by


def last_runs(schedules: Iterable[Schedule]) -> dict[uuid.UUID, ScheduleRun]:
    """The newest run of each schedule; one query, which reads one run of each from an index, however many there are.

    Of a schedule for many tables it is of any of these: its time alone says something of all.
    """
    newest = ScheduleRun.objects.filter(schedule=OuterRef("pk")).order_by("-id").values("pk")[:1]
    rows = Schedule.objects.filter(pk__in=[schedule.pk for schedule in schedules]).values(newest=Subquery(newest))
    return {run.schedule_id: run for run in ScheduleRun.objects.filter(pk__in=rows).select_related("job", "table")}


def runs_of(person: Person, schedule: Schedule) -> QuerySet[ScheduleRun]:
    """Its runs on the tables that the person may see."""
    runs = schedule.runs.select_related("job", "table")
    return runs if sees_all(person, schedule) else _seen_by(person, runs)


def sees_all(person: Person, schedule: Schedule) -> bool:
    """Whether the person may see every table that it is for."""
    return may(person, Permission.TABLE_READ, place_of(schedule))


def _seen_by(person: Person, runs: QuerySet[ScheduleRun]) -> QuerySet[ScheduleRun]:
    scopes = person.scopes(Permission.TABLE_READ)
    if scopes.everything:
        return runs
    return runs.filter(Q(table__root_id__in=scopes.roots) | Q(table_id__in=scopes.tables))


def newest_runs(person: Person, schedule: Schedule) -> list[ScheduleRun]:
    """Its newest runs on these tables, RUNS at most, among the LOOKED_AT newest ones."""
    runs = runs_of(person, schedule).order_by("-id")
    if not sees_all(person, schedule):
        runs = runs.filter(pk__in=schedule.runs.order_by("-id").values("pk")[:LOOKED_AT])
    return list(runs[:RUNS])


@dataclass(frozen=True, slots=True)
class Tally:
    """How many runs of one time there are, by outcome; `planned` ones aren't opened yet, `open` ones are under way."""

    due_at: datetime
    counts: Mapping[str, int]


def tally_of(person: Person, schedule: Schedule) -> Tally | None:
    """The runs of the newest time of a schedule for many tables, on those that the person may see; None for one on a table, or before."""
    due_at = newest_due(schedule)
    if schedule.table_id is not None or due_at is None:
        return None
    rows = runs_of(person, schedule).filter(due_at=due_at).order_by().values_list("outcome", "is_planned")
    counts: Counter[str] = Counter()
    for outcome, is_planned, number in rows.annotate(number=Count("pk")):
        counts[outcome or ("planned" if is_planned else "open")] += number
    return Tally(due_at, dict(counts))


def newest_due(schedule: Schedule) -> datetime | None:
    """The newest time for which runs were opened or planned; None before the first."""
    return schedule.runs.order_by("-id").values_list("due_at", flat=True).first()


def open_run(schedule: Schedule) -> ScheduleRun | None:
    """The run of a schedule on one table that hasn't ended; there is one at most."""
    return open_runs(schedule).first()


def open_runs(schedule: Schedule) -> QuerySet[ScheduleRun]:
    """The runs that haven't ended; one at most for each table."""
    return schedule.runs.select_related("job").filter(outcome=ScheduleRun.Outcome.OPEN)


def approvers_of_run(job: Job) -> set[uuid.UUID]:
    """Those who had approved the definition when its run was claimed, but for the person in whose name it ran."""
    run = ScheduleRun.objects.filter(job=job, schedule=job.schedule_id).first() if job.schedule_id else None
    if run is None or job.claimed_at is None:
        return set()
    stood = Q(voided_at=None) | Q(voided_at__gt=job.claimed_at)
    given = ScheduleDecision.objects.filter(stood, schedule=run.schedule_id, digest=run.digest, decision="approve")
    people = given.filter(decided_at__lt=job.claimed_at).exclude(person=job.requested_by_id)
    return set(people.values_list("person_id", flat=True))
