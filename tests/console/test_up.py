"""`manage.py up` as a person runs it: whole processes, a real port, real signals."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.base.processes import start_ticks
from console.supervisor.tools import PROJECT
from tests.console import running
from tests.console.running import Up
from tests.patience import limit, wait_for

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("up")]

QUIET_S = 30.0


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    """One instance for the tests that leave it running."""
    with running.new_home() as home, running.running(home, running.free_port(), "--no-sample") as instance:
        yield instance


@pytest.fixture
def home() -> Iterator[Path]:
    with running.new_home() as path:
        yield path


def all_ready(up: Up, *names: str) -> bool:
    """False as well while the web doesn't answer."""
    try:
        _, parts = up.health()
    except OSError:
        return False
    return all(parts[name]["state"] == "ready" for name in names)


def open_sockets(home: Path) -> list[Path]:
    run_dir = Path(json.loads((home / "home.json").read_text())["run_dir"])
    return [path for path in run_dir.rglob("*") if path.is_socket()]


def test_it_prints_the_address_and_the_first_password_and_nothing_else(up):
    assert len(up.printed) == 2
    assert re.fullmatch(r"first sign-in: admin \S{12,}", up.printed[0])
    assert up.printed[1] == f"ready on http://127.0.0.1:{up.port}"


def test_it_opens_a_page_that_asks_to_sign_in(up):
    connection = http.client.HTTPConnection("127.0.0.1", up.port, timeout=limit(7.5))
    with contextlib.closing(connection):
        connection.request("GET", "/")
        response = connection.getresponse()
        assert response.status == http.HTTPStatus.FOUND
        assert "next=/" in (response.getheader("Location") or "")


def test_health_names_every_part(up):
    wait_for(lambda: all_ready(up, "light", "dispatcher"), "the workers are ready", QUIET_S, up.health)
    status, parts = up.health()
    assert status == http.HTTPStatus.OK
    assert set(parts) == {"database", "redis", "web", "light", "interactive", "spark", "dispatcher", "disk"}
    assert {parts[name]["state"] for name in ("database", "redis", "web")} == {"ready"}
    assert parts["spark"]["state"] == "down"


def test_a_second_up_on_the_home_is_refused_naming_the_first(up):
    port = running.free_port()
    done = run_refused(running.environment(up.home, port))
    assert re.fullmatch(
        rf"Levee can't start\. LEVEE_HOME: {up.home} is in use by another `up` \(pid {up.process.pid}\).*\n", done
    )
    assert up.health()[0] == http.HTTPStatus.OK


def test_without_the_sample_no_lake_is_written(up):
    assert (up.home / "home.json").is_file()
    assert not (up.home / "lake").exists()


def test_a_second_home_runs_beside_it(up, home):
    with running.running(home, running.free_port(), "--no-sample") as other:
        assert other.health()[0] == up.health()[0] == http.HTTPStatus.OK
        wait_for(lambda: other.pids().keys() == up.pids().keys(), "the other one has the same programs", QUIET_S)
    assert up.health()[0] == http.HTTPStatus.OK


def test_servers_given_by_address_are_used_and_none_started(up, home):
    record = json.loads((up.home / "home.json").read_text())
    settings = {
        "LEVEE_DATABASE_URL": f"postgresql://levee_app@/levee?host={record['pg_socket_dir']}",
        "LEVEE_DATABASE_ADMIN_URL": f"postgresql://levee_migrate@/levee?host={record['pg_socket_dir']}",
        "LEVEE_REDIS_URL": f"unix://{record['redis_socket']}",
        "LEVEE_UP_WITHOUT": "light,dispatcher,interactive,spark",
    }
    with running.running(home, running.free_port(), "--no-sample", **settings) as other:
        assert other.printed == [f"ready on http://127.0.0.1:{other.port}"]  # the first person is in that database
        assert set(other.pids()) == {"web"}
        assert other.health()[0] == http.HTTPStatus.OK
    assert up.health()[0] == http.HTTPStatus.OK


@pytest.mark.parametrize("part", ["light", "redis", "postgres"])
def test_a_killed_program_comes_back_and_is_named(up, part):
    name = "database" if part == "postgres" else part
    wait_for(
        lambda: all_ready(up, "database", "redis", "light", "dispatcher"),
        "everything is ready",
        QUIET_S,
        up.health,
    )
    pid = up.pids()[part]
    os.kill(pid, signal.SIGKILL)

    def is_back() -> bool:
        try:
            details = up.health()[1][name]
        except OSError:  # no answer in time: asked again
            return False
        came_back: bool = details["state"] == "ready" and details["restarts"] >= 1
        return came_back and up.pids().get(part, pid) != pid

    wait_for(is_back, "the program is back", QUIET_S, up.health)
    assert up.health()[1][name]["last_exit"] == "killed by SIGKILL"


def manage(up_home: Path, port: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of a person at the machine."""
    return subprocess.run(
        [sys.executable, "manage.py", *(each.replace("{home}", str(up_home)) for each in arguments)],
        cwd=PROJECT,
        env=running.environment(up_home, port),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit(QUIET_S),
        check=False,
    )


COMMANDS = {
    "shell": ["shell", "-c", "from jobs.models import Job; print(Job.objects.count())"],
    "dbshell": ["dbshell", "--", "-tc", "select count(*) from jobs_job"],
    "migrate": ["migrate"],
    "showmigrations": ["showmigrations", "audit"],
    "check": ["check", "--database", "default"],
    "root": ["root", "add", "lake", "/usr/share"],
    "person": ["person", "add", "olga"],
    "policy": ["policy", "list"],
    "audit": ["audit", "verify"],
    "backup": ["backup", "{home}/levee.backup"],
    "prepare": ["prepare", "--no-sample"],
    "clearsessions": ["clearsessions"],
    "inspectdb": ["inspectdb", "tables_root"],
}


# They start one, are its parts, or work where none runs.
OF_NO_INSTANCE = {"up", "serve", "cluster", "dispatcher", "makemigrations", "restore_backup", "metastore"}


def test_every_command_of_levees_is_tried():
    commands = {path.stem for path in (PROJECT / "console/management/commands").glob("[!_]*.py")}
    assert commands - OF_NO_INSTANCE <= COMMANDS.keys()
    assert commands >= OF_NO_INSTANCE


def test_the_metastore_is_asked_for_without_an_instance(home):
    home.mkdir()
    done = manage(home, 8000, "metastore", "check")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "LEVEE_METASTORE: isn't set" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_finds_the_running_instance(up, name):
    done = manage(up.home, up.port, *COMMANDS[name])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_without_one_a_command_says_so_in_one_sentence(home, name):
    home.mkdir()
    done = manage(home, 8000, *COMMANDS[name])
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()
    assert len(last) == 1, done.stderr
    assert f"no instance has ever been started in {home}" in last[0]
    assert "nonexistent" not in last[0]


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_it_goes_on_where_it_stopped_and_stops_completely(home, sig):
    port = running.free_port()
    with running.running(home, port, "--no-sample") as up:
        wait_for(lambda: all_ready(up, "light", "dispatcher"), "the workers are ready", QUIET_S)
        key = (home / "secret_key").read_text()
        assert up.stop(sig) == 0
    assert f"the instance of {home} isn't running" in manage(home, port, *COMMANDS["shell"]).stderr
    assert running.processes_of(home) == {}
    assert open_sockets(home) == []
    with running.running(home, port, "--no-sample") as again:
        assert again.printed == [f"ready on http://127.0.0.1:{port}"]
        assert (home / "secret_key").read_text() == key


def test_after_its_own_sudden_death_the_next_start_ends_what_is_left(home):
    port = running.free_port()
    with running.running(home, port, "--no-sample") as up:
        wait_for(lambda: "dispatcher" in up.pids(), "the dispatcher runs", QUIET_S)
        before = set(up.pids().values())
        up.stop(signal.SIGKILL)
    with running.running(home, port, "--no-sample") as again:
        assert all(start_ticks(pid) is None for pid in before)
        assert again.health()[0] == http.HTTPStatus.OK


def test_stopping_it_before_it_is_ready_leaves_nothing(home):
    up = running.start(home, running.free_port(), "--no-sample")
    wait_for(
        lambda: (home / "state" / "pids.json").exists() and "postgres" in up.pids(), "PostgreSQL is recorded", QUIET_S
    )
    assert up.stop() == 0
    assert running.processes_of(home) == {}


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("LEVEE_PORT", "eighty"),
        ("LEVEE_DATABASE_URL", "mysql://root@db/levee"),
        ("LEVEE_DATABASE_URL", "postgresql://levee_app@db/levee"),
        ("LEVEE_REDIS_URL", "redis://127.0.0.1:1/0"),
        ("LEVEE_SPARK_MASTER", "mesos://cluster"),
        ("LEVEE_SPARK_CONF", "/nowhere"),
        ("LEVEE_SECRET_KEY", "short"),
        ("LEVEE_PUBLIC_URL", "levee.example.org"),
    ],
)
def test_a_wrong_setting_is_one_line_and_nothing_runs(home, setting, value):
    environment = running.environment(home, running.free_port(), **{setting: value})
    line = run_refused(environment)
    named = "LEVEE_DATABASE_ADMIN_URL" if value.startswith("postgresql://") else setting
    assert re.fullmatch(rf"Levee can't start\. {named}: [^\n]+\n", line)
    assert running.processes_of(home) == {}


def test_a_taken_port_is_one_line_and_nothing_runs(home):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        line = run_refused(running.environment(home, port))
    assert re.fullmatch(rf"Levee can't start\. LEVEE_PORT: {port} can't be used on 127\.0\.0\.1: [^\n]+\n", line)
    assert running.processes_of(home) == {}


def test_a_home_that_cannot_be_written_is_one_line(home):
    home.write_text("a file")
    line = run_refused(running.environment(home, running.free_port()))
    assert re.fullmatch(rf"Levee can't start\. LEVEE_HOME: {home}[^\n]+\n", line)


def test_servers_that_may_lose_commits_are_refused(home):
    port = running.free_port()
    with running.running(home, port, "--no-sample"):
        pass
    data = Path(json.loads((home / "home.json").read_text())["pg_data"])
    with open(data / "postgresql.auto.conf", "a") as file:
        file.write("fsync = off\n")
    line = run_refused(running.environment(home, port))
    assert re.fullmatch(r"Levee can't start\. LEVEE_DATABASE_URL: [^\n]*fsync = off[^\n]*\n", line)
    assert running.processes_of(home) == {}


def run_refused(environment: dict[str, str]) -> str:
    """What a start that must be refused writes."""
    done = subprocess.run(
        [sys.executable, "manage.py", "up", "--no-sample"],
        cwd=PROJECT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=limit(QUIET_S),
        check=False,
    )
    assert done.returncode == 1, done.stdout
    return done.stdout
