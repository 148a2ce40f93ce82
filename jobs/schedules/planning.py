"""The runs of schedules for many tables: planned for all of them when the schedule is due, then opened one after the other."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.models.functions import Now
from django.http import Http404
from django.utils import timezone

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem, broken
from console.base.logs import log
from console.base.text.counted import counted
from jobs.commands.base import Prepared
from jobs.commands.registry import handling_of
from jobs.domain.errors import CommandRefused
from jobs.domain.states import State
from jobs.models import Job, Schedule, ScheduleRun
from jobs.requests import asking
from jobs.schedules.acts import command_on
from jobs.schedules.places import place_of
from jobs.schedules.queries import newest_due, open_runs
from jobs.schedules.refusals import of_table
from jobs.targets.writable import subject_to_change
from tables.models import Table

WHO = "dispatcher"
MOST_OPEN = 20  # jobs of one schedule at once: what people request waits in the same queue
FAILURES = 2  # in a row, and the schedule stops; one for many leaves out the table
BUSY = (State.PREVIEWING, State.QUEUED, State.RUNNING, State.CANCELLING)  # what takes workers, or soon will
STILL_OPEN = "Not planned on {tables}: the run before is still open there."
WAS_DOWN = "Skipped on {tables}: it couldn’t be planned before its window closed. Levee wasn’t running."
LEFT_OUT = "Left out: its last two runs failed. Look at their jobs; then pause and resume the schedule, or edit it."
GONE = "Skipped: the table isn’t in the catalog any more."
TAKEN = "Skipped: the same request was open."
Outcome = ScheduleRun.Outcome


def plan(row: Schedule, due_at: datetime, *, is_late: bool) -> None:
    """Plans a run for each of the tables as they are now, but for those whose earlier run is open; none if the window has closed.

    The caller holds the schedule’s row, and sets its next time. What is left out is on record as a sum.
    """
    tables, busy = place_of(row).tables(), open_runs(row).values("table_id")
    if is_late:
        _record_skipped(row, due_at, tables.count(), WAS_DOWN)
        return
    _record_skipped(row, due_at, tables.filter(pk__in=busy).count(), STILL_OPEN)
    if _insert(row, due_at, tables.exclude(pk__in=busy)):
        Schedule.objects.filter(pk=row.pk).update(failures=0)  # of many tables, those of the newest time are counted


def _insert(row: Schedule, due_at: datetime, tables: QuerySet[Table]) -> int:
    """In one statement, however many tables there are. Returns how many."""
    found, found_by = tables.order_by().values("pk").query.sql_with_params()
    rows = f"select %s, found.id, %s, %s, '', true, '', '' from ({found}) found(id)"  # nosec B608  # noqa: S608 (Django's own text)
    columns = "schedule_id, table_id, due_at, digest, parameters_sha256, is_planned, outcome, text"
    with connection.cursor() as cursor:
        cursor.execute(f"insert into jobs_schedulerun ({columns}) {rows}", [row.pk, due_at, row.digest, *found_by])
        return int(cursor.rowcount)


def _record_skipped(row: Schedule, due_at: datetime, count: int, text: str) -> None:
    if count:
        record(
            Actor.system(WHO), Action.SCHEDULE_SKIP, ObjectKind.SCHEDULE, row.pk, row.name,
            reason=text.format(tables=counted(count, "table")), after={"due_at": due_at.isoformat(), "tables": count},
        )  # fmt: skip


def planned() -> QuerySet[ScheduleRun]:
    """The planned runs of active schedules that have room for more jobs, by their keys alone."""
    runs = ScheduleRun.objects.filter(outcome=Outcome.OPEN, is_planned=True)
    waits = Exists(runs.filter(schedule=OuterRef("pk"), digest=OuterRef("digest")))
    active = Schedule.objects.filter(waits, state=Schedule.State.ACTIVE, table=None, removed_at=None)
    with_room = [pk for pk in active.order_by().values_list("pk", flat=True) if _busy(pk) < MOST_OPEN]
    return runs.filter(schedule__in=with_room, digest=F("schedule__digest")).only("pk")


def _busy(schedule: uuid.UUID) -> int:
    """How many jobs of the schedule take workers, or soon will; one that waits for further approvals takes none."""
    opened = ScheduleRun.objects.filter(schedule=schedule, outcome=Outcome.OPEN, is_planned=False)
    return opened.filter(job__state__in=BUSY).count()


def open_planned(pk: int, end_unfit: Callable[[Schedule], bool]) -> bool:
    """Opens a planned run as a job, or skips it with the reason. Returns whether it did anything.

    `end_unfit` stops a schedule that can’t go on, or lets it wait for approvals. A table whose log can’t be read now stays planned. Raises
    Levee’s own trouble as its Problem.
    """
    run = _planned(pk).select_related("schedule", "schedule__root", "schedule__run_by", "table").first()
    if run is None or not _is_wanted(run) or _busy(run.schedule_id) >= MOST_OPEN:
        return False
    if end_unfit(run.schedule):
        return True
    try:
        why, prepared = _prepared(run)
        with transaction.atomic():
            locked = _locked(pk)
            if locked is None or not _is_wanted(locked) or (prepared and _busy(locked.schedule_id) >= MOST_OPEN):
                return False
            return _skip(locked, why) if prepared is None else _enter(locked, prepared)
    except _Unreadable as unreadable:
        _planned(pk).exclude(text=str(unreadable)).update(text=str(unreadable))
        return False
    except IntegrityError as error:
        if broken(error) == "schedule_run_as_defined":
            # It has left the schedule’s tables meanwhile: the next look says so.
            log.warning("schedule_run_refused", run=pk, error=str(error).splitlines()[0])
            return False
        if broken(error) != "job_already_open":
            raise
        with transaction.atomic():
            locked = _locked(pk)
            return locked is not None and _skip(locked, TAKEN)


class _Unreadable(Exception):
    """Why the table’s log can’t be read now."""


def _locked(pk: int) -> ScheduleRun | None:
    """The planned run with its schedule’s row, both locked."""
    held = _planned(pk).select_related("schedule", "schedule__run_by")
    return held.select_for_update(of=("self", "schedule"), skip_locked=True).first()


def _planned(pk: int) -> QuerySet[ScheduleRun]:
    return ScheduleRun.objects.filter(pk=pk, outcome=Outcome.OPEN, is_planned=True)


def _is_wanted(run: ScheduleRun) -> bool:
    """Whether its schedule still asks for it, within its window; if not, `closing` ends it."""
    schedule = run.schedule
    is_active = schedule.state == Schedule.State.ACTIVE and schedule.removed_at is None
    return is_active and run.digest == schedule.digest and timezone.now() <= schedule.closes(run.due_at)


def _prepared(run: ScheduleRun) -> tuple[str, Prepared | None]:
    """The request on the table as it is now; or why it is skipped. Raises _Unreadable, Problem 5xx."""
    schedule = run.schedule
    if _is_left_out(run):
        return LEFT_OUT, None
    if refusal := of_table(schedule, run.table):
        return f"Skipped: {refusal.message}", None
    try:
        subject = subject_to_change(run.table_id)
        command = command_on(schedule, run.table_id)
        return "", handling_of(command.kind).prepare(Actor.acting_for(schedule.run_by), command, subject)
    except Http404:
        return GONE, None
    except CommandRefused as refused:
        return _refused(refused.refusals[0].code, str(refused)), None
    except Problem as problem:
        if problem.status >= 500:
            raise
        return _refused(problem.code, problem.detail), None


def _refused(code: str, text: str) -> str:
    if code == "unreadable":
        raise _Unreadable(text)
    return f"Skipped: {text}"[:2000]


def _is_left_out(run: ScheduleRun) -> bool:
    """Whether the last runs on this table failed, since a person last had the schedule go on."""
    known = ScheduleRun.objects.filter(
        schedule=run.schedule_id, table=run.table_id, digest=run.digest, opened_at__gt=run.schedule.resumed_at,
        outcome__in=[Outcome.SUCCEEDED, Outcome.FAILED],
    )  # fmt: skip
    last = list(known.order_by("-id").values_list("outcome", flat=True)[:FAILURES])
    return last == [Outcome.FAILED] * FAILURES


def _enter(run: ScheduleRun, prepared: Prepared) -> bool:
    job = entered(run.schedule, prepared)
    opened = {"job": job, "parameters_sha256": job.parameters_sha256, "is_planned": False, "text": ""}
    return bool(_planned(run.pk).update(opened_at=Now(), **opened))


def entered(schedule: Schedule, prepared: Prepared) -> Job:
    """The job of a run, requested in the name of the schedule’s person."""
    reason = f"Schedule {schedule.name}: {schedule.reason}"[: asking.REASON_LENGTH]
    return asking.enter(Actor.system(WHO), schedule.run_by, prepared, reason, schedule.pk)


def count_failed(run: ScheduleRun) -> None:
    """One more of its newest time on which a schedule for many tables failed; an earlier time counts no more."""
    if run.due_at == newest_due(run.schedule):
        Schedule.objects.filter(pk=run.schedule_id).update(failures=F("failures") + 1)


def _skip(run: ScheduleRun, text: str) -> bool:
    schedule = run.schedule
    record(
        Actor.system(WHO), Action.SCHEDULE_SKIP, ObjectKind.SCHEDULE, schedule.pk, schedule.name,
        reason=text, after={"due_at": run.due_at.isoformat()}, table=run.table_id,
    )  # fmt: skip
    if text == LEFT_OUT:
        count_failed(run)  # who looks after the schedule goes on seeing it
    return bool(_planned(run.pk).update(outcome=Outcome.SKIPPED, text=text, ended_at=Now()))
