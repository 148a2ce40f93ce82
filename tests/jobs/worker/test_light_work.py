"""A sync that somebody asks for is done by the light worker, and by the web process only where none begins with it."""

from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest
from django.utils import timezone

from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from console.base.waiting import SYNCS
from jobs.models import Read, Worker
from jobs.worker import light_work, read_executor
from jobs.worker.claims import claim_read
from tables import ports
from tables.catalog import listing, requested_syncs
from tables.catalog.adding import additions
from tables.catalog.roots import changes as root_changes
from tables.models import Table
from tables.sync import table as syncing
from tables.web.table import change_views
from tests import clock, factories
from tests.clients import Caller, browser
from tests.factories import lakes

pytestmark = pytest.mark.django_db(transaction=True)

LIGHT = "light@here"


@pytest.fixture
def operator(olga):
    factories.GrantFactory(person=olga, role=Role.ADMIN)
    return olga


@pytest.fixture
def admin_beside(db):
    return factories.person_with("operator")


@pytest.fixture
def worker(db):
    return factories.WorkerFactory(name=LIGHT, kind="light")


@pytest.fixture
def place(lake):
    path = f"{lake.uri}/shop"
    lakes.delta(path, {"id": [1, 2, 3]})
    return path


@pytest.fixture
def in_the_worker(monkeypatch, no_wakes):
    """While the asker sleeps, the light worker does what `act` says; syncs are counted by who did them.

    The asker's time goes by in its sleep alone: it is long enough for the worker on a busy machine, too.
    """
    where, now = ["web"], [0.0]
    done = []
    real = syncing.sync

    def sync(*given, **options):
        done.append(where[0])
        return real(*given, **options)

    def sleeps(act):
        def sleep(seconds):
            now[0] += seconds
            where[0] = "worker"
            act()
            where[0] = "web"

        clock.replace(monkeypatch, "jobs.reads.queue", sleep=sleep, monotonic=lambda: now[0])
        return done

    monkeypatch.setattr(syncing, "sync", sync)
    return sleeps


def test_the_light_worker_reads_the_log(operator, worker, place, in_the_worker):
    done = in_the_worker(lambda: light_work.one(LIGHT))
    added = Caller(operator).post("/tables", {"path": place})
    assert (added.status_code, added.json()["version"], added.json()["num_records"]) == (201, 0, 3)
    lakes.delta(place, {"id": [4]}, mode="append")
    synced = Caller(operator).post(f"/tables/{added.json()['id']}/sync")
    assert (synced.status_code, synced.json()["version"]) == (200, 1)
    assert done == ["worker", "worker"]
    assert Event.objects.filter(action="table.sync").count() == 1
    assert set(Read.objects.values_list("kind", "queue", "state", "worker")) == {("sync", "light", "answered", LIGHT)}


def test_what_no_worker_begins_with_the_web_reads(operator, worker, place, in_the_worker, monkeypatch):
    monkeypatch.setattr(requested_syncs, "PATIENCE_SECONDS", 0.05)
    done = in_the_worker(lambda: None)
    added = Caller(operator).post("/tables", {"path": place})
    assert (added.status_code, added.json()["version"]) == (201, 0)
    assert Caller(operator).post(f"/tables/{added.json()['id']}/sync").status_code == 200
    assert done == ["web", "web"]
    assert not Read.objects.exists()


def test_without_a_light_worker_nobody_waits(operator, place, in_the_worker):
    def fail():
        raise AssertionError("waited")

    done = in_the_worker(fail)
    added = Caller(operator).post("/tables", {"path": place})
    assert (added.status_code, added.json()["version"]) == (201, 0)
    assert done == ["web"]


def test_a_log_that_takes_long_is_read_on_without_the_asker(operator, worker, place, in_the_worker, monkeypatch):
    monkeypatch.setattr(requested_syncs, "SYNC_SECONDS_WAITED", 0.05)
    monkeypatch.setattr(requested_syncs, "PATIENCE_SECONDS", 0.02)
    monkeypatch.setattr(change_views, "PAGE_WAITS", 0.05)
    claimed: list[Read | None] = []
    done = in_the_worker(lambda: claimed.append(claim_read("light", LIGHT)))
    added = Caller(operator).post("/tables", {"path": place})
    assert (added.status_code, added.json()["version"], added.json()["synced_at"]) == (201, None, None)
    synced = Caller(operator).post(f"/tables/{added.json()['id']}/sync")
    assert (synced.status_code, synced.json()["version"]) == (202, None)
    assert synced.headers["Location"].startswith("/api/v1/reads/")
    page = browser(operator).post(f"/tables/{added.json()['id']}/sync/", follow=True).content.decode()
    assert "Levee is still reading the log" in page
    assert done == []
    for read in filter(None, claimed):
        read_executor.answer_light(read, {"sync": light_work.sync})
    assert listing.table_for(operator, added.json()["id"]).version == 0


@pytest.fixture
def nobody_waits_here(operator):
    """The operator has as many requests waiting for a log as one person may."""
    with contextlib.ExitStack() as stack:
        for _ in range(SYNCS.each):
            assert stack.enter_context(SYNCS.place(operator.pk))
        yield


def test_too_many_who_wait_for_a_log_are_told_to_come_again(operator, worker, place, in_the_worker, nobody_waits_here):
    def fail():
        raise AssertionError("waited")

    done = in_the_worker(fail)
    added = Caller(operator).post("/tables", {"path": place})
    assert (added.status_code, added.json()["code"], added.headers["Retry-After"]) == (503, "busy", "2")
    assert not Table.objects.exists()
    table = _entered(operator, place)
    known = Caller(operator).post("/tables", {"path": place})
    assert (known.status_code, known.json()["id"]) == (200, str(table.pk))
    synced = Caller(operator).post(f"/tables/{table.pk}/sync")
    assert (synced.status_code, synced.json()["code"]) == (503, "busy")
    page = browser(operator).post(f"/tables/{table.pk}/sync/", follow=True).content.decode()
    assert "try again in a moment" in page
    assert done == []
    assert not Read.objects.exists()


def test_another_person_adds_a_table_meanwhile(admin_beside, worker, place, in_the_worker, nobody_waits_here):
    in_the_worker(lambda: light_work.one(LIGHT))
    assert Caller(admin_beside).post("/tables", {"path": place}).status_code == 201


def test_a_second_question_is_not_answered_by_a_log_that_was_read_before_it(operator, worker, place, no_wakes):
    table = _entered(operator, place)
    assert ports.ask_sync(operator, table) != ports.ask_sync(operator, table)


def test_a_table_that_is_being_read_holds_up_no_worker(operator, worker, place, no_wakes, monkeypatch):
    monkeypatch.setattr(requested_syncs, "TURN_SECONDS", 0.1)
    monkeypatch.setattr(syncing, "try_turn", lambda _table: False)
    table = _entered(operator, place)
    asked = ports.ask_sync(operator, table)
    assert asked
    assert light_work.one(LIGHT)
    with pytest.raises(Problem) as refused:
        ports.await_sync(asked, 0.1, 0.1)
    assert (refused.value.status, refused.value.code) == (409, "sync_running")


def test_a_sync_that_came_to_nothing_is_given_out_again_and_then_told(operator, worker, place, no_wakes):
    """Its worker lives, and has lost the database meanwhile, say."""
    table = _entered(operator, place)
    asked = ports.ask_sync(operator, table)
    assert asked
    Worker.objects.update(started_at=timezone.now() - timedelta(hours=2))
    for _ in range(read_executor.TRIES):
        assert claim_read("light", LIGHT)
        assert read_executor.take_back() == 0
        Read.objects.update(started_at=timezone.now() - timedelta(minutes=6))
        assert read_executor.take_back() == 1
    with pytest.raises(Problem) as told:
        ports.await_sync(asked, 0, 0)
    assert (told.value.status, told.value.code) == (503, "worker_lost")


def test_a_table_whose_first_sync_failed_is_added_all_the_same(operator, worker, place, in_the_worker):
    lakes.delta(f"{place}2", {"id": [1]})
    in_the_worker(
        lambda: Read.objects.update(state="failed", problem={"status": 503, "code": "worker_lost", "detail": ""})
    )
    named = Caller(operator).post("/tables", {"path": place, "name": "sales.shop", "source_format": "delta"})
    assert (named.status_code, named.json()["code"]) == (409, "sync_running")
    known = Caller(operator).post("/tables", {"path": place})
    assert (known.status_code, known.json()["synced_at"]) == (200, None)
    assert listing.table_for(operator, known.json()["id"]).next_sync_at is not None
    other = Caller(operator).post("/tables", {"path": f"{place}2"})
    assert (other.status_code, other.json()["synced_at"]) == (201, None)


def _entered(person, place):
    actor = Actor.acting_for(person)
    return additions.enter(actor, additions.locate(person, place), additions.kind_at(place))[0]


def test_a_scan_that_waited_until_its_root_was_paused_is_not_begun(operator, lake, worker, no_wakes):
    api = Caller(operator)
    asked = api.post(f"/roots/{lake.pk}/scan", {})
    assert asked.status_code == 202
    root_changes.pause(Actor.acting_for(operator), lake)
    assert light_work.one(LIGHT)
    answer = api.get(asked.json()["result_url"])
    assert (answer.status_code, answer.json()["code"]) == (409, "root_paused")
    lake.refresh_from_db()
    assert (lake.scan_pass, lake.scanned_at) == (None, None)
