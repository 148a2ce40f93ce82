"""What tests of jobs share: the append command, times shortened, and a lake in a temporary directory."""

import pytest

from console.accounts.models import Person
from console.base import timeouts as times
from tables.models import Root, Table
from tests import factories
from tests.jobs import append
from tests.jobs.engine.fixtures import convert, inspect, marks, report, sql

__all__ = ["convert", "inspect", "marks", "report", "sql"]

append.register()


@pytest.fixture
def timing(monkeypatch):
    """Sets this process's times: `timing(lease=1)`."""

    def shorten(**values: float) -> times.Timing:
        made = times.Timing(**values)
        monkeypatch.setattr(times, "of_process", lambda: made)
        return made

    return shorten


@pytest.fixture
def no_wakes(monkeypatch) -> list[str]:
    """Wake-ups are listed instead of sent."""
    sent: list[str] = []

    def wake(queue: str) -> bool:
        sent.append(str(queue))
        return True

    monkeypatch.setattr("jobs.lifecycle.wakeups.wake", wake)
    return sent


@pytest.fixture
def olga(db) -> Person:
    return factories.appointed()


@pytest.fixture
def lake(db, tmp_path) -> Root:
    place = tmp_path / "lake"
    place.mkdir()
    return factories.root_at(place)


@pytest.fixture
def orders(lake) -> Table:
    return factories.table_in(lake, "orders")
