"""A run is of its definition as it is: in its window, while the schedule is active, and for no later definition."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import cache
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.utils import timezone

from console.audit.models import Event
from console.base.errors import Problem
from jobs.commands.optimize.rules import Optimize
from jobs.domain.states import Cause, State
from jobs.lifecycle.transitions import move
from jobs.models import Job, Schedule, ScheduleRun
from jobs.schedules import acts, opening, queries, times
from tests.jobs import small_delta
from tests.jobs.schedules.conftest import (
    SECONDS,
    fresh,
    job_of,
    look,
    make_due,
    outcomes,
    previewed,
    ran,
)

pytestmark = pytest.mark.django_db(transaction=True)
ACTIVE, PAUSED = Schedule.State.ACTIVE, Schedule.State.PAUSED


def test_columns_in_another_case_than_the_table_s_are_run_as_the_table_has_them(make, wanted):
    schedule = make(command=Optimize(wanted.command.table, zorder_by=["ID"]))
    make_due(schedule)
    assert look() == 1
    assert job_of(schedule).parameters["zorder_by"] == ["id"]
    assert previewed().state == State.QUEUED
    assert ran().state == State.SUCCEEDED


def test_a_worker_starts_no_run_after_its_window_while_no_dispatcher_ends_it(make, sales):
    schedule = make()
    make_due(schedule)
    look()
    previewed()
    schedule.runs.update(due_at=make_due(schedule, minutes_ago=61))
    Schedule.objects.filter(pk=schedule.pk).update(next_due_at=None)
    late = ran()
    assert (late.state, (late.error or {})["code"]) == (State.FAILED, "window_closed")
    assert small_delta.head(Path(sales.path)) == 1
    look()
    assert (outcomes(schedule), fresh(schedule).failures) == (["skipped"], 0)


@pytest.mark.parametrize("act", ["pause", "remove", "change"])
def test_a_run_that_a_worker_gave_back_ends_with_its_definition(make, actor, wanted, act):
    schedule = make()
    make_due(schedule)
    look()
    previewed()
    job = job_of(schedule)
    Job.objects.filter(pk=job.pk).update(state=State.RUNNING, attempt=1)
    if act == "change":
        acts.change(actor, fresh(schedule), replace(wanted, cron="0 4 * * *"))
    else:
        getattr(acts, act)(actor, fresh(schedule))
    assert outcomes(schedule) == [""]  # a worker has it
    move(Job.objects.get(pk=job.pk), State.QUEUED, Cause.WORKER, "worker")
    look()
    assert (job_of(schedule).state, outcomes(schedule)) == (State.CANCELLED, ["ended"])


def test_how_a_run_of_an_earlier_definition_ends_is_nothing_to_the_later_one(make, actor, wanted):
    schedule = make()
    make_due(schedule)
    look()
    previewed()
    job = job_of(schedule)
    Job.objects.filter(pk=job.pk).update(state=State.RUNNING, attempt=1)
    acts.change(actor, fresh(schedule), replace(wanted, command=Optimize(wanted.command.table, predicate="p = 'FR'")))
    Job.objects.filter(pk=job.pk).update(
        state=State.FAILED, finished_at=timezone.now(), error={"code": "schedule_moved", "message": "Not it."}
    )
    look()
    assert outcomes(schedule) == ["failed"]
    assert (fresh(schedule).state, fresh(schedule).failures) == (ACTIVE, 0)


def test_levee_s_own_trouble_is_no_failure_of_the_run(make, monkeypatch):
    schedule = make()
    due_at = make_due(schedule)

    def away(*_given):
        raise Problem(503, "audit_unavailable", "The audit can’t be written.")

    with monkeypatch.context() as patched:
        patched.setattr(opening, "_prepared", away)
        assert look() == 0
    assert (outcomes(schedule), fresh(schedule).next_due_at) == ([], due_at)
    assert look() == 1


# --- a time zone that is gone from the machine ---------------------------------------------------------------------------


@pytest.fixture
def no_berlin(monkeypatch):
    """A machine whose list of zones has lost Berlin's, from now on if called."""
    return lambda: monkeypatch.setattr(times, "known_zones", cache(lambda: frozenset({"UTC", "Europe/Paris"})))


def test_a_schedule_whose_zone_is_gone_stops_with_the_reason_and_the_others_go_on(make, no_berlin):
    gone, other = make("gone"), make("other", time_zone="Europe/Paris", cron="0 4 1 1 *")
    for schedule in (gone, other):
        make_due(schedule)
    no_berlin()
    assert look() == 2
    assert (fresh(gone).state, outcomes(gone)) == (Schedule.State.STOPPED, [])
    assert fresh(gone).state_text.startswith("There is no time zone 'Europe/Berlin'.")
    assert fresh(gone).state_text.endswith("Edit the schedule, or resume it once this machine knows the zone.")
    assert Event.objects.filter(action="schedule.stop", object_id=str(gone.pk)).count() == 1
    assert (fresh(other).state, outcomes(other)) == (ACTIVE, [""])
    assert look() == 0


def test_a_schedule_whose_zone_is_gone_cannot_be_resumed_until_the_zone_is_back(make, actor, no_berlin, monkeypatch):
    schedule = make()
    make_due(schedule)
    no_berlin()
    look()
    with pytest.raises(Problem, match="no time zone 'Europe/Berlin'") as refused:
        acts.resume(actor, fresh(schedule))
    assert (refused.value.status, refused.value.code) == (409, "wrong_state")
    assert fresh(schedule).state == Schedule.State.STOPPED
    monkeypatch.undo()
    assert acts.resume(actor, fresh(schedule)).state == ACTIVE


def test_a_clock_that_was_put_back_meets_a_zone_that_is_gone(make, no_berlin):
    schedule = make()
    ahead = timezone.now() + timedelta(days=30)
    ScheduleRun.objects.create(
        schedule=schedule, table=schedule.table, due_at=ahead, digest=schedule.digest, outcome="succeeded"
    )
    Schedule.objects.filter(pk=schedule.pk).update(next_due_at=ahead + timedelta(days=1))
    no_berlin()
    look()
    assert fresh(schedule).state == Schedule.State.STOPPED


IDENTITY = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": True}


def test_the_next_value_of_an_identity_column_is_no_change_of_the_schema(make, sales):
    def columns(**more: int) -> dict[str, object]:
        first, *others = small_delta.FIELDS
        return {"type": "struct", "fields": [{**first, "metadata": IDENTITY | more}, *others]}

    small_delta.reshape(Path(sales.path), columns())
    schedule = make()
    small_delta.reshape(Path(sales.path), columns(**{"delta.identity.highWaterMark": 60}))
    make_due(schedule)
    look()
    assert (fresh(schedule).state, outcomes(schedule)) == (ACTIVE, [""])


# --- many schedules -----------------------------------------------------------------------------------------------------


def test_schedules_that_wait_hold_up_no_others(make, monkeypatch):
    from jobs.dispatcher import schedules

    monkeypatch.setattr(schedules, "MOST", 1)
    waiting, other = sorted((make("one"), make("two", cron="0 4 1 1 *")), key=lambda each: str(each.pk))
    make_due(waiting, minutes_ago=2)
    look()
    make_due(waiting, minutes_ago=2)  # its own earlier run is open
    make_due(other, minutes_ago=1)
    Job.objects.filter(schedule=waiting).update(location="/another")
    look()
    look()
    assert outcomes(other) == [""]


def test_runs_that_wait_for_approvals_hold_up_no_others(make, monkeypatch):
    from jobs.dispatcher import schedules

    monkeypatch.setattr(schedules, "MOST", 1)
    first, second = make("one"), make("two")
    for schedule in (first, second):
        make_due(schedule)
        look()
        look()
        Job.objects.filter(schedule=schedule).update(location=f"/{schedule.name}")
    Job.objects.filter(schedule=first).update(
        state=State.AWAITING_APPROVAL, policy={"required_approvals": 1}, digest="0" * 64
    )
    Job.objects.filter(schedule=second).update(state=State.CANCELLED, finished_at=timezone.now())
    look()
    look()
    assert (outcomes(first), outcomes(second)) == ([""], ["ended"])


def test_a_look_ends_in_time_and_the_next_one_goes_on_behind_it(make, monkeypatch):
    from jobs.dispatcher import schedules

    monkeypatch.setattr(schedules, "SECONDS", 0)
    both = [make("one"), make("two")]
    for schedule in both:
        make_due(schedule)
    assert look() == 1
    Job.objects.update(location="/another")
    assert look() == 1
    assert [outcomes(schedule) for schedule in both] == [[""], [""]]


def test_thousands_that_are_due_at_once_hold_up_the_other_rounds_for_a_second(monkeypatch):
    from jobs.dispatcher import schedules

    clock = count()
    monkeypatch.setattr(schedules, "SECONDS", SECONDS)
    monkeypatch.setattr(schedules, "time", SimpleNamespace(monotonic=lambda: next(clock) / 50))  # 20 ms for each
    assert 45 <= schedules._each(lambda pk: True, range(10_000)) <= 55


def test_the_newest_run_of_each_is_found_without_reading_the_others(make, django_assert_num_queries):
    schedules = [make("one"), make("two"), make("never")]
    for schedule in schedules[:2]:
        for day in (1, 2, 3):
            ScheduleRun.objects.create(
                schedule=schedule, table=schedule.table, due_at=f"2027-01-0{day}T03:00Z", digest=schedule.digest,
                outcome="skipped",
            )  # fmt: skip
    with django_assert_num_queries(1):
        last = queries.last_runs(schedules)
    assert {pk: run.due_at.day for pk, run in last.items()} == {schedule.pk: 3 for schedule in schedules[:2]}
