"""A sync that somebody asks for is done by the light worker, and by the web process only where none begins with it."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from django.utils import timezone

from console.accounts.models import Grant
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from console.errors import Problem
from jobs import answering, light
from jobs.claims import claim_read
from jobs.models import Read, Worker
from tables import behind, queries, services, table_views
from tables import sync as syncing
from tests.clients import Caller, browser

pytestmark = pytest.mark.django_db(transaction=True)

LIGHT = "light@here"


@pytest.fixture
def operator(olga):
    Grant.objects.create(person=olga, role=Role.ADMIN, scope=Grant.Scope.EVERYTHING)
    return olga


@pytest.fixture
def worker(db):
    return Worker.objects.create(
        name=LIGHT, kind="light", host="here", boot_id="b", pid=1, start_ticks=1, condition="ready"
    )


@pytest.fixture
def place(lake):
    path = f"{lake.uri}/shop"
    write_deltalake(path, pa.table({"id": [1, 2, 3]}))
    return path


@pytest.fixture
def in_the_worker(monkeypatch, no_wakes):
    """While the asker sleeps, the light worker does what `act` says; syncs are counted by who did them."""
    where = ["web"]
    done = []
    real = syncing.sync

    def sync(*given, **options):
        done.append(where[0])
        return real(*given, **options)

    def sleeps(act):
        def sleep(_seconds):
            where[0] = "worker"
            act()
            where[0] = "web"

        monkeypatch.setattr("jobs.reads.time.sleep", sleep)
        return done

    monkeypatch.setattr(syncing, "sync", sync)
    return sleeps


def test_the_light_worker_reads_the_log(operator, worker, place, in_the_worker):
    done = in_the_worker(lambda: light.one(LIGHT))
    added = Caller(operator).post("/tables", {"path": place})
    assert (added.status_code, added.json()["version"], added.json()["num_records"]) == (201, 0, 3)
    write_deltalake(place, pa.table({"id": [4]}), mode="append")
    synced = Caller(operator).post(f"/tables/{added.json()['id']}/sync")
    assert (synced.status_code, synced.json()["version"]) == (200, 1)
    assert done == ["worker", "worker"]
    assert Event.objects.filter(action="table.sync").count() == 1
    assert set(Read.objects.values_list("kind", "queue", "state", "worker")) == {("sync", "light", "answered", LIGHT)}


def test_what_no_worker_begins_with_the_web_reads(operator, worker, place, in_the_worker, monkeypatch):
    monkeypatch.setattr(services, "PATIENCE_SECONDS", 0.05)
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
    monkeypatch.setattr(services, "SYNC_SECONDS_WAITED", 0.05)
    monkeypatch.setattr(services, "PATIENCE_SECONDS", 0.02)
    monkeypatch.setattr(table_views, "PAGE_WAITS", 0.05)
    claimed: list[Read | None] = []
    done = in_the_worker(lambda: claimed.append(claim_read("light", LIGHT)))
    added = Caller(operator).post("/tables", {"path": place})
    assert (added.status_code, added.json()["version"], added.json()["synced_at"]) == (201, None, None)
    synced = Caller(operator).post(f"/tables/{added.json()['id']}/sync")
    assert (synced.status_code, synced.json()["version"]) == (202, None)
    assert synced.headers["Location"].startswith("/api/v1/reads/")
    page = browser(operator).post(f"/tables/{added.json()['id']}/sync/", follow=True).content.decode()
    assert "The log is still being read" in page
    assert done == []
    for read in filter(None, claimed):
        answering.answer_light(read, {"sync": light.sync})
    assert queries.table_for(operator, added.json()["id"]).version == 0


def test_a_second_question_is_not_answered_by_a_log_that_was_read_before_it(operator, worker, place, no_wakes):
    table = _entered(operator, place)
    assert behind.ask_sync(operator, table) != behind.ask_sync(operator, table)


def test_a_table_that_is_being_read_holds_up_no_worker(operator, worker, place, no_wakes, monkeypatch):
    monkeypatch.setattr(services, "TURN_SECONDS", 0.1)
    monkeypatch.setattr(syncing, "try_turn", lambda _table: False)
    table = _entered(operator, place)
    asked = behind.ask_sync(operator, table)
    assert asked
    assert light.one(LIGHT)
    with pytest.raises(Problem) as refused:
        behind.await_sync(asked, 0.1, 0.1)
    assert (refused.value.status, refused.value.code) == (409, "sync_running")


def test_a_sync_that_came_to_nothing_is_given_out_again_and_then_told(operator, worker, place, no_wakes):
    """Its worker lives, and has lost the database meanwhile, say."""
    table = _entered(operator, place)
    asked = behind.ask_sync(operator, table)
    assert asked
    Worker.objects.update(started_at=timezone.now() - timedelta(hours=2))
    for _ in range(answering.TRIES):
        assert claim_read("light", LIGHT)
        assert answering.take_back() == 0
        Read.objects.update(started_at=timezone.now() - timedelta(minutes=6))
        assert answering.take_back() == 1
    with pytest.raises(Problem) as told:
        behind.await_sync(asked, 0, 0)
    assert (told.value.status, told.value.code) == (503, "worker_lost")


def test_a_table_whose_first_sync_failed_is_added_all_the_same(operator, worker, place, in_the_worker):
    write_deltalake(f"{place}2", pa.table({"id": [1]}))
    in_the_worker(
        lambda: Read.objects.update(state="failed", problem={"status": 503, "code": "worker_lost", "detail": ""})
    )
    named = Caller(operator).post("/tables", {"path": place, "name": "sales.shop", "source_format": "delta"})
    assert (named.status_code, named.json()["code"]) == (409, "sync_running")
    known = Caller(operator).post("/tables", {"path": place})
    assert (known.status_code, known.json()["synced_at"]) == (200, None)
    assert queries.table_for(operator, known.json()["id"]).next_sync_at is not None
    other = Caller(operator).post("/tables", {"path": f"{place}2"})
    assert (other.status_code, other.json()["synced_at"]) == (201, None)


def _entered(person, place):
    actor = Actor.acting_for(person)
    return services.enter(actor, services.locate(person, place), services.kind_at(place))[0]
