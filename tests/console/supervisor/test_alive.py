"""Whether a part of this host works, as health checks ask."""

import os
import socket
import subprocess
import sys

import pytest
from django.db import connection

from console.base.env import Env
from console.supervisor import alive
from jobs.models import Worker
from tests.console.supervisor.test_serve import SECRET


@pytest.fixture
def env(postgres_server) -> Env:
    place = f"levee?host={postgres_server.record.pg_socket_dir}"
    return Env.read({"LEVEE_DATABASE_URL": f"postgresql://levee_app@/{place}", "LEVEE_SECRET_KEY": SECRET})


def latest(kind: str, host: str, name: str | None = None) -> float | None:
    """The age that the question of the health check finds, within the test's own transaction."""
    with connection.cursor() as cursor:
        cursor.execute(alive.LATEST, {"kind": kind, "host": host, "name": name})
        (age,) = cursor.fetchone()
    return None if age is None else float(age)


@pytest.fixture
def worker(db) -> Worker:
    return Worker.objects.create(
        name="spark@here", kind="spark", host="here", boot_id="b", pid=7, start_ticks=1, condition="starting"
    )


def test_a_worker_that_beats_is_found_by_host_and_kind_alone(worker):
    age = latest("spark", "here")
    assert age is not None
    assert 0 <= age < 60
    assert latest("light", "here") is None
    assert latest("spark", "there") is None


def test_two_workers_of_a_host_are_told_apart_by_name(worker):
    assert latest("spark", "here", "spark") is not None
    assert latest("spark", "here", "spark-2") is None


def test_a_name_reaches_the_question(env, monkeypatch):
    asked: list[str | None] = []
    monkeypatch.setattr(alive, "_last_beat", lambda kind, env, name: asked.append(name))
    monkeypatch.setattr(Env, "read", lambda: env)
    assert alive.main(["spark", "--name", "spark-2"]) == 1
    assert asked == ["spark-2"]


def test_a_worker_that_has_stopped_does_not_count(worker):
    Worker.objects.update(condition="down")
    assert latest("spark", "here") is None


@pytest.mark.parametrize(
    ("age", "trouble"), [(3.0, None), (60.0, "its last heartbeat is 60 s old"), (None, "no worker")]
)
def test_only_a_young_heartbeat_is_a_sign_of_life(env, monkeypatch, age, trouble):
    monkeypatch.setattr(alive, "_last_beat", lambda kind, env, name: age)
    said = alive.silence("spark", env, 0)
    assert (said is None) if trouble is None else str(said).startswith(trouble)


def test_it_asks_the_database_of_the_settings(env, db):
    """The tests' rows are in a transaction of their own, and unseen."""
    assert str(alive.silence("streams", env, 0)).startswith(f"no worker of {socket.gethostname()} has reported")


def test_the_web_process_answers_for_itself(env):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert alive.silence("web", env, port) == f"/health/live doesn't answer on port {port}"


def test_it_ends_with_1_and_one_line_without_a_database(tmp_path):
    """And without Django: a health check runs every half minute in every container."""
    program = (
        "import sys; from console.supervisor import alive; code = alive.main(['spark']); "
        "sys.exit(99 if 'django' in sys.modules or 'celery' in sys.modules else code)"
    )
    address = f"postgresql://levee_app@/levee?host={tmp_path}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "LEVEE_DATABASE_URL": address},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("spark: ")
    assert done.stderr.count("\n") == 1
