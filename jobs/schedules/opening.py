"""Opens the runs of schedules as they are due, each as an ordinary job in the name of the schedule's person."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.http import Http404
from django.utils import timezone

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem, broken
from console.base.logs import log
from jobs.commands.base import Prepared
from jobs.commands.registry import handling_of
from jobs.domain.errors import CommandRefused
from jobs.models import Schedule, ScheduleRun
from jobs.schedules import approvals, planning, times
from jobs.schedules.acts import wanted_of
from jobs.schedules.places import table_of
from jobs.schedules.planning import FAILURES, WHO
from jobs.schedules.queries import open_run
from jobs.schedules.refusals import of_definition
from jobs.schedules.standing import DEFINE_AGAIN, moved, shape_of
from jobs.schedules.stopping import stop
from jobs.targets.writable import subject_to_change

MOST = 200  # schedules whose due times are mended in one look
EDIT_OR_RESUME = "Edit the schedule, or resume it once this machine knows the zone."
CLOCK_BACK = timedelta(hours=1)  # a clock that is put back by less is right again soon
Outcome = ScheduleRun.Outcome


def due() -> QuerySet[Schedule]:
    """The active schedules on one table that are due, by their keys alone."""
    return _due_rows().filter(table__isnull=False).select_related(None).only("pk")


def due_for_many() -> QuerySet[Schedule]:
    """The same of those for many tables: to plan their runs takes no look at any store."""
    return _due_rows().filter(table=None).select_related(None).only("pk")


def too_far() -> list[uuid.UUID]:
    """The active schedules whose last run lies over CLOCK_BACK ahead: the clock was wrong then, and so is the next due time."""
    now = timezone.now()
    ahead = ScheduleRun.objects.filter(
        schedule=OuterRef("pk"), due_at__gt=now + CLOCK_BACK, due_at__lt=OuterRef("next_due_at")
    )
    rows = Schedule.objects.filter(Exists(ahead), state=Schedule.State.ACTIVE, removed_at=None, next_due_at__gt=now)
    return list(rows.values_list("pk", flat=True)[:MOST])


def set_by_clock(pk: uuid.UUID) -> bool:
    """Its next due time by the clock as it is now, unless the schedule changed meanwhile. Returns whether it wrote."""
    row = Schedule.objects.get(pk=pk)
    try:
        following = times.upcoming(row.cron, row.time_zone, timezone.now(), 1)[0]
    except times.NeverDue:
        following = timezone.now()  # the round that finds it due stops it, with the reason
    log.warning("schedule_clock_put_back", schedule=str(pk), next_due_at=following.isoformat())
    same = Schedule.objects.filter(pk=pk, state=Schedule.State.ACTIVE, next_due_at=row.next_due_at)
    return bool(same.update(next_due_at=following))


def _due_rows() -> QuerySet[Schedule]:
    # By this process's clock, as the times of an expression are.
    return Schedule.objects.filter(
        state=Schedule.State.ACTIVE, removed_at=None, next_due_at__lte=timezone.now()
    ).select_related("table", "root", "run_by")


def open_if_due(pk: uuid.UUID) -> bool:
    """Opens the run of a due schedule; skips one whose window has passed, stops a schedule that can't go on. Returns whether it did."""
    schedule = _due_rows().filter(pk=pk).first()
    if schedule is None or schedule.next_due_at is None:
        return False
    try:
        return _open_due(schedule, schedule.next_due_at)
    except times.NeverDue as never:
        text = f"{never} {EDIT_OR_RESUME if isinstance(never, times.NoZone) else times.CHOOSE_AGAIN}"
        return _locked(schedule, lambda row: stop(Actor.system(WHO), row, text))


def _open_due(schedule: Schedule, since: datetime) -> bool:
    """Raises NeverDue for times that can't be told any more, as in a zone that this machine doesn't know."""
    now = timezone.now()
    due_at = times.newest(schedule.cron, schedule.time_zone, since, now)
    is_late = now > schedule.closes(due_at)
    if schedule.table_id is None:
        return _end_unfit(schedule) or _locked(schedule, lambda row: _plan(row, due_at, is_late=is_late))
    if is_late:
        return _locked(schedule, lambda row: _skip(row, due_at, _why_late(row)))
    if open_run(schedule) is not None:
        return False  # it waits in its window for its own earlier run
    return _end_unfit(schedule) or _open(schedule, due_at)


def open_planned(pk: int) -> bool:
    """Opens a planned run of a schedule for many tables, or skips it. Returns whether it did anything."""
    return planning.open_planned(pk, _end_unfit_active)


def _end_unfit_active(schedule: Schedule) -> bool:
    """As `_end_unfit` for one that isn’t due now: on its row, unless it changed meanwhile."""
    why = of_definition(schedule)
    if why is None and approvals.is_approved(schedule):
        return False
    with transaction.atomic():
        held = Schedule.objects.select_for_update(of=("self",), skip_locked=True)
        row = held.filter(pk=schedule.pk, revision=schedule.revision, state=Schedule.State.ACTIVE).first()
        if row is None:
            return False
        if why is not None:
            stop(Actor.system(WHO), row, f"{why.message} {why.remedy}")
        else:
            _wait_for_approvals(row)
    return True


def _plan(row: Schedule, due_at: datetime, *, is_late: bool) -> None:
    planning.plan(row, due_at, is_late=is_late)
    _next(row, due_at)


def _end_unfit(schedule: Schedule) -> bool:
    """Stops one that can't go on, and lets one wait that lacks approvals. Returns whether it did."""
    if why := of_definition(schedule):
        return _locked(schedule, lambda row: stop(Actor.system(WHO), row, f"{why.message} {why.remedy}"))
    return not approvals.is_approved(schedule) and _locked(schedule, _wait_for_approvals)


def _locked(seen: Schedule, act: Callable[[Schedule], object]) -> bool:
    """Acts on the locked row, unless it changed meanwhile."""
    with transaction.atomic():
        row = _hold(seen)
        if row is None:
            return False
        act(row)
    return True


def _hold(seen: Schedule) -> Schedule | None:
    """The row, locked; None if another dispatcher has it or it isn't what was seen."""
    row = _due_rows().select_for_update(of=("self",), skip_locked=True).filter(pk=seen.pk).first()
    return row if row is not None and row.revision == seen.revision and row.next_due_at == seen.next_due_at else None


def _why_late(schedule: Schedule) -> str:
    """Why a run didn't start in its window."""
    if open_run(schedule) is not None:
        return "Skipped: the run before was still open when its window closed."
    return (
        "Skipped: it couldn’t be opened before its window closed. The same request was open, or Levee wasn’t running."
    )


def _skip(row: Schedule, due_at: datetime, text: str) -> None:
    record(
        Actor.system(WHO), Action.SCHEDULE_SKIP, ObjectKind.SCHEDULE, row.pk, row.name,
        reason=text, after={"due_at": due_at.isoformat()}, table=row.table_id,
    )  # fmt: skip
    ScheduleRun.objects.create(
        schedule=row,
        table=table_of(row),
        due_at=due_at,
        digest=row.digest,
        outcome=Outcome.SKIPPED,
        text=text,
        ended_at=Now(),
    )
    _next(row, due_at)


def _next(row: Schedule, done: datetime) -> None:
    """Times that passed meanwhile are not made up for, and `done` doesn't come again if the clock is put back a little."""
    following = times.upcoming(row.cron, row.time_zone, max(timezone.now(), done), 1)[0]
    Schedule.objects.filter(pk=row.pk).update(next_due_at=following)


def _wait_for_approvals(row: Schedule) -> None:
    needed = approvals.required(row)
    text = f"It no longer has its approvals: it needs {needed}, and fewer count now."
    record(
        Actor.system(WHO), Action.SCHEDULE_STOP, ObjectKind.SCHEDULE, row.pk, row.name, reason=text, table=row.table_id
    )  # fmt: skip
    Schedule.objects.filter(pk=row.pk).update(
        state=Schedule.State.AWAITING_APPROVAL, state_at=Now(), state_text=text, next_due_at=None
    )


def _open(schedule: Schedule, due_at: datetime) -> bool:
    """The run as a job; a refusal of its request counts as a failed run, Levee's own trouble doesn't: that raises its Problem."""
    try:
        why, prepared = _prepared(schedule)
    except Http404:
        why, prepared = "The table isn’t in the catalog any more.", None
    except (Problem, CommandRefused) as refused:
        if isinstance(refused, Problem) and refused.status >= 500:
            raise
        text = f"It couldn’t be requested: {refused.detail if isinstance(refused, Problem) else refused}"
        return _locked(schedule, lambda row: _failed(row, due_at, text))
    if prepared is None:
        return _locked(schedule, lambda row: stop(Actor.system(WHO), row, why))
    ready = prepared
    try:
        return _locked(schedule, lambda row: _enter(row, due_at, ready))
    except IntegrityError as error:
        if broken(error) != "job_already_open":
            raise
        return False  # a person asked for the same: the run waits in its window


def _prepared(schedule: Schedule) -> tuple[str, Prepared | None]:
    """The request on the table as it is now; or what of the approved table no longer holds. Raises Http404, Problem, CommandRefused."""
    subject = subject_to_change(table_of(schedule).pk)
    if text := moved(schedule.shape, shape_of(subject)):
        return f"{text} {DEFINE_AGAIN}", None
    command = wanted_of(schedule).command
    return "", handling_of(command.kind).prepare(Actor.acting_for(schedule.run_by), command, subject)


def _enter(row: Schedule, due_at: datetime, prepared: Prepared) -> None:
    job = planning.entered(row, prepared)
    ScheduleRun.objects.create(
        schedule=row,
        table=table_of(row),
        due_at=due_at,
        job=job,
        digest=row.digest,
        parameters_sha256=job.parameters_sha256,
    )
    _next(row, due_at)


def _failed(row: Schedule, due_at: datetime, text: str) -> None:
    ScheduleRun.objects.create(
        schedule=row,
        table=table_of(row),
        due_at=due_at,
        digest=row.digest,
        outcome=Outcome.FAILED,
        text=text,
        ended_at=Now(),
    )
    _next(row, due_at)
    count_failure(row, text)


def count_failure(row: Schedule, text: str) -> None:
    """One more failure in a row; the second stops the schedule. The caller holds the row."""
    failures = row.failures + 1
    Schedule.objects.filter(pk=row.pk).update(failures=failures)
    if failures >= FAILURES and row.state == Schedule.State.ACTIVE:
        stop(Actor.system(WHO), row, f"{failures} runs in a row failed. The last one: {text}"[:2000])
