"""What keeps a scheduled run from running: what was approved no longer holds, or more work than its bounds allow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import Http404
from django.utils import timezone

from console.audit.actor import Actor
from console.base.errors import Problem
from console.base.text.counted import counted
from jobs.commands.registry import ROWS, handling_of
from jobs.domain.commands import command_to_json
from jobs.domain.digest import sha256_of
from jobs.domain.errors import CommandRefused, Refusal
from jobs.models import Job, Schedule, ScheduleRun
from jobs.policy import protection
from jobs.schedules.acts import command_on
from jobs.schedules.definition import digest_of_row
from jobs.schedules.places import place_of
from jobs.schedules.queries import may_run
from jobs.schedules.standing import DEFINE_AGAIN, moved, needs_a_person, shape_of
from jobs.targets.subject import subject_of
from tables.models import Table

MOVED = "schedule_moved"
FORBIDDEN = "forbidden"
BOUND = "bound_exceeded"
WINDOW = "window_closed"
STOPPING = frozenset({MOVED, FORBIDDEN, protection.CODE})  # a run that is refused so stops its schedule
NOT_AS_APPROVED = (
    "The definition in the database isn’t the one that has this digest: something else than Levee changed it."
)
Preview = Mapping[str, Any]


def run_limit(job: Job, limit: float) -> float:
    """The seconds that the job's run may take: its schedule's bound, within the instance's `limit`."""
    schedule = _schedule(job)
    return limit if schedule is None or schedule.max_minutes is None else min(limit, schedule.max_minutes * 60)


def of_definition(schedule: Schedule) -> Refusal | None:
    """Why no run of this schedule may begin, whatever a table is like: its person's rights, its row, this Levee's commands, a root that
    is gone, a rule that protects its one table."""
    person, row = schedule.run_by, ROWS.get(schedule.command)
    if not person.is_active or not may_run(person, schedule):
        text = f"It ran in the name of {person.name}, who may no longer request jobs on {_where(schedule)}."
        return Refusal(FORBIDDEN, text, remedy="An operator there can edit it to run it in their name.")
    if schedule.root is not None and schedule.root.removed_at is not None:
        text = f"The root {schedule.root.name} was removed."
        return Refusal(MOVED, text, remedy="Remove the schedule too.")
    if row is None or not row.may_be_scheduled or row.value.schema_version != schedule.schema_version:
        text = f"This Levee no longer schedules the {schedule.command.replace('_', ' ')} as it was defined."
        return Refusal(MOVED, text, remedy=DEFINE_AGAIN)
    if digest_of_row(schedule) != schedule.digest:
        return Refusal(MOVED, NOT_AS_APPROVED, remedy=DEFINE_AGAIN)
    return None if schedule.table is None else of_rules(schedule, schedule.table)


def of_rules(schedule: Schedule, table: Table) -> Refusal | None:
    """The rule that protects a table from its runs; None if there is none."""
    protecting = protection.over(schedule.command, table.path, schedule.run_by_id)
    return None if protecting is None else protection.refusal_of(protecting)


def _where(schedule: Schedule) -> str:
    return "this table" if schedule.table_id is not None else place_of(schedule).name


def of_preview(job: Job, preview: Preview) -> tuple[Refusal, ...]:
    """Why a run with this preview may not run; nothing for a job of no schedule."""
    schedule = _schedule(job)
    if schedule is None:
        return ()
    if refusal := of_definition(schedule):
        return (refusal,)
    if schedule.table is None and (refusal := of_table(schedule, job.table)):
        return (refusal,)
    try:
        found = moved(schedule.shape, shape_of(subject_of(job.table_id))) if schedule.table is not None else ""
    except CommandRefused as refused:
        return refused.refusals
    if not found and str(preview.get("class") or "ordinary") != schedule.table_class:
        found = "A run would now affect more or less of the table than what was approved."
    if found:
        remedy = DEFINE_AGAIN if schedule.table is not None else "Define a schedule of this table for it."
        return (Refusal(MOVED, f"What was approved no longer holds. {found}", remedy=remedy),)
    refusal = needs_a_person(schedule.command, preview)
    return (refusal,) if refusal else _of_bytes(schedule, preview)


def of_table(schedule: Schedule, table: Table) -> Refusal | None:
    """Why a schedule for many tables doesn't run on this one: it is none of them any more, or a rule protects it."""
    place = place_of(schedule)
    if not place.covers(table):
        return Refusal(MOVED, f"The table isn’t one of {place.name} any more.", remedy="Request the job itself.")
    return of_rules(schedule, table)


def _of_bytes(schedule: Schedule, preview: Preview) -> tuple[Refusal, ...]:
    if schedule.max_bytes is None:
        return ()
    size = preview.get(ROWS[schedule.command].schedule_bytes)
    if size is not None and size <= schedule.max_bytes:
        return ()
    bound = f"the schedule’s bound is {counted(schedule.max_bytes, 'byte')}"
    text = (
        f"The run would take {counted(size, 'byte')}; {bound}."
        if size is not None
        else f"The bytes of this run aren’t known before it; {bound}."
    )
    return (Refusal(BOUND, text, remedy="Request the job yourself, or edit the schedule’s bound."),)


def check_before_run(job: Job, measure_again: Callable[[], Preview]) -> None:
    """The same right before the run, and that it is the defined command; a bound of bytes by a fresh preview if the table has moved.

    Raises CommandRefused.
    """
    schedule = _schedule(job)
    if schedule is None:
        return
    stands = job.drift is not None and job.drift.get("head_version") == job.base_version
    preview = (job.preview or {}) if stands or schedule.max_bytes is None else measure_again()
    refusals = _of_window(job, schedule) or of_preview(job, preview) or _of_command(job, schedule)
    if refusals:
        raise CommandRefused(*refusals)


def _of_window(job: Job, schedule: Schedule) -> tuple[Refusal, ...]:
    """That its window has closed: the dispatcher ends such a run, but may have been down."""
    run = ScheduleRun.objects.filter(job=job).first()
    if run is None or timezone.now() <= schedule.closes(run.due_at):
        return ()
    text = f"It couldn’t start before its window of {counted(schedule.window_minutes, 'minute')} closed."
    return (Refusal(WINDOW, text, remedy="The schedule goes on with its next run."),)


def _of_command(job: Job, schedule: Schedule) -> tuple[Refusal, ...]:
    """That the job isn't what the definition gives on its table as it is."""
    command = command_on(schedule, job.table_id)
    try:
        prepared = handling_of(command.kind).prepare(Actor.acting_for(schedule.run_by), command, None)
    except (Problem, Http404) as refused:
        why = refused.detail if isinstance(refused, Problem) else "its table isn’t in the catalog any more."
        return (Refusal(MOVED, f"It can no longer be requested: {why}", remedy=DEFINE_AGAIN),)
    same = prepared.location == job.location and sha256_of(command_to_json(prepared.command)) == sha256_of(
        job.parameters
    )
    return () if same else (Refusal(MOVED, "The run isn’t the command of its schedule.", remedy=DEFINE_AGAIN),)


def _schedule(job: Job) -> Schedule | None:
    rows = Schedule.objects.select_related("table", "root", "run_by")
    return None if job.schedule_id is None else rows.filter(pk=job.schedule_id).first()
