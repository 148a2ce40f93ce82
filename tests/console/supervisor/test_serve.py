"""One part in the foreground: what it waits for, what it refuses, and the command that it becomes."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection, connections
from django.db.migrations.recorder import MigrationRecorder

from console.base.env import Env
from console.management.commands.serve import unmigrated
from console.supervisor import command_lines, needs, serve
from console.supervisor.account import Account
from console.supervisor.errors import StartRefused
from console.supervisor.home import Home
from console.supervisor.programs import WorkerProbe, part_programs
from console.supervisor.servers import postgres, redis
from console.supervisor.tools import PROJECT

SECRET = "s" * 32
REAL = {
    "LEVEE_DATABASE_URL": "postgresql://levee_app@/levee?host=/nowhere",
    "LEVEE_REDIS_URL": "unix:///nowhere/redis.sock",
    "LEVEE_SECRET_KEY": SECRET,
}


class Became(Exception):
    """The process would be another program now."""


@pytest.fixture
def became(monkeypatch) -> list[str]:
    """The command line of the program that `serve` becomes, and its environment's LEVEE_HOME at the end."""
    words: list[str] = []

    def execve(program: str, command: list[str], environment: dict[str, str]) -> None:
        assert program == command[0]
        words.extend([*command, environment["LEVEE_HOME"]])
        raise Became

    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.setattr(serve, "start_watchdog", lambda part, port=None, name=None: words.append(f"watched {part}"))
    monkeypatch.setattr(os, "chdir", lambda _: None)
    return words


@pytest.fixture
def env(postgres_server: Home, redis_server: str, monkeypatch, tmp_path) -> Env:
    """Settings of the tests' own servers, which are durable in nothing, so that check is left out."""
    monkeypatch.setattr("console.supervisor.provision.DURABILITY", ())
    place = f"{postgres.DATABASE}?host={postgres_server.record.pg_socket_dir}"
    return Env.read(
        {
            "LEVEE_HOME": str(tmp_path / "home"),
            "LEVEE_DATABASE_URL": f"postgresql://levee_app@/{place}",
            "LEVEE_DATABASE_ADMIN_URL": f"postgresql://levee_migrate@/{place}",
            "LEVEE_REDIS_URL": redis_server,
            "LEVEE_SECRET_KEY": SECRET,
        }
    )


def test_each_part_becomes_what_up_starts(levee_home):
    under_up = {part.name: part.command for part in part_programs(levee_home, Path("/java"), WorkerProbe({}))}
    assert set(serve.PARTS) == {"prepare", "web", *under_up}
    for name, command in under_up.items():
        assert serve.command_line(name, "", sample=True) == command
    assert serve.command_line("prepare", "", sample=False)[-2:] == ["prepare", "--no-sample"]


@pytest.mark.parametrize("part", ["light", "dispatcher", "prepare"])
def test_it_becomes_the_part_once_the_servers_answer(env, became, part):
    with pytest.raises(Became):
        serve.serve(part, env, migrated=lambda: None, sample=True)
    followed = [] if part == "prepare" else [f"watched {part}"]
    assert became == [*followed, *serve.command_line(part, "", sample=True), str(env.home)]
    assert (env.home / "logs").is_dir()


@pytest.mark.parametrize(("is_anothers", "mode"), [(True, 0o711), (False, 0o700)])
def test_the_user_of_a_server_in_the_home_still_passes_through(env, became, monkeypatch, is_anothers, mode):
    """`cluster` runs PostgreSQL there; without one nobody else needs to."""
    monkeypatch.setattr(serve, "server_account", lambda: Account("postgres", 1, 1))
    env.home.mkdir()
    if is_anothers:
        (env.home / "home.json").write_text("{}")
    with pytest.raises(Became):
        serve.serve("light", env, migrated=lambda: None)
    assert env.home.stat().st_mode & 0o777 == mode


def test_it_says_each_cause_of_waiting_once():
    causes = iter(["no server", "no server", "it starts", "no server", None])
    lines: list[str] = []
    pauses: list[float] = []
    needs.wait_for([lambda: next(causes)], lines.append, pauses.append)
    assert lines == ["waiting: no server", "waiting: it starts", "has what it waited for"]
    assert len(pauses) == 4


def test_it_waits_for_servers_that_are_not_there_yet():
    away = {"host": "/nowhere", "dbname": "levee", "user": "levee_app"}
    assert "No such file" in str(needs.database("LEVEE_DATABASE_URL", away)())
    cause = needs.broker("LEVEE_REDIS_URL", "unix:///nowhere/redis.sock")()
    assert str(cause).startswith("LEVEE_REDIS_URL: Redis doesn't answer")


@pytest.mark.parametrize(("user", "database"), [("nobody_at_all", "levee"), ("levee_app", "nothing_at_all")])
def test_it_refuses_an_address_that_never_works(postgres_server, user, database):
    arguments = {"host": postgres_server.record.pg_socket_dir, "dbname": database, "user": user}
    with pytest.raises(StartRefused, match=r"^LEVEE_DATABASE_URL: [^\n]+$"):
        needs.database("LEVEE_DATABASE_URL", arguments)()


@pytest.mark.parametrize("part", ["interactive", "spark", "streams"])
def test_a_worker_with_spark_is_refused_a_cluster_without_its_secret(monkeypatch, tmp_path, part):
    values = {**REAL, "LEVEE_HOME": str(tmp_path), "LEVEE_SPARK_MASTER": "spark://cluster:7077"}
    monkeypatch.setattr(serve, "_wait", lambda *_: pytest.fail("it waits"))
    with pytest.raises(StartRefused, match=r"^LEVEE_SPARK_SECRET: is missing"):
        serve.serve(part, Env.read(values), migrated=lambda: None)


@pytest.mark.parametrize("options", [{"sslmod": "require"}, {"connect_timeout": "soon"}])
def test_it_refuses_an_address_with_an_option_that_there_is_not(tmp_path, options):
    arguments = {"host": str(tmp_path), "dbname": "levee", "user": "levee_app", **options}
    with pytest.raises(StartRefused, match=rf"^LEVEE_DATABASE_URL: [^\n]*{next(iter(options))}"):
        needs.database("LEVEE_DATABASE_URL", arguments)()
    with pytest.raises(StartRefused, match=r"^LEVEE_REDIS_URL: [^\n]*'database'"):
        needs.broker("LEVEE_REDIS_URL", f"unix://{tmp_path}/redis.sock?database=1")()
    with pytest.raises(StartRefused, match=r"^LEVEE_REDIS_URL: [^\n]*'database'"):
        redis.check(f"unix://{tmp_path}/redis.sock?database=1", "LEVEE_REDIS_URL")


def test_it_refuses_a_password_that_redis_does_not_take(redis_server):
    address = redis_server.replace("unix://", "unix://nobody:wrong@")
    with pytest.raises(StartRefused, match=r"^LEVEE_REDIS_URL: [^\n]+$"):
        needs.broker("LEVEE_REDIS_URL", address)()


@pytest.mark.parametrize(
    ("part", "missing"),
    [(part, name) for part in ("web", "spark", "dispatcher") for name in REAL] + [("prepare", "LEVEE_DATABASE_URL")],
)
def test_it_refuses_what_only_up_would_bring(tmp_path, part, missing):
    settings = {name: value for name, value in REAL.items() if name != missing}
    env = Env.read({**settings, "LEVEE_HOME": str(tmp_path)})
    with pytest.raises(StartRefused, match=f"^{missing}: is missing"):
        serve.serve(part, env, migrated=lambda: None)


def test_only_prepare_needs_the_migrations_role(tmp_path):
    env = Env.read({**REAL, "LEVEE_HOME": str(tmp_path)})
    with pytest.raises(StartRefused, match=r"^LEVEE_DATABASE_ADMIN_URL: is missing"):
        serve.serve("prepare", env, migrated=lambda: None)


@pytest.mark.parametrize("address", ["8000", "localhost", "0.0.0.0:0", "0.0.0.0:70000", "fd://3", "a b:80"])
def test_it_refuses_an_address_that_is_none(address):
    with pytest.raises(StartRefused, match=r"^--bind: .*is no address"):
        serve.check_free(address)


def test_it_refuses_an_address_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(StartRefused, match=rf"^--bind: 127\.0\.0\.1:{port} can't be used"):
            serve.check_free(f"127.0.0.1:{port}")
    serve.check_free(f"127.0.0.1:{port}")


def test_the_web_part_listens_where_it_is_told():
    command = serve.command_line("web", "0.0.0.0:8000", sample=True)
    assert command[command.index("--bind") + 1] == "0.0.0.0:8000"
    assert serve._port_of(command) == 8000
    assert command_lines.WITH_A_JVM == ("interactive", "spark", "streams")


def test_a_database_that_lacks_a_migration_is_waited_for(db, monkeypatch):
    monkeypatch.setattr(connections["default"], "close", lambda: None)  # the test's transaction is open on it
    assert unmigrated() is None
    newest = MigrationRecorder(connection).migration_qs.filter(app="jobs").latest("id")
    newest.delete()
    lacking = f"the database lacks migrations of this version, jobs.{newest.name}; the part prepare"
    assert str(unmigrated()).startswith(lacking)
    MigrationRecorder(connection).record_applied("jobs", newest.name)
    MigrationRecorder(connection).record_applied("jobs", "9999_of_a_newer_version")
    assert unmigrated() is None, "an older part goes on beside newer ones"


def test_the_command_refuses_in_one_line(tmp_path):
    command = [sys.executable, "manage.py", "serve", "web"]
    environment = {**os.environ, "LEVEE_HOME": str(tmp_path), "LEVEE_DATABASE_URL": REAL["LEVEE_DATABASE_URL"]}
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Levee can't start. LEVEE_REDIS_URL: is missing")
    assert done.stderr.count("\n") == 1
