"""/health/live and /health/ready: public, cheap, truthful about who is alive."""

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from console.health import worker_state
from console.supervisor.pids import boot_id, start_ticks
from jobs.models import Worker

OK, UNAVAILABLE = 200, 503


def worker(kind: str = "light", condition: str = "ready", **fields: Any) -> Worker:
    """A worker whose process is this one, unless told otherwise."""
    process = {"host": "here", "boot_id": boot_id(), "pid": os.getpid(), "start_ticks": start_ticks(os.getpid())}
    return Worker.objects.create(name=f"{kind}@here", kind=kind, condition=condition, **{**process, **fields})


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
        "light": "down",
        "dispatcher": "down",
    }


def test_ready_is_503_without_redis(client: Client, db, settings):
    class Elsewhere:
        redis = "unix:///nowhere/redis.sock"
        home = settings.ENV.home

    settings.ENV = Elsewhere()
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


def test_a_silent_worker_is_starting_while_its_supervisor_starts_it(client: Client, db, redis_server, record):
    record(json.dumps({"spark": {"state": "waiting", "restarts": 2, "last_exit": "exit 1", "since": 5.0, "pid": 7}}))
    parts = client.get("/health/ready").json()["parts"]
    assert parts["spark"] == {"state": "starting", "restarts": 2, "last_exit": "exit 1", "since": 5.0}


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_damaged_record_of_the_supervisor_is_no_error(client: Client, db, redis_server, record, text):
    record(text)
    assert client.get("/health/ready").status_code == OK
