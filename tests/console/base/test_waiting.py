"""Few requests wait at once, and fewer of one person: whoever finds no place is answered with what is so now."""

from __future__ import annotations

import contextlib
import threading

import pytest

from console.base import waiting
from console.base.waiting import WaitingPlaces
from console.supervisor.command_lines import THREADS
from tests import clock, factories
from tests.clients import Caller, browser, caller


@pytest.fixture
def nobody_sleeps(monkeypatch):
    def sleep(_seconds):
        raise AssertionError("waited")

    clock.replace(monkeypatch, "jobs.reads.queue", sleep=sleep)
    clock.replace(monkeypatch, "jobs.lifecycle.long_poll", sleep=sleep)


@pytest.fixture
def viewer(db):
    return caller("viewer")


@pytest.fixture
def all_taken(viewer):
    """As many requests of the viewer wait as one person may have waiting."""
    with contextlib.ExitStack() as stack:
        for _ in range(waiting.ANSWERS.each):
            assert stack.enter_context(waiting.ANSWERS.place(viewer.person.pk))
        yield


def test_one_person_takes_no_more_than_their_share():
    places = WaitingPlaces(most=3, each=2)
    with places.place("ana") as first, places.place("ana") as second, places.place("ana") as third:
        assert (first, second, third) == (True, True, False)
        with places.place("ben") as other, places.place("cleo") as last:
            assert (other, last) == (True, False)
    with places.place("ana") as again:
        assert again


def test_a_place_is_free_again_after_a_fault():
    places = WaitingPlaces(most=1, each=1)
    with pytest.raises(ZeroDivisionError), places.place("ana"):
        raise ZeroDivisionError
    with places.place("ben") as there:
        assert there


def test_many_at_once_never_take_more_places_than_there_are():
    places, most, begin = WaitingPlaces(most=5, each=2), [0], threading.Barrier(40)
    lock = threading.Lock()
    now: set[int] = set()

    def come(number):
        begin.wait()
        for _ in range(50):
            with places.place(number % 8) as there:
                if there:
                    with lock:
                        now.add(number)
                        most[0] = max(most[0], len(now))
                    with lock:
                        now.discard(number)

    threads = [threading.Thread(target=come, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < most[0] <= 5


def test_waiting_leaves_threads_for_pages():
    assert waiting.ANSWERS.most + waiting.SYNCS.most + waiting.REBUILDS.most <= THREADS * 3 // 4


def test_a_job_is_told_as_it_is_when_too_many_wait(viewer, all_taken, nobody_sleeps):
    job = factories.job("queued")
    answer = viewer.get(f"/jobs/{job.pk}?wait=20&until=ended")
    assert (answer.status_code, answer.json()["state"]) == (200, "queued")


def test_a_read_is_told_as_it_is_when_too_many_wait(viewer, all_taken, nobody_sleeps, tmp_path):
    (tmp_path / "orders").mkdir()
    factories.RootFactory(uri=str(tmp_path))
    asked = viewer.post("/conversions/inspect?wait=20", {"path": f"{tmp_path}/orders"})
    assert asked.status_code == 202
    assert viewer.get(f"{asked.json()['result_url']}?wait=20").status_code == 202


def test_a_page_asks_again_when_too_many_wait(viewer, all_taken, nobody_sleeps, tmp_path):
    factories.WorkerFactory(kind="interactive")
    (tmp_path / "orders").mkdir()
    table = factories.TableFactory(root=factories.RootFactory(uri=str(tmp_path)), name="orders", version=7)
    page = browser(viewer.person).get(f"/tables/{table.pk}/capabilities/").content.decode()
    assert 'hx-get="/reads/' in page


def test_another_person_still_waits(viewer, all_taken, monkeypatch):
    slept: list[float] = []
    job = factories.job("queued")
    clock.replace(monkeypatch, "jobs.lifecycle.long_poll", sleep=slept.append)
    monkeypatch.setattr("jobs.lifecycle.long_poll.PAUSE_SECONDS", 0.01)
    Caller(factories.person_with("viewer")).get(f"/jobs/{job.pk}?wait=0.05")
    assert slept
