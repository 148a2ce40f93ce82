"""Waits that end as soon as what they wait for is there, and say what was missing when it never comes."""

import os
from collections.abc import Iterator

import pytest
import pytest_timeout

from tests import clock, lanes, patience


@pytest.fixture
def machine(monkeypatch):
    """A quiet machine of two cores; `machine(8.0)` gives it that load."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    def loaded(load: float) -> None:
        monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))

    loaded(0.0)
    return loaded


@pytest.fixture
def ticks(monkeypatch):
    """A clock that only goes on when somebody sleeps; the pauses."""
    slept: list[float] = []
    clock.replace(monkeypatch, "tests.patience", sleep=slept.append, monotonic=lambda: sum(slept))
    return slept


@pytest.mark.parametrize(("load", "factor"), [(0.0, 4), (2.0, 4), (5.0, 10), (64.0, 20)])
def test_a_busy_machine_is_given_more_time_up_to_a_cap(machine, load, factor):
    machine(load)
    assert patience.factor() == factor
    assert patience.stretch() == factor / 4
    assert patience.limit(3) == 3 * factor
    assert patience.limit_ms(3) == 3000 * factor


def test_in_ci_other_work_is_expected(machine, monkeypatch):
    monkeypatch.setenv("CI", "true")
    assert patience.factor() == 6
    machine(5.0)
    assert patience.factor() == 10


def test_what_comes_true_is_given(machine, ticks):
    answers: Iterator[object] = iter([None, [], "here"])
    assert patience.wait_for(lambda: next(answers), "it is here", 1, every_s=0.5) == "here"
    assert ticks == [0.5, 0.5]


def test_what_never_comes_is_named_with_the_wait_the_load_and_what_was_told(machine, ticks):
    with pytest.raises(patience.InVain) as failed:
        patience.wait_for(lambda: False, "the worker is ready", 2, lambda: "spark: no Java", every_s=1)
    text = "waited 9 s in vain until the worker is ready, which takes 2 s on a quiet machine; load 0.0 on 2 cores: spark: no Java"
    assert str(failed.value) == text


def test_a_machine_that_is_busy_meanwhile_prolongs_the_wait(machine, ticks):
    def look() -> bool:
        machine(4.0 if len(ticks) == 3 else 0.0)
        return len(ticks) > 12

    assert patience.wait_for(look, "it is here", 2, every_s=1)


def test_what_comes_during_the_last_pause_counts(machine, ticks):
    assert patience.wait_for(lambda: len(ticks) == 1, "it is here", 1, every_s=60)


def test_pytests_own_limit_grows_alike(machine, monkeypatch, request):
    machine(5.0)
    given: list[float] = []
    monkeypatch.setattr(
        pytest_timeout, "pytest_timeout_set_timer", lambda _item, settings: given.append(settings.timeout)
    )
    lanes.pytest_timeout_set_timer(request.node, pytest_timeout.Settings(600, "signal", False, False))
    assert given == [1500]
