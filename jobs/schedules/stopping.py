"""Ends a schedule's waiting runs, and stops a schedule that can't go on. In the caller's transaction, which holds its row."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from jobs.domain.states import IN_REVIEW, Cause, State
from jobs.lifecycle.transitions import Fenced, move
from jobs.models import Schedule, ScheduleRun
from jobs.schedules.queries import open_runs


def stop(actor: Actor, schedule: Schedule, text: str) -> None:
    """Stops the schedule, with the reason: no run is opened until a person resumes it or defines it again."""
    record(
        actor, Action.SCHEDULE_STOP, ObjectKind.SCHEDULE, schedule.pk, schedule.name,
        reason=text, before={"state": schedule.state}, table=schedule.table_id,
    )  # fmt: skip
    Schedule.objects.filter(pk=schedule.pk).update(
        state=Schedule.State.STOPPED, state_at=Now(), state_text=text, next_due_at=None
    )


def end_waiting(
    actor: Actor, schedule: Schedule, text: str, outcome: ScheduleRun.Outcome = ScheduleRun.Outcome.ENDED
) -> bool:
    """Cancels the schedule's runs that no worker has yet, and those that are planned. Returns whether there were any."""
    runs = open_runs(schedule)
    planned = runs.filter(is_planned=True).update(outcome=outcome, text=text, ended_at=Now())
    ended = [end_run(actor, run, text, outcome) for run in runs.filter(job__state__in=IN_REVIEW)]
    return planned > 0 or any(ended)


def end_run(
    actor: Actor, run: ScheduleRun, text: str, outcome: ScheduleRun.Outcome = ScheduleRun.Outcome.ENDED
) -> bool:
    """Cancels a run's job if no worker has it yet. Returns whether it did."""
    if run.job is None or run.job.state not in IN_REVIEW:
        return False
    try:
        move(run.job, State.CANCELLED, Cause.CANCELLER, actor.name, text=text)
    except Fenced:
        return False  # a worker has just claimed it
    ScheduleRun.objects.filter(pk=run.pk).update(outcome=outcome, text=text, ended_at=Now())
    return True


def pause_all(actor: Actor, text: str) -> int:
    """Pauses every active schedule, with the reason; a person resumes each. Returns how many, in one transaction."""
    active = Schedule.objects.filter(state=Schedule.State.ACTIVE, removed_at=None)
    with transaction.atomic():
        held = list(active.select_for_update().order_by("name"))
        for schedule in held:
            record(
                actor, Action.SCHEDULE_PAUSE, ObjectKind.SCHEDULE, schedule.pk, schedule.name,
                reason=text, table=schedule.table_id,
            )  # fmt: skip
        paused = {"state": Schedule.State.PAUSED, "state_text": text, "next_due_at": None}
        return active.filter(pk__in=[schedule.pk for schedule in held]).update(state_at=Now(), **paused)
