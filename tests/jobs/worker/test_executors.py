"""What a run says of its executors, whatever happens between the question and the record of its answer."""

import pytest

from console.base.timeouts import Timing, timing
from jobs.worker.executors import Executors
from tests import clock


@pytest.fixture
def executors(monkeypatch) -> Executors:
    """They have been missing for longer than a run waits in silence."""
    now = [100.0]
    clock.replace(monkeypatch, "jobs.worker.executors", monotonic=lambda: now[0])
    made = Executors("spark://here:7077")
    made.seen(False)
    now[0] += timing().no_executors + 1
    return made


def test_as_shipped_a_run_says_within_half_a_minute_that_it_has_none():
    """A look that finds none begins the wait, and one after it ends tells of it."""
    shipped = Timing()
    assert shipped.no_executors + 2 * shipped.watch <= 30
    assert shipped.no_executors < shipped.read_limit, "a read says so too, before it ends as too slow"


def test_executors_that_come_take_the_waiting_back(executors):
    text = executors.news()
    executors.told(text)
    assert executors.waiting == text
    executors.seen(True)
    executors.told(executors.news())
    assert (executors.waiting, executors.news()) == (None, None)


def test_executors_that_come_while_the_waiting_is_recorded_take_it_back_as_well(executors):
    text = executors.news()
    executors.seen(True)
    executors.told(text)
    assert executors.waiting == text
    back = executors.news()
    assert back == f"Executors have come after {timing().no_executors + 1:.0f} s: the run goes on."
    executors.told(back)
    assert (executors.waiting, executors.news()) == (None, None)
