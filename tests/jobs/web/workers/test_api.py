"""`/api/v1/workers`: what runs, drain, restart."""

import uuid

import pytest

from console.audit.models import Event
from jobs.models import Worker
from jobs.web.workers import queries
from tests import factories
from tests.clients import caller

pytestmark = pytest.mark.django_db


def test_it_lists_workers_queues_and_the_dispatcher():
    worker = factories.WorkerFactory()
    factories.job("queued")
    shown = caller("admin").get("/workers").json()
    assert [(w["id"], w["state"], w["jvm_memory_bytes"]) for w in shown["results"]] == [(str(worker.pk), "ready", None)]
    assert {q["name"]: q["waiting"] for q in shown["queues"]} == {
        "spark": 1,
        "streams": 0,
        "interactive": 0,
        "light": 0,
    }
    assert shown["dispatcher"] == {"state": "down", "last_round_at": None, "seconds": None, "failing": []}


def test_each_queue_of_reads_has_its_own_name():
    assert [q.name for q in queries.queues()] == ["spark", "streams", "interactive", "light"]
    assert [queries._reads(name, None).name for name in ("interactive", "light")] == ["interactive", "light"]


def test_it_says_what_each_worker_works_on():
    busy, idle = factories.WorkerFactory(name="spark@busy"), factories.WorkerFactory(name="spark@idle")
    job = factories.job("running")
    job.attempts.update(worker=busy.name)
    factories.attempt(factories.job("succeeded"), worker=idle.name, ended_at="2026-01-01T00:00:00Z")
    shown = {w["name"]: w["job"] for w in caller("admin").get("/workers").json()["results"]}
    assert shown == {
        busy.name: {"id": str(job.pk), "title": f"Convert {job.table.name} to Delta"},
        idle.name: None,
    }


def test_draining_twice_drains():
    worker = factories.WorkerFactory()
    admin = caller("admin")
    first = admin.post(f"/workers/{worker.pk}/drain").json()["drain_requested_at"]
    assert first is not None
    assert admin.post(f"/workers/{worker.pk}/drain").json()["drain_requested_at"] is not None
    assert admin.post(f"/workers/{worker.pk}/drain", {"drain": False}).json()["drain_requested_at"] is None
    assert Event.objects.filter(action="worker.drain").count() == 3


def test_restart_is_a_wish_in_the_row():
    worker = factories.WorkerFactory()
    assert caller("admin").post(f"/workers/{worker.pk}/restart").status_code == 200
    assert Worker.objects.get().restart_requested_at is not None


@pytest.mark.parametrize("act", ["drain", "restart"])
def test_an_unknown_worker_is_404(act):
    assert caller("admin").post(f"/workers/{uuid.uuid4()}/{act}").status_code == 404
