"""A store that takes every request and says nothing, and a mount that hangs: only their own tables wait, and one thread."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from console.audit.actor import Actor
from jobs.commands.optimize.rules import Optimize
from jobs.dispatcher import schedules
from jobs.dispatcher.late_commits import LateCommits
from jobs.dispatcher.reconcile import reconcile
from jobs.dispatcher.stores import Stores
from jobs.domain.states import Cause, State
from jobs.lifecycle import endings
from jobs.lifecycle.transitions import move
from jobs.models import Job, JobEvent, TableLease
from jobs.schedules import acts
from jobs.schedules.definition import WantedSchedule
from jobs.worker.claims import claim_run
from tables.models import Table
from tables.storage.local.files import LocalStorage
from tests import factories
from tests.factories import lakes
from tests.jobs.dispatcher.test_late import failed
from tests.jobs.dispatcher.test_reconcile import commit_for, dead_holder, lost
from tests.jobs.schedules.conftest import YEARLY, make_due, outcomes
from tests.jobs.streams.test_silent_sources import Impatient
from tests.patience import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_wakes")]


@dataclass
class Away:
    """A table whose storage says nothing while `speaks` isn't set."""

    table: Table
    name: str  # of its store
    put: Callable[[str, bytes], object]  # below the table's directory
    speaks: threading.Event

    def commit_for(self, job: Job, version: int) -> None:
        mark = json.dumps({"job": str(job.pk), "attempt": 1, "digest": None})
        info = {"commitInfo": {"timestamp": 1, "operation": "WRITE", "userMetadata": mark}}
        self.put(f"_delta_log/{version:020d}.json", json.dumps(info).encode())


def silent_store(request, speaks, monkeypatch) -> Away:
    store, table = request.getfixturevalue("store"), request.getfixturevalue("table")
    inside = store.door.inside

    def door(environ, start_response):
        speaks.wait()
        return inside(environ, start_response)

    store.door.inside = door
    return Away(table, store.uri, lambda path, body: store.put(f"orders/{path}", body), speaks)


def hung_mount(request, speaks, monkeypatch) -> Away:
    mount = request.getfixturevalue("tmp_path") / "mount"
    table = factories.TableFactory(
        root=factories.root_at(mount), name="there", path=str(lakes.delta(mount / "there", {"id": [1, 2]}))
    )
    opened = LocalStorage.__init__

    def hangs(storage, root):
        if root == table.path:
            speaks.wait()
        opened(storage, root)

    monkeypatch.setattr(LocalStorage, "__init__", hangs)
    return Away(table, str(mount), lambda path, body: Path(table.path, path).write_bytes(body), speaks)


@pytest.fixture
def stores():
    """The stores of one round. No thread stays when the test ends."""
    made = Stores()
    made.looks = Impatient(2, 60.0)
    yield made
    wait_for(lambda: not under_way(made), "nobody asks the stores")


@pytest.fixture(params=[silent_store, hung_mount])
def away(request, stores, olga, monkeypatch):
    speaks = threading.Event()
    speaks.set()
    made = request.param(request, speaks, monkeypatch)
    stores.looks.hung = frozenset([made.name])
    yield made
    speaks.set()


def under_way(stores):
    return any(look.is_under_way for look in stores.looks._looks.values())


def speaks_again(away, stores):
    assert under_way(stores)
    away.speaks.set()
    wait_for(lambda: not under_way(stores), "nobody asks the stores")


def row(job):
    return Job.objects.get(pk=job.pk)


def test_lost_runs_elsewhere_are_decided(away, orders, olga, stores):
    there = factories.job_on(away.table, olga, base_version=0)
    lost(there)
    here = factories.job_on(orders, olga)
    away.speaks.clear()
    for state in (State.QUEUED, State.FAILED):  # tried again once
        lost(here)
        reconcile(stores)
        assert row(here).state == state
        assert row(there).state == State.RECONCILING
    speaks_again(away, stores)
    assert row(there).state == State.QUEUED
    assert not JobEvent.objects.filter(job=there, kind="log_unreadable").exists()
    assert reconcile(stores) == 1  # counts it


def test_a_decision_that_comes_after_another_dispatchers_is_dropped(away, olga, stores):
    """Its evidence is of an attempt that another one has followed, which may still write."""
    job = factories.job_on(away.table, olga, base_version=0)
    lost(job)
    away.speaks.clear()
    reconcile(stores)
    move(job, State.QUEUED, Cause.DISPATCHER, "another", release=True, attempt_outcome="lost")
    again = claim_run(dead_holder())
    assert again is not None
    move(job, State.RECONCILING, Cause.WORKER, "a worker", token=again.token, lease_until=None)
    speaks_again(away, stores)
    assert row(job).state == State.RECONCILING
    assert TableLease.objects.filter(job=job).exists()
    reconcile(stores)
    assert (row(job).state, row(job).attempt) == (State.FAILED, 2)


def test_late_commits_elsewhere_are_found(away, orders, olga, stores, monkeypatch):
    there, here = failed(away.table, olga, base=0), failed(orders, olga)
    away.commit_for(there, 1)
    commit_for(here)
    asked, committed_after = list[Job](), endings.committed_after

    def looks(job, *rest):
        asked.append(job)
        return committed_after(job, *rest)

    monkeypatch.setattr(endings, "committed_after", looks)
    look = LateCommits()
    look._stores = stores
    away.speaks.clear()
    assert [look(), look(), look()] == [1, 0, 0]
    assert (row(here).version, row(there).version) == (0, None)
    assert sorted(asked, key=str) == sorted([here, there], key=str)  # it isn't asked again while it hangs
    speaks_again(away, stores)
    assert row(there).version == 1
    assert [look(), look()] == [1, 0]


def test_schedules_elsewhere_are_opened(away, lake, olga, stores, monkeypatch):
    monkeypatch.setattr(schedules, "_STORES", stores)
    wanted = [
        WantedSchedule(Optimize(str(at.pk)), YEARLY, "Europe/Berlin", 60) for at in (away.table, lakes.sales_in(lake))
    ]
    actor = Actor.acting_for(olga)
    there, here = (acts.create(actor, f"s{n}", "small files", each).schedule for n, each in enumerate(wanted))
    for each in (there, here):
        make_due(each)
    away.speaks.clear()
    assert [schedules.look(), schedules.look()] == [1, 0]
    assert (outcomes(here), outcomes(there)) == ([""], [])
    speaks_again(away, stores)
    assert outcomes(there) == [""]
    assert [schedules.look(), schedules.look()] == [1, 0]
    assert Job.objects.filter(schedule=there).count() == 1


def test_no_thread_begins_while_nothing_is_due(stores, monkeypatch):
    monkeypatch.setattr(schedules, "_STORES", stores)
    look = LateCommits()
    look._stores = stores
    assert (reconcile(stores), look(), schedules.look()) == (0, 0, 0)
    assert "_threads" not in vars(stores.looks)
