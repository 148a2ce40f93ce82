"""`make cluster` and docker-compose.yml run the same: one table says what, and both are held to it."""

import contextlib
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml
from redis.backoff import NoBackoff
from redis.retry import Retry

from console.base.env import CLUSTERS_REDIS, Env
from console.supervisor import alive, cluster, object_store, serve, spark_daemons, tools
from console.supervisor.cluster import PARTS, ClusterPart
from console.supervisor.errors import StartRefused
from console.supervisor.home import Home, open_home
from console.supervisor.instance import Instance, StopAsked
from console.supervisor.journal import Journal
from console.supervisor.processes import Supervisor
from console.supervisor.programs import page_answers
from console.supervisor.servers import postgres
from console.supervisor.servers import redis as own_redis
from console.supervisor.spark_daemons import Daemon
from jobs.engine.config import Cluster, spark_conf
from tests.patience import wait_for

ROOT = Path(__file__).parents[2]
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
# Said in the composition alone: here the home's files have them, or nobody asks from outside.
ELSEWHERE = {"LEVEE_PUBLIC_URL", "LEVEE_SECRET_KEY", "LEVEE_CREDENTIALS_KEY", "LEVEE_METRICS_TOKEN"}
# Said by both, and never the same: where things are, and secrets.
OWN = {
    *("LEVEE_HOME", "LEVEE_DATABASE_URL", "LEVEE_REDIS_URL"),
    *("LEVEE_SPARK_MASTER", "LEVEE_SPARK_SECRET", "LEVEE_SPARK_DRIVER_HOST"),
}
DEFAULT = re.compile(r"\$\{\w+:-(.*)\}")
# What differs from host to host, with the word that follows it.
PLACES = {"--bind", "--page-port", "--work-dir"}
each_part = pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)


@contextlib.contextmanager
def opened(directory: Path) -> Iterator[Home]:
    made = open_home(directory / "home")
    yield made
    shutil.rmtree(made.run_dir)


@pytest.fixture
def home(tmp_path) -> Iterator[Home]:
    with opened(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Iterator[dict[str, object]]:
    """Read alone: of a home that no test changes."""
    with opened(tmp_path_factory.mktemp("parts")) as home:
        places = cluster.open_places(home)
        env = Env.read({**cluster.settings_of(home, places, 8000)})
        yield {program.name: program for program in cluster.part_programs(home, Path("/java"), places, env)}


def words(command: list[str]) -> tuple[str, ...]:
    """What a command serves, without its places."""
    kept = command[command.index("serve") + 1 :]
    for place in PLACES & set(kept):
        at = kept.index(place)
        del kept[at : at + 2]
    return tuple(word for word in kept if word != "--no-sample")


def settings(environment) -> set[str]:
    return {name for name in environment if name.startswith("LEVEE_")} - {"LEVEE_PROCESS"}


def test_both_run_the_same_processes(programs):
    names = {part.name for part in PARTS}
    assert {*names, *cluster.SERVERS} == set(SERVICES)
    assert set(programs) == names - {"prepare"}


@each_part
def test_both_run_them_by_the_same_command_with_the_same_settings(part: ClusterPart, programs):
    service = SERVICES[part.name]
    assert words(service["command"]) == part.words
    given = {name for name in service["environment"] if name.startswith("LEVEE_")}
    assert given - ELSEWHERE == {*part.settings}
    if part.name in programs:
        assert words(programs[part.name].command) == part.words
        assert settings(programs[part.name].environment) - {"LEVEE_HOME"} == {*part.settings} - {"LEVEE_HOME"}


@each_part
def test_both_give_a_part_the_same_values_where_nobody_sets_others(part: ClusterPart, programs):
    """Of `prepare` they differ in places and secrets alone, but for the port."""
    given = SERVICES[part.name]["environment"]
    defaults = {
        name: found[1]
        for name, value in given.items()
        if name.startswith("LEVEE_") and name not in ELSEWHERE and (found := DEFAULT.fullmatch(str(value)))
    }
    assert {*defaults} == {*part.settings} - OWN - {"LEVEE_DATABASE_ADMIN_URL"}
    if part.name in programs:
        said = programs[part.name].environment
        assert defaults == {name: said[name] for name in defaults}


def test_both_redis_keep_what_they_are_given_alike(home):
    """The one of the composition is set by a script's words, the one here by a file; both know a password."""
    (*_, script) = SERVICES["redis"]["command"]
    started, password, _ = script.split("\n", 2)
    words = shlex.split(started)[3:-1]
    there = {flag.removeprefix("--"): value for flag, value in zip(words[::2], words[1::2], strict=True)}
    assert password.split()[0] == "requirepass"
    cluster.redis_program(home, cluster.open_places(home))
    lines = [shlex.split(line) for line in (home.path / "redis.conf").read_text().splitlines()]
    here = dict(lines)
    assert here.pop("requirepass")
    for place in ("dir", "port", "bind"):
        here.pop(place)
    assert there.pop("dir") == "/data"
    assert here == there
    assert here["appendonly"] == "yes"


@each_part
def test_both_ask_the_same_whether_a_part_lives(part: ClusterPart, programs):
    if part.name == "prepare":
        assert "healthcheck" not in SERVICES[part.name]
        return
    assert SERVICES[part.name]["healthcheck"]["test"][-1] == part.kind
    assert part.kind in alive.PARTS
    assert programs[part.name].sign is not None


def test_both_have_an_object_store_that_is_asked_whether_it_works():
    """One in memory stands for the one that keeps what it is given: it answers with the same bucket."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port = asked.getsockname()[1]
    program = object_store.object_store_program(port, {**os.environ})
    assert program.name in cluster.SERVERS
    assert SERVICES[program.name]["healthcheck"]["test"]
    assert program.sign is not None
    with subprocess.Popen(program.command, env=program.environment, stderr=subprocess.DEVNULL) as server:
        try:
            wait_for(lambda: program.ready(server.pid), "the server answers", 15.0)
            assert page_answers(port, 2, f"/{object_store.BUCKET}", "HEAD")
            assert program.sign(server.pid)
        finally:
            server.kill()
    assert not program.sign(server.pid)


def test_secrets_stay_and_a_port_that_is_taken_changes(home):
    before = cluster.open_places(home)
    file = home.path / "cluster.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert cluster.open_places(home) == before
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", before.master))
        taken.listen()
        after = cluster.open_places(home)
    assert after.master != before.master
    assert (after.redis_password, after.spark_secret) == (before.redis_password, before.spark_secret)
    ports = [value for value in json.loads(file.read_text()).values() if isinstance(value, int)]
    assert len(set(ports)) == len(ports)


def test_a_command_with_its_home_alone_finds_the_instance(home):
    places = cluster.open_places(home)
    given, own = Env.read(cluster.settings_of(home, places, 8000)), Env.read({"LEVEE_HOME": str(home.path)})
    own_redis.tell(home, places.redis_url)
    assert own.redis == given.redis == places.redis_url
    assert own.broker == given.broker
    for role in ("levee_app", "levee_migrate"):
        assert own.database(role)["HOST"] == home.record.pg_socket_dir
    file = home.path / CLUSTERS_REDIS
    assert file.stat().st_mode & 0o777 == 0o600
    Path(home.record.redis_socket).touch()  # left by an `up` that was killed
    assert own.redis == places.redis_url
    file.unlink()
    file.mkdir()  # as unreadable as another user's file, for root too
    assert own.redis == f"unix://{home.record.redis_socket}"


def instance_of(kind: type[Instance], home: Home, monkeypatch, start: Callable[[], None]) -> None:
    """The life of an instance that runs no program: `start` is called in place of the first ones' start, and ends it."""

    def started(*_: object) -> None:
        start()
        raise StopAsked

    env = Env.read({"LEVEE_HOME": str(home.path)})
    monkeypatch.setattr(postgres, "prepare", lambda known: known)
    monkeypatch.setattr(kind, "_start_first", started)
    supervisor = Supervisor(home, Journal(home.logs / "up.log"))
    with socket.socket() as listener, pytest.raises(StopAsked):
        kind(env, sample=False)._keep_running(supervisor, home, Path("/java"), listener)


def test_commands_find_the_redis_of_a_cluster_as_long_as_it_runs(home, monkeypatch):
    seen = []
    own = Env.read({"LEVEE_HOME": str(home.path)})
    instance_of(cluster.ClusterInstance, home, monkeypatch, lambda: seen.append(own.redis))
    places = json.loads((home.path / "cluster.json").read_text())
    assert seen == [f"redis://:{places['redis_password']}@127.0.0.1:{places['redis']}/0"]
    assert own.redis == f"unix://{home.record.redis_socket}"


def test_an_up_in_the_home_of_a_killed_cluster_has_its_own_redis(home, monkeypatch):
    own_redis.tell(home, "redis://:old@127.0.0.1:1/0")
    seen = []
    own = Env.read({"LEVEE_HOME": str(home.path)})
    instance_of(Instance, home, monkeypatch, lambda: seen.append(own.redis))
    assert seen == [f"unix://{home.record.redis_socket}"]


def test_no_secret_is_in_a_command_line(home):
    places = cluster.open_places(home)
    env = Env.read(cluster.settings_of(home, places, 8000))
    programs = [cluster.redis_program(home, places), *cluster.part_programs(home, Path("/java"), places, env)]
    said = " ".join(word for program in programs for word in program.command)
    assert places.redis_password not in said
    assert places.spark_secret not in said
    assert (home.path / "redis.conf").stat().st_mode & 0o777 == 0o600


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def test_redis_takes_no_command_without_its_password(home):
    places = cluster.open_places(home)
    program = cluster.redis_program(home, places)
    with subprocess.Popen(program.command, env=dict(program.environment), stdout=subprocess.DEVNULL) as server:
        try:
            wait_for(
                lambda: listens(places.redis), "Redis listens"
            )  # before, its client would ask again with long pauses
            wait_for(lambda: program.ready(server.pid), "the server answers")
            with (
                redis.Redis(port=places.redis, retry=Retry(NoBackoff(), 0)) as stranger,
                pytest.raises(redis.exceptions.AuthenticationError),
            ):
                stranger.ping()
        finally:
            server.kill()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LEVEE_DATABASE_URL", "postgresql://a@b/c"),
        ("LEVEE_REDIS_URL", "redis://b"),
        ("LEVEE_SPARK_MASTER", "spark://b:7077"),
        ("LEVEE_SPARK_SECRET", "s" * 32),
    ],
)
def test_it_refuses_servers_that_it_would_not_use(name, value):
    with pytest.raises(StartRefused, match=rf"^{name}: `cluster` starts its own"):
        cluster.check(Env.read({name: value}))


def daemon(**more: Any) -> Daemon:
    return replace(Daemon("spark-worker", "127.0.0.1", 0, 8081, Path("/w")), **more)


def test_a_spark_worker_needs_a_master_and_something_to_offer():
    with pytest.raises(StartRefused, match=r"^LEVEE_SPARK_MASTER: "):
        spark_daemons.command(daemon())
    for wrong in ({"cores": 0}, {"memory": "2"}, {"memory": "lots"}):
        with pytest.raises(StartRefused, match="at least one core and memory such as 2g"):
            spark_daemons.command(daemon(master="spark://127.0.0.1:7077", **wrong))


def test_executors_inherit_no_setting_of_levee_s(monkeypatch):
    monkeypatch.setenv("LEVEE_DATABASE_URL", "postgresql://levee_app:secret@db/levee")
    found = spark_daemons.environment(daemon(), Path("/java"), "s" * 32)
    assert not [name for name in found if name.startswith("LEVEE_")]
    assert found["_SPARK_AUTH_SECRET"] == "s" * 32


def test_what_the_daemons_agree_on_is_what_drivers_insist_on():
    """A master that lets programs in without the secret would let them run code beside Levee's."""
    lines = [line.split(None, 1) for line in spark_daemons.PROPERTIES.read_text().splitlines() if line[:1] != "#"]
    said = dict(lines)
    machine: dict[str, Any] = {"cores": 2, "memory_bytes": 8 << 30, "jars": [], "archive": None, "scratch": Path("/s")}
    drivers = spark_conf("spark", cluster=Cluster("spark://h:7077", "s" * 32), **machine)
    shared = {name for name in drivers if name.startswith(("spark.authenticate", "spark.network"))} - {
        "spark.authenticate.secret"
    }
    assert {name: said[name] for name in shared} == {name: drivers[name] for name in shared}
    assert "secret" not in "".join(said)


def test_a_master_that_is_started_again_finds_what_it_knew(monkeypatch, tmp_path):
    """It becomes Spark's master in its own directory, to which the one of the properties is relative."""
    said = dict(line.split(None, 1) for line in spark_daemons.PROPERTIES.read_text().splitlines() if line[:1] != "#")
    assert said["spark.deploy.recoveryMode"] == "FILESYSTEM"
    kept = Path(said["spark.deploy.recoveryDirectory"])
    begun: list[Path] = []
    monkeypatch.setattr("os.execve", lambda *_: begun.append(Path.cwd()))
    monkeypatch.setattr(tools, "check_jars", lambda: None)
    monkeypatch.setattr(tools, "java_home", lambda: Path("/java"))
    monkeypatch.chdir(tmp_path)  # and back
    spark_daemons.become(replace(daemon(), part="spark-master", directory=tmp_path / "master"), "s" * 32)
    assert begun == [tmp_path / "master"]
    assert not kept.is_absolute()


def test_a_daemon_without_its_secret_starts_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr("os.execve", lambda *_: pytest.fail("it started"))
    with pytest.raises(StartRefused, match=r"^LEVEE_SPARK_SECRET: is missing"):
        serve.serve_daemon("spark-master", Env.read({"LEVEE_HOME": str(tmp_path)}), None)


@pytest.mark.parametrize("name", ["streams", "spark", "spark_2", "interactive-2", "spark-2@here"])
def test_a_second_worker_has_a_name_that_tells_its_kind(name, tmp_path):
    values = {
        "LEVEE_HOME": str(tmp_path),
        "LEVEE_DATABASE_URL": "postgresql://a@b/c",
        "LEVEE_REDIS_URL": "redis://b",
        "LEVEE_SECRET_KEY": "s" * 32,
    }
    with pytest.raises(StartRefused, match=r"^--name: "):
        serve.serve("spark", Env.read(values), lambda: None, name=name)
    assert "spark-2@%h" in serve.command_line("spark", "", True, "spark-2")
