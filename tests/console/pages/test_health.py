"""/health/live and /health/ready: public, cheap, truthful about who is alive."""

import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from console.base.processes import boot_id, start_ticks
from console.supervisor.processes import ProgramState
from jobs.lifecycle.worker_states import worker_state
from jobs.models import Worker
from tests import factories
from tests.clients import browser

OK, UNAVAILABLE = 200, 503


def worker(kind: str = "light", condition: str = "ready", **fields: Any) -> Worker:
    """A worker whose process is this one, unless told otherwise."""
    process = {"host": "here", "boot_id": boot_id(), "pid": os.getpid(), "start_ticks": start_ticks(os.getpid())}
    made: Worker = factories.WorkerFactory(name=f"{kind}@here", kind=kind, condition=condition, **{**process, **fields})
    return made


@pytest.fixture
def record(tmp_path: Path, levee_home) -> Any:
    """What a supervisor wrote of its processes, as a function of the text to write."""
    file = levee_home.state / "processes.json"

    def write(text: str) -> None:
        file.write_text(text)

    yield write
    file.unlink(missing_ok=True)


def test_live_answers_without_a_database(client: Client):
    assert client.get("/health/live").status_code == OK


def test_ready_needs_database_and_redis_and_no_worker(client: Client, db, redis_server):
    response = client.get("/health/ready")
    assert response.status_code == OK
    assert "no-store" in response["Cache-Control"]
    parts = response.json()["parts"]
    assert {name: part["state"] for name, part in parts.items()} == {
        "database": "ready",
        "redis": "ready",
        "web": "ready",
        "spark": "down",
        "interactive": "down",
        "streams": "down",
        "light": "down",
        "dispatcher": "down",
        "disk": parts["disk"]["state"],
    }
    assert parts["disk"]["state"] in ("ready", "low")  # as the machine has it


def test_ready_is_503_without_redis(client: Client, db, settings):
    settings.ENV = replace(settings.ENV, redis_url="unix:///nowhere/redis.sock")
    response = client.get("/health/ready")
    assert response.status_code == UNAVAILABLE
    assert response.json()["parts"]["redis"]["state"] == "down"


def test_ready_is_503_without_the_database(client: Client, db, redis_server, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise OperationalError("the server has gone")

    monkeypatch.setattr(Worker.objects, "filter", refuse)
    response = client.get("/health/ready")
    assert response.status_code == UNAVAILABLE
    assert response.json()["parts"]["database"]["state"] == "down"


@pytest.mark.parametrize(
    ("condition", "state"), [("ready", "ready"), ("starting", "starting"), ("draining", "down"), ("down", "down")]
)
def test_a_living_worker_says_its_own_state(db, condition, state):
    worker(condition=condition)
    assert worker_state("light") == state


def test_a_worker_whose_process_is_gone_does_not_count(db):
    worker(start_ticks=1)
    assert worker_state("light") == "down"


def test_a_worker_on_another_host_counts_by_its_heartbeat(db):
    row = worker(boot_id="another boot", start_ticks=1)
    assert worker_state("light") == "ready"
    row.heartbeat_at = timezone.now() - timedelta(seconds=60)
    row.save(update_fields=["heartbeat_at"])
    assert worker_state("light") == "down"


def test_a_worker_that_is_there_and_silent_is_hung(db):
    Worker.objects.filter(pk=worker().pk).update(heartbeat_at=timezone.now() - timedelta(seconds=60))
    assert worker_state("light") == "hung"
    Worker.objects.update(condition="down")
    assert worker_state("light") == "down"


@pytest.mark.parametrize("name", ["light", "spark"])
def test_what_the_supervisor_hears_nothing_of_is_hung(client: Client, db, redis_server, record, name):
    worker(name)
    record(json.dumps({name: {"state": "hung"}}))
    assert client.get("/health/ready").json()["parts"][name]["state"] == "hung"


def test_a_database_that_hangs_is_not_asked(client: Client, db, redis_server, record, monkeypatch):
    record(json.dumps({"postgres": {"state": "hung"}}))

    def waits(*_: object, **__: object) -> None:
        raise AssertionError("this would wait")

    monkeypatch.setattr(Worker.objects, "filter", waits)
    response = client.get("/health/ready")
    assert (response.status_code, response.json()["parts"]["database"]["state"]) == (UNAVAILABLE, "hung")


def test_a_silent_worker_is_starting_while_its_supervisor_starts_it(client: Client, db, redis_server, record):
    record(json.dumps({"spark": {"state": "waiting", "restarts": 2, "last_exit": "exit 1", "since": 5.0, "pid": 7}}))
    parts = client.get("/health/ready").json()["parts"]
    assert parts["spark"] == {"state": "starting", "restarts": 2, "last_exit": "exit 1", "since": 5.0}


def test_a_part_that_nothing_needs_yet_is_left_out(client: Client, db, redis_server, record):
    record(
        json.dumps({"streams": {"state": ProgramState.UNWANTED.value, "restarts": 0, "last_exit": None, "since": 5.0}})
    )
    response = client.get("/health/ready")
    assert response.status_code == OK
    assert "streams" not in response.json()["parts"]
    assert "spark" in response.json()["parts"]


@pytest.mark.parametrize("state", ["waiting", "starting", "down", "stopped"])
def test_a_part_that_was_needed_once_is_named(client: Client, db, redis_server, record, state):
    record(json.dumps({"streams": {"state": state}}))
    shown = "starting" if state in ("waiting", "starting") else "down"
    assert client.get("/health/ready").json()["parts"]["streams"]["state"] == shown


def test_a_worker_that_runs_though_its_supervisor_needs_none_is_named(client: Client, db, redis_server, record):
    record(json.dumps({"streams": {"state": ProgramState.UNWANTED.value}}))
    worker("streams")
    assert client.get("/health/ready").json()["parts"]["streams"]["state"] == "ready"


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_damaged_record_of_the_supervisor_is_no_error(client: Client, db, redis_server, record, text):
    record(text)
    assert client.get("/health/ready").status_code == OK


@pytest.mark.parametrize(
    ("silent", "title"), [(0, None), (60, "The Spark worker hangs."), (None, "No Spark worker responds.")]
)
def test_every_page_says_that_spark_is_away(silent, title, db, redis_server):
    if silent is not None:
        row = worker("spark")
        Worker.objects.filter(pk=row.pk).update(heartbeat_at=timezone.now() - timedelta(seconds=silent))
    text = browser(factories.person_with("viewer")).get("/banners/").content.decode()
    assert [said for said in ("The Spark worker hangs.", "No Spark worker responds.") if said in text] == (
        [title] if title else []
    )
