"""What the ends of runs mean for their schedules; runs that couldn't start in their window; runs that may be queued."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Concat, Now
from django.utils import timezone

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from jobs.commands.registry import queue_of
from jobs.domain.states import ENDED, IN_REVIEW, Cause, State
from jobs.lifecycle import wakeups
from jobs.lifecycle.transitions import Fenced, move
from jobs.models import Job, Schedule, ScheduleRun
from jobs.policy import evaluate
from jobs.schedules.opening import count_failure
from jobs.schedules.planning import WHO, count_failed
from jobs.schedules.refusals import STOPPING, WINDOW, of_definition
from jobs.schedules.stopping import end_run, stop

Outcome = ScheduleRun.Outcome
APPROVED = "The schedule’s definition is approved, and the run is what it says: it waits for a worker."
LATE = "Skipped: it couldn’t start before its window of {minutes:,} minutes closed."
NO_LONGER = "The schedule isn’t active with this definition any more."
_MINUTE = Value(timedelta(minutes=1))


def open_runs() -> QuerySet[ScheduleRun]:
    """The runs that have ended, are late or no longer wanted, or wait for approvals that their schedule may have; by their keys alone."""
    waits = Q(job__state__in=IN_REVIEW)
    late = Q(due_at__lt=timezone.now() - F("schedule__window_minutes") * _MINUTE)
    unwanted = ~Q(schedule__state=Schedule.State.ACTIVE) | ~Q(digest=F("schedule__digest"))
    ended = Q(job__state__in=ENDED) | Q(job=None)
    acts = ended | Q(job__state=State.AWAITING_APPROVAL) | waits & (late | unwanted)
    return ScheduleRun.objects.filter(acts, outcome=Outcome.OPEN, is_planned=False).only("pk")


def with_planned_to_end() -> QuerySet[Schedule]:
    """The schedules with planned runs whose window has closed, or which they no longer want; by their keys alone."""
    planned = ScheduleRun.objects.filter(schedule=OuterRef("pk"), outcome=Outcome.OPEN, is_planned=True)
    closed = timezone.now() - OuterRef("window_minutes") * _MINUTE
    over = planned.filter(~Q(digest=OuterRef("digest")) | Q(due_at__lt=closed))
    idle = ~Q(state=Schedule.State.ACTIVE) | Q(removed_at__isnull=False)
    return Schedule.objects.filter(idle & Exists(planned) | Exists(over), table=None).only("pk")


def end_planned(schedule_id: uuid.UUID) -> bool:
    """Ends these runs of one schedule. Returns whether there were any."""
    with transaction.atomic():
        held = Schedule.objects.select_for_update(of=("self",), skip_locked=True)
        schedule = held.filter(pk=schedule_id).first()
        if schedule is None:
            return False
        waiting = schedule.runs.filter(outcome=Outcome.OPEN, is_planned=True)
        if schedule.state != Schedule.State.ACTIVE or schedule.removed_at is not None:
            return _end_all(schedule, waiting, Outcome.ENDED, NO_LONGER) > 0
        ended = _end_all(schedule, waiting.exclude(digest=schedule.digest), Outcome.ENDED, NO_LONGER)
        closed = timezone.now() - timedelta(minutes=schedule.window_minutes)
        late = LATE.format(minutes=schedule.window_minutes)
        return ended + _end_all(schedule, waiting.filter(due_at__lt=closed), Outcome.SKIPPED, late) > 0


def _end_all(schedule: Schedule, runs: QuerySet[ScheduleRun], outcome: ScheduleRun.Outcome, text: str) -> int:
    """All at once, on record as a sum; the run of a table whose log couldn’t be read keeps why. The caller holds the schedule’s row."""
    count = runs.count()
    if count:
        record(
            Actor.system(WHO), Action.SCHEDULE_SKIP, ObjectKind.SCHEDULE, schedule.pk, schedule.name,
            reason=text, after={"tables": count},
        )  # fmt: skip
        more = Concat(Value(f"{text} "), F("text"), output_field=TextField())
        why = Case(When(text="", then=Value(text)), default=more, output_field=TextField())
        runs.update(outcome=outcome, text=why, ended_at=Now())
    return count


def look_at(pk: int) -> bool:
    """Books a run that has ended, ends one that is late or no longer wanted, queues an approved one. Returns whether it did any of it."""
    with transaction.atomic():
        run = _locked(pk)
        if run is None:
            return False
        if run.job is None:
            return _end(run, Outcome.ENDED, "Its job is gone.")
        schedule, state = run.schedule, State(run.job.state)
        if state in ENDED:
            _book(run, run.job)
        elif schedule.state != Schedule.State.ACTIVE or run.digest != schedule.digest:  # a worker gave it back since
            return end_run(Actor.system(WHO), run, NO_LONGER)
        elif timezone.now() > schedule.closes(run.due_at):
            return end_run(Actor.system(WHO), run, LATE.format(minutes=schedule.window_minutes), Outcome.SKIPPED)
        else:
            return state is State.AWAITING_APPROVAL and let_run(run.job)
    return True


def _locked(pk: int) -> ScheduleRun | None:
    """The open run with its schedule's row locked."""
    runs: QuerySet[ScheduleRun] = ScheduleRun.objects.filter(pk=pk, outcome=Outcome.OPEN)
    held = runs.select_related("schedule", "schedule__table", "schedule__root", "schedule__run_by", "job", "job__table")
    return held.select_for_update(of=("self", "schedule"), skip_locked=True).first()


def let_run(job: Job) -> bool:
    """Queues a run that waits for approvals if its schedule's definition has them. In the caller's transaction. Returns whether."""
    if job.schedule_id is None:
        return False
    fresh = Job.objects.select_related("table").get(pk=job.pk)
    if fresh.state != State.AWAITING_APPROVAL or evaluate.approvals(fresh) < evaluate.required(fresh):
        return False
    try:
        move(fresh, State.QUEUED, Cause.APPROVER, WHO, text=APPROVED, queued_at=Now())
    except Fenced:
        return False
    wakeups.wake_after_commit(queue_of(fresh.command))
    return True


def _end(run: ScheduleRun, outcome: Outcome, text: str) -> bool:
    return bool(ScheduleRun.objects.filter(pk=run.pk).update(outcome=outcome, text=text, ended_at=Now()))


def _book(run: ScheduleRun, job: Job) -> None:
    outcome, text = _outcome(job)
    _end(run, outcome, text)
    schedule, actor = run.schedule, Actor.system(WHO)
    if run.digest != schedule.digest:
        return  # defined anew meanwhile: how the earlier definition ended is nothing to the later one
    if schedule.table_id is None:
        if outcome == Outcome.FAILED:
            _failed_of_many(run, job)
    elif outcome == Outcome.SUCCEEDED:
        Schedule.objects.filter(pk=schedule.pk).update(failures=0)
    elif outcome == Outcome.FAILED:
        _failed(schedule, job, text)
    elif job.state == State.REJECTED and schedule.state == Schedule.State.ACTIVE:
        stop(actor, schedule, "An approver rejected its run.")


def _failed_of_many(run: ScheduleRun, job: Job) -> None:
    """It goes on with its other tables, unless none of them may be changed any more."""
    schedule = run.schedule
    is_stopping = (job.error or {}).get("code") in STOPPING and schedule.state == Schedule.State.ACTIVE
    if is_stopping and (why := of_definition(schedule)):
        stop(Actor.system(WHO), schedule, f"{why.message} {why.remedy}")
    else:
        count_failed(run)


def _failed(schedule: Schedule, job: Job, text: str) -> None:
    if (job.error or {}).get("code") in STOPPING and schedule.state == Schedule.State.ACTIVE:
        stop(Actor.system(WHO), schedule, text)
    else:
        count_failure(schedule, text)


def _outcome(job: Job) -> tuple[Outcome, str]:
    error: dict[str, Any] = job.error or {}
    match State(job.state):
        case State.SUCCEEDED:
            return Outcome.SUCCEEDED, "Nothing to do." if job.no_op else ""
        case State.FAILED if error.get("code") == WINDOW:
            return Outcome.SKIPPED, f"Skipped: {error.get('message')}"
        case State.FAILED | State.STALE:
            return Outcome.FAILED, str(error.get("message") or "Its outcome is unknown.")[:2000]
        case State.EXPIRED:
            return Outcome.SKIPPED, "Its request expired before it could run."
        case state:
            return Outcome.ENDED, f"The job was {state}."
