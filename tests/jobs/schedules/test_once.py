"""No run twice: not by two dispatchers, not after they were down, not by a clock that jumps; never two writers on one table."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from jobs.commands.optimize.rules import Optimize
from jobs.domain.states import State
from jobs.models import Job, Schedule
from jobs.schedules import opening
from jobs.worker.claims import claim_run
from tests import factories
from tests.jobs.schedules.conftest import fresh, job_of, look, make_due, outcomes, previewed

pytestmark = pytest.mark.django_db(transaction=True)


def test_two_dispatchers_open_one_run(make, monkeypatch):
    """Both have found the schedule due and prepared its run before either enters it."""
    schedule = make()
    make_due(schedule)
    both, prepared = threading.Barrier(2, timeout=20), opening._prepared

    def at_once(*given: Any) -> Any:
        ready = prepared(*given)
        both.wait()
        return ready

    monkeypatch.setattr(opening, "_prepared", at_once)

    def dispatcher(_number: int) -> bool:
        try:
            return opening.open_if_due(schedule.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(dispatcher, range(2))) == [False, True]
    assert Job.objects.filter(schedule=schedule).count() == schedule.runs.count() == 1


def test_two_dispatchers_skip_a_late_run_once(make, monkeypatch):
    schedule = make(window_minutes=60)
    make_due(schedule, minutes_ago=90)
    both, hold = threading.Barrier(2, timeout=20), opening._hold

    def at_once(seen: Schedule) -> Any:
        both.wait()
        return hold(seen)

    monkeypatch.setattr(opening, "_hold", at_once)

    def dispatcher(_number: int) -> bool:
        try:
            return opening.open_if_due(schedule.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(dispatcher, range(2)))
    assert outcomes(schedule) == ["skipped"]


class Clock:
    """The dispatcher's clock, wherever it is put."""

    now = datetime(2027, 3, 10, 12, 0, tzinfo=UTC)


@pytest.fixture
def clock(monkeypatch):
    hands = Clock()
    monkeypatch.setattr(timezone, "now", lambda: hands.now)
    return hands


def at(hour: int, minute: int = 0, day: int = 10) -> datetime:
    return datetime(2027, 3, day, hour, minute, tzinfo=UTC)


def test_a_clock_that_is_put_back_a_little_opens_no_run_again(make, clock):
    schedule = make(cron="0 13 * * *", time_zone="UTC")
    assert fresh(schedule).next_due_at == at(13)
    clock.now = at(13) + timedelta(milliseconds=400)
    assert look() == 1
    clock.now = at(12, 59)
    assert look() == 0
    assert fresh(schedule).next_due_at == at(13, day=11)


def test_a_clock_that_is_put_back_between_two_readings_does_not_either(make, clock):
    schedule = make(cron="0 13 * * *", time_zone="UTC")
    clock.now = at(12, 59)
    opening._next(schedule, at(13))
    assert fresh(schedule).next_due_at == at(13, day=11)


def test_a_schedule_goes_on_after_a_clock_that_was_years_ahead(make, clock):
    schedule = make(cron="0 13 * * *", time_zone="UTC", window_minutes=60)
    clock.now = datetime(2031, 6, 1, 20, tzinfo=UTC)
    look()
    assert outcomes(schedule) == ["skipped"]
    assert fresh(schedule).next_due_at == datetime(2031, 6, 2, 13, tzinfo=UTC)
    clock.now = at(12, 30)
    look()
    assert fresh(schedule).next_due_at == at(13)
    assert opening.too_far() == []
    clock.now = at(13, 0)
    assert look() == 1
    assert outcomes(schedule) == ["skipped", ""]


def test_two_schedules_of_one_table_never_write_at_the_same_time(make, sales):
    first = make("first")
    second = make("second", command=Optimize(str(sales.pk), predicate="p = 'FR'"))
    for schedule in (first, second):
        make_due(schedule)
    assert look() == 2
    for _ in range(2):
        assert previewed().state == State.QUEUED
    claim = claim_run(factories.holder())
    assert claim is not None
    assert claim.job.pk in {job_of(first).pk, job_of(second).pk}
    assert claim_run(factories.holder()) is None  # the other waits for its turn
