"""`manage.py cluster`: the processes of docker-compose.yml on this machine without containers, Spark's cluster among them.

`PARTS` says which processes those are, for here and for the test that reads docker-compose.yml. Everything listens on 127.0.0.1 alone.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import socket
import sys
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from console.base.env import Env
from console.supervisor import command_lines, provision, spark_daemons, tools
from console.supervisor.errors import StartRefused
from console.supervisor.home import Home
from console.supervisor.instance import Instance
from console.supervisor.journal import say
from console.supervisor.object_store import STORE, object_store_program
from console.supervisor.processes import Program, Supervisor
from console.supervisor.programs import (
    LIGHT_NICENESS,
    ROOMY_CORES,
    SERVER_LIMIT_S,
    WEB_LIMIT_S,
    WEB_PATIENCE_S,
    WORKER_LIMIT_S,
    WorkerProbe,
    environment_of,
    page_answers,
    part_silence,
    server_programs,
    server_silence,
)
from console.supervisor.servers import postgres, redis

OF_EVERY_PART = ("LEVEE_HOME", "LEVEE_PORT", "LEVEE_DATABASE_URL", "LEVEE_REDIS_URL")
OF_DRIVERS = (
    *("LEVEE_SPARK_MASTER", "LEVEE_SPARK_SECRET", "LEVEE_SPARK_DRIVER_HOST"),
    *("LEVEE_SPARK_EXECUTOR_MEMORY", "LEVEE_SPARK_EXECUTOR_CORES", "LEVEE_SPARK_CORES_MAX"),
)
# Two Spark workers offer so much each: more cores than a small machine has, since a task that waits for a disk holds none.
OFFERED = ("--cores", "6", "--memory", "4g")
# What a driver takes of them. Five executors of two cores fit: two for `interactive`, whose reads need a free slot beside a long scan.
EXECUTOR_MEMORY, EXECUTOR_CORES = "768m", "2"
CORES_MAX = {"interactive": "4", "spark": "2", "spark-2": "2", "streams": "2"}


@dataclass(frozen=True)
class ClusterPart:
    """A process here, and the service of the same name in docker-compose.yml: `manage.py serve` and these words, in both.

    `alive` is what its health check asks for; `settings` are the names of the settings that both give it.
    """

    name: str
    words: tuple[str, ...]
    settings: tuple[str, ...] = OF_EVERY_PART

    @property
    def kind(self) -> str:
        return self.words[0]


PARTS = (
    ClusterPart("prepare", ("prepare",), (*OF_EVERY_PART, "LEVEE_DATABASE_ADMIN_URL")),
    ClusterPart("web", ("web",)),
    ClusterPart("light", ("light",)),
    ClusterPart("dispatcher", ("dispatcher",)),
    ClusterPart("spark-master", ("spark-master",), ("LEVEE_SPARK_SECRET",)),
    ClusterPart("spark-worker-1", ("spark-worker", *OFFERED), ("LEVEE_SPARK_SECRET", "LEVEE_SPARK_MASTER")),
    ClusterPart("spark-worker-2", ("spark-worker", *OFFERED), ("LEVEE_SPARK_SECRET", "LEVEE_SPARK_MASTER")),
    ClusterPart("interactive", ("interactive",), (*OF_EVERY_PART, *OF_DRIVERS)),
    ClusterPart("spark", ("spark",), (*OF_EVERY_PART, *OF_DRIVERS)),
    ClusterPart("spark-2", ("spark", "--name", "spark-2"), (*OF_EVERY_PART, *OF_DRIVERS)),
    ClusterPart("streams", ("streams",), (*OF_EVERY_PART, *OF_DRIVERS)),
)
SERVERS = ("postgres", "redis", STORE)  # not Levee's own programs


@dataclass(frozen=True)
class ClusterPlaces:
    """`cluster.json` of the home: the secrets, which stay, and the ports, which change when another program has taken one."""

    redis_password: str
    spark_secret: str
    redis: int
    object_store: int
    master: int
    master_page: int
    worker_1_page: int
    worker_2_page: int

    @property
    def redis_url(self) -> str:
        return f"redis://:{self.redis_password}@127.0.0.1:{self.redis}/0"

    @property
    def spark_master(self) -> str:
        return f"spark://127.0.0.1:{self.master}"


class ClusterInstance(Instance):
    """The same life as `up`: one lock, one journal, ordered start, restarts, one complete stop."""

    def _start(self, supervisor: Supervisor, home: Home, java_home: Path, listener: socket.socket) -> None:
        places = open_places(home)
        redis.tell(home, places.redis_url)
        home = postgres.prepare(home)
        programs = [*server_programs(home, own_database=True, own_redis=False), redis_program(home, places)]
        self._start_first(supervisor, home, programs)
        redis.check(places.redis_url, "LEVEE_REDIS_URL")
        provision.provision(home)
        given = settings_of(home, places, self._env.port)
        prepare = _environment(PARTS[0], home, java_home, given)
        self._run_once(supervisor, home, "prepare", _command(PARTS[0], self._sample), prepare)
        listener.close()  # held until here, so that no other program takes the web's address
        env = Env.read({**os.environ, **given})
        programs = part_programs(home, java_home, places, env)
        self._start_first(supervisor, home, [program for program in programs if program.name == "web"])
        say(f"ready on http://127.0.0.1:{self._env.port}", sys.stdout)
        self._tell(places)
        supervisor.aloud = True
        supervisor.add(*(program for program in programs if program.name != "web"))
        if importlib.util.find_spec("moto"):
            supervisor.add(object_store_program(places.object_store, environment_of(STORE, home, java_home)))

    def _tell(self, places: ClusterPlaces) -> None:
        """Where the parts are that a person may want to look at; the Spark workers start after this."""
        say(f"  Spark's master: {places.spark_master}, page http://127.0.0.1:{places.master_page}", sys.stdout)
        if importlib.util.find_spec("moto"):
            say(f"  object store for trials, empty at every start: http://127.0.0.1:{places.object_store}", sys.stdout)


def check(env: Env) -> None:
    """Raises StartRefused if the settings name servers: this command brings all of them."""
    named = {
        "LEVEE_DATABASE_URL": env.database_url,
        "LEVEE_DATABASE_ADMIN_URL": env.database_admin_url,
        "LEVEE_REDIS_URL": env.redis_url,
        "LEVEE_SPARK_MASTER": env.spark_master,
        "LEVEE_SPARK_SECRET": env.spark_secret,
    }
    for setting, value in named.items():
        if value is not None:
            raise StartRefused(f"{setting}: `cluster` starts its own; unset it, or use `manage.py up`")


def open_places(home: Home) -> ClusterPlaces:
    """The recorded places, made at the first start. A port that is taken is replaced: what runs here learns of it anew."""
    file = home.path / "cluster.json"
    recorded = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    values: dict[str, str | int] = {}
    for field in fields(ClusterPlaces):
        if field.type == "str":
            values[field.name] = recorded.get(field.name) or secrets.token_hex(32)
        else:
            values[field.name] = _free_port(recorded.get(field.name), set(values.values()))
    places = ClusterPlaces(**values)  # type: ignore[arg-type]  # by the fields' own types
    new = file.with_name(f"{file.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        json.dump(asdict(places), stream, indent=1)
    new.replace(file)
    return places


def _free_port(wanted: int | None, taken: set[str | int]) -> int:
    for port in (wanted or 0, 0, 0, 0):
        with socket.socket() as asked:
            asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                asked.bind(("127.0.0.1", port))
            except OSError:
                continue
            found = int(asked.getsockname()[1])
        if found not in taken:
            return found
    raise StartRefused("no port of 127.0.0.1 is free")


def settings_of(home: Home, places: ClusterPlaces, port: int) -> dict[str, str]:
    """What docker-compose.yml and `.env` say, of this machine. PostgreSQL keeps to its socket, whose kernel knows who asks."""
    database = f"{postgres.DATABASE}?host={home.record.pg_socket_dir}"
    return {
        "LEVEE_HOME": str(home.path),
        "LEVEE_PORT": str(port),
        "LEVEE_DATABASE_URL": f"postgresql://levee_app@/{database}",
        "LEVEE_DATABASE_ADMIN_URL": f"postgresql://levee_migrate@/{database}",
        "LEVEE_REDIS_URL": places.redis_url,
        "LEVEE_SPARK_MASTER": places.spark_master,
        "LEVEE_SPARK_SECRET": places.spark_secret,
        "LEVEE_SPARK_DRIVER_HOST": "127.0.0.1",
        "LEVEE_SPARK_EXECUTOR_MEMORY": EXECUTOR_MEMORY,
        "LEVEE_SPARK_EXECUTOR_CORES": EXECUTOR_CORES,
    }


def redis_program(home: Home, places: ClusterPlaces) -> Program:
    """Redis by TCP with a password, which is in a file for this user alone and in no list of processes."""
    data, conf = home.path / "redis", home.path / "redis.conf"
    data.mkdir(mode=0o700, exist_ok=True)
    lines = {
        "port": places.redis,
        "bind": "127.0.0.1",
        "requirepass": places.redis_password,
        "dir": f'"{data}"',
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": '""',
        "maxmemory-policy": "noeviction",
    }
    conf.unlink(missing_ok=True)
    with os.fdopen(os.open(conf, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.writelines(f"{name} {value}\n" for name, value in lines.items())
    return Program(
        "redis",
        [str(tools.redis_server()), str(conf)],
        postgres.CLEAN_ENVIRONMENT,
        lambda _pid: redis.answers(places.redis_url),
        SERVER_LIMIT_S,
        server=True,
        sign=lambda _pid: redis.works(places.redis_url),
        silence=server_silence(),
    )


def part_programs(home: Home, java_home: Path, places: ClusterPlaces, env: Env) -> list[Program]:
    """All parts but `prepare`, in the order of their start. Each waits by itself for what it needs; on few cores one driver starts after
    the other, and all after the executors' hosts."""
    given = settings_of(home, places, env.port)
    probe = WorkerProbe(provision.arguments(env, "levee_app"))
    one_by_one = (os.cpu_count() or 1) < ROOMY_CORES
    programs: list[Program] = []
    before: tuple[str, ...] = ()
    for part in PARTS[1:]:
        is_driver = part.kind in command_lines.WITH_A_JVM
        environment = _environment(part, home, java_home, given)
        after = before if is_driver and one_by_one else ()
        command = _command(part, places=places, home=home)
        programs.append(_program(part, command, environment, probe, env.port, places, after))
        if is_driver or part.kind == spark_daemons.WORKER:
            before = (part.name,)
    return programs


def _program(
    part: ClusterPart,
    command: list[str],
    environment: dict[str, str],
    probe: WorkerProbe,
    port: int,
    places: ClusterPlaces,
    after: tuple[str, ...],
) -> Program:
    silence = part_silence()
    if part.kind == "web":
        return Program(
            *(part.name, command, environment, lambda _pid: page_answers(port), WEB_LIMIT_S),
            sign=lambda _pid: page_answers(port, WEB_PATIENCE_S),
            silence=silence,
        )
    if part.kind in spark_daemons.DAEMONS:
        page = page_of(part, places)
        return Program(
            *(part.name, command, environment, lambda _pid: spark_daemons.page_answers(page), SERVER_LIMIT_S),
            sign=lambda _pid: spark_daemons.page_answers(page, WEB_PATIENCE_S),
            silence=silence,
            after=after,
        )
    return Program(
        *(part.name, command, environment, lambda pid: probe.is_ready(part.kind, pid), WORKER_LIMIT_S),
        sign=lambda pid: probe.beats(part.kind, pid),
        silence=silence,
        after=after,
        wanted=probe.has_streams if part.kind == "streams" else None,
        waits=lambda pid: probe.waits(part.kind, pid),
        niceness=LIGHT_NICENESS if part.kind == "light" else 0,
    )


def page_of(part: ClusterPart, places: ClusterPlaces) -> int:
    """The port of a daemon's page."""
    pages = {"spark-master": places.master_page, "spark-worker-1": places.worker_1_page}
    return pages.get(part.name, places.worker_2_page)


def _command(
    part: ClusterPart, sample: bool = True, places: ClusterPlaces | None = None, home: Home | None = None
) -> list[str]:
    """`manage.py serve` with the part's words, then what differs from host to host."""
    words = [sys.executable, "manage.py", "serve", *part.words]
    if part.kind == "prepare" and not sample:
        words.append("--no-sample")
    if part.kind in spark_daemons.DAEMONS and places and home:
        port = places.master if part.kind == spark_daemons.MASTER else 0
        words += ["--bind", f"127.0.0.1:{port}", "--page-port", str(page_of(part, places))]
        words += ["--work-dir", str(home.path / "spark" / part.name)]
    return words


def _environment(part: ClusterPart, home: Home, java_home: Path, given: dict[str, str]) -> dict[str, str]:
    """Ours without a setting of Levee's that isn't the part's own, and those that the table names."""
    ours = environment_of(part.name, home, java_home)
    known = {name: value for name, value in given.items() if name in part.settings}
    if part.name in CORES_MAX:
        known["LEVEE_SPARK_CORES_MAX"] = CORES_MAX[part.name]
    kept = {name: value for name, value in ours.items() if name not in given}
    # A daemon opens no home, but without a name for one its settings would point to another instance's.
    return {**kept, "LEVEE_HOME": str(home.path), **known}
