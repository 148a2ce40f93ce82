"""What tests of jobs share: the append command, times shortened, and a lake in a temporary directory."""

import pytest

from console.accounts.models import Person
from jobs import timing as times
from tables.models import Root, Table
from tests.jobs import append, making

append.register()


@pytest.fixture
def timing(monkeypatch):
    """Sets this process's times: `timing(lease=1)`."""

    def shorten(**values: float) -> times.Timing:
        made = times.Timing(**values)
        for module in _modules_with_timing():
            monkeypatch.setattr(module, "timing", lambda: made)
        return made

    return shorten


def _modules_with_timing():
    import sys

    return [m for n, m in sys.modules.items() if n.startswith("jobs.") and n != "jobs.timing" and hasattr(m, "timing")]


@pytest.fixture
def no_wakes(monkeypatch) -> list[str]:
    """Wake-ups are listed instead of sent."""
    sent: list[str] = []

    def wake(queue: str) -> bool:
        sent.append(str(queue))
        return True

    monkeypatch.setattr("jobs.broker.wake", wake)
    return sent


@pytest.fixture
def olga(db) -> Person:
    return making.person()


@pytest.fixture
def lake(db, tmp_path) -> Root:
    place = tmp_path / "lake"
    place.mkdir()
    return making.root(place)


@pytest.fixture
def orders(lake) -> Table:
    return making.table(lake, "orders")
