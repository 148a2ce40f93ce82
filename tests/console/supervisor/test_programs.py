"""How the parts of an instance are started."""

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from console.base.processes import boot_id
from console.supervisor.home import Home
from console.supervisor.processes import Program
from console.supervisor.programs import STREAMS, WorkerProbe, part_programs, web_program
from console.supervisor.servers import postgres

# The tables of streams as far as the probe knows them, in a place of their own.
TABLES = """
create schema probed;
create table probed.jobs_stream (state text);
create table probed.jobs_job (id int, state text);
create table probed.jobs_streamround (job_id int);
create table probed.jobs_worker (kind text, pid int, boot_id text, condition text, text text, heartbeat_at timestamptz);
"""


def test_the_threads_of_the_web_process_share_two_heaps():
    program = web_program(8000, 3, {"LEVEE_HOME": "/home/levee"})
    assert program.environment == {"LEVEE_HOME": "/home/levee", "MALLOC_ARENA_MAX": "2"}


def parts_on(cores: int, home: Home, monkeypatch) -> dict[str, Program]:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    return {part.name: part for part in part_programs(home, Path("/java"), WorkerProbe({}))}


@pytest.mark.parametrize(("cores", "spark", "streams"), [(2, ("interactive",), ()), (4, (), ())], ids=["few", "many"])
def test_on_few_cores_changes_wait_for_reads_and_streams_for_neither(levee_home, monkeypatch, cores, spark, streams):
    parts = parts_on(cores, levee_home, monkeypatch)
    assert (parts["interactive"].after, parts["spark"].after, parts["streams"].after) == ((), spark, streams)


def test_only_the_worker_of_streams_waits_until_it_is_needed(levee_home, monkeypatch):
    parts = parts_on(4, levee_home, monkeypatch)
    assert [name for name, part in parts.items() if part.wanted] == ["streams"]
    assert all(parts[name].waits for name in ("interactive", "spark", "streams")), "for a cluster's master"
    assert parts["streams"].environment["LEVEE_PROCESS"] == "streams"
    assert [word.replace("streams", "spark") for word in parts["streams"].command] == parts["spark"].command
    assert {"streams", "streams@%h"} < set(parts["streams"].command)


@pytest.fixture
def place(postgres_server: Home) -> dict[str, str]:
    return {
        "host": postgres_server.record.pg_socket_dir,
        "dbname": postgres.DATABASE,
        "user": postgres.SUPERUSER,
        "options": "-c search_path=probed",
    }


@pytest.fixture
def tables(postgres_server: Home) -> Iterator[psycopg.Connection]:
    with postgres.connect(postgres_server) as admin:
        admin.execute(TABLES.encode())
        yield admin
        admin.execute("drop schema probed cascade")


STREAM_STATES = {"stopped": False, "running": True, "stopping": True, "failed": False}
JOB_STATES = {
    "previewing": False,
    "awaiting_approval": False,
    "queued": True,
    "running": True,
    "reconciling": True,
    "cancelling": True,
    "succeeded": False,
    "failed": False,
}


@pytest.mark.parametrize("state", STREAM_STATES)
def test_a_stream_that_runs_needs_its_worker(place, tables, state):
    tables.execute("insert into probed.jobs_stream values (%s)", [state])
    assert WorkerProbe(place).has_streams() is STREAM_STATES[state]


@pytest.mark.parametrize("state", JOB_STATES)
def test_a_round_that_is_not_over_needs_its_worker(place, tables, state):
    tables.execute("insert into probed.jobs_job values (1, %s)", [state])
    assert WorkerProbe(place).has_streams() is False, "a job that is no round of a stream"
    tables.execute("insert into probed.jobs_streamround values (1)")
    assert WorkerProbe(place).has_streams() is JOB_STATES[state]


def test_a_database_that_knows_no_streams_or_is_away_needs_no_worker_of_theirs(place):
    assert WorkerProbe(place).has_streams() is False
    assert WorkerProbe({**place, "host": "/nowhere"}).has_streams() is False


def test_the_application_may_ask_its_own_tables(db):
    """The probe would take a missing table or right for "no streams"."""
    with connection.cursor() as cursor:
        cursor.execute(STREAMS)
        assert cursor.fetchone() == (False,)


MASTER_AWAY = "LEVEE_SPARK_MASTER: spark://c:7077 doesn't answer (Connection refused); tried again every 5 s"


@pytest.mark.parametrize(
    ("condition", "text", "age", "found"),
    [
        ("starting", MASTER_AWAY, 0, (False, True)),
        ("starting", MASTER_AWAY, 3600, (False, False)),
        ("starting", "", 0, (False, False)),
        ("ready", "", 0, (True, False)),
        ("down", MASTER_AWAY, 0, (False, False)),
    ],
    ids=["it waits", "an old beat", "it hangs or starts", "ready", "down"],
)
def test_only_a_fresh_beat_that_says_so_tells_that_a_worker_waits_for_its_master(
    place, tables, condition, text, age, found
):
    insert = "insert into probed.jobs_worker values ('spark', %s, %s, %s, %s, now() - make_interval(secs => %s))"
    tables.execute(insert, [os.getpid(), boot_id(), condition, text, age])
    probe, group = WorkerProbe(place), os.getpgid(0)
    assert (probe.is_ready("spark", group), probe.waits("spark", group)) == found
    assert not probe.waits("interactive", group)
