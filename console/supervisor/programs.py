"""The programs of an instance: how each is started, and how it is known to be ready."""

import contextlib
import http.client
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg

from console.base.processes import boot_id
from console.base.timeouts import timing
from console.supervisor import command_lines
from console.supervisor.home import Home
from console.supervisor.processes import Program
from console.supervisor.servers import postgres, redis

SERVER_LIMIT_S = 120.0  # PostgreSQL may have a crash to recover from
WEB_LIMIT_S = 120.0
WORKER_LIMIT_S = 300.0  # Spark on a busy machine; five times what an idle one needs
PROBE_EVERY_S = 0.5
ROOMY_CORES = 4
# A lake that comes in keeps the light worker busy for minutes: people's pages come first. It gets a third of what another part gets then.
LIGHT_NICENESS = 5
WEB_PATIENCE_S = 10.0  # of the question whether the web process works: it may have much to do
AWAITS_MASTER = "LEVEE_SPARK_MASTER:"  # how a worker's text begins that waits for the master of its cluster
YOUNG_BEATS = 2.5  # a worker whose last beat is older than so many gives no sign


def server_programs(home: Home, own_database: bool, own_redis: bool) -> list[Program]:
    """The embedded servers that the settings don't replace."""
    environment = {**postgres.CLEAN_ENVIRONMENT, "LEVEE_HOME": str(home.path)}
    programs = []
    if own_database:
        programs.append(
            Program(
                "postgres",
                postgres.command(home),
                environment,
                lambda _pid: postgres.answers(home),
                SERVER_LIMIT_S,
                server=True,
                stop_signal=postgres.STOP_SIGNAL,
                death_signal=signal.SIGQUIT,
                account=home.account,
                sign=lambda _pid: postgres.works(home),
                silence=server_silence(),
            )
        )
    if own_redis:
        address = redis.url(home)
        programs.append(
            Program(
                "redis",
                redis.command(home),
                environment,
                lambda _pid: redis.answers(address),
                SERVER_LIMIT_S,
                server=True,
                death_signal=signal.SIGTERM,
                sign=lambda _pid: redis.works(address),
                silence=server_silence(),
            )
        )
    return programs


def young_beat() -> float:
    """The greatest age of a worker's last heartbeat, in seconds, that still is a sign of life."""
    return YOUNG_BEATS * timing().heartbeat


def part_silence() -> float:
    """How long a part may give no sign of life, in seconds."""
    return timing().hung


def server_silence() -> float:
    """Less than a part's, whose silence may be the server's fault."""
    return timing().hung * 0.75


def environment_of(name: str, home: Home, java_home: Path) -> dict[str, str]:
    """What a part of Levee finds in its environment: ours, its name for the log, the home, Java."""
    return {**command_lines.environment(home.path, java_home), "LEVEE_PROCESS": name}


def web_program(port: int, descriptor: int, environment: Mapping[str, str]) -> Program:
    """gunicorn on the socket that was bound before anything else."""
    return Program(
        "web",
        command_lines.web(f"fd://{descriptor}"),
        {**environment, **command_lines.WEB_ENVIRONMENT},
        lambda _pid: page_answers(port),
        WEB_LIMIT_S,
        descriptors=(descriptor,),
        sign=lambda _pid: page_answers(port, WEB_PATIENCE_S),
        silence=timing().hung,
    )


def worker_program(
    queue: str,
    environment: Mapping[str, str],
    probe: "WorkerProbe",
    after: tuple[str, ...] = (),
    wanted: Callable[[], bool] | None = None,
    niceness: int = 0,
) -> Program:
    """A Celery worker of one queue; ready once it says so in the database."""
    return Program(
        queue,
        command_lines.worker(queue),
        environment,
        lambda pid: probe.is_ready(queue, pid),
        WORKER_LIMIT_S,
        sign=lambda pid: probe.beats(queue, pid),
        silence=timing().hung,
        after=after,
        wanted=wanted,
        waits=lambda pid: probe.waits(queue, pid),
        niceness=niceness,
    )


def part_programs(home: Home, java_home: Path, probe: "WorkerProbe") -> list[Program]:
    """Workers and dispatcher, in the order of their start.

    On few cores two JVMs that warm up together are both late: reads come first, since pages wait for them.
    The worker `streams` starts with the first stream that runs, without a warm-up: an instance without one needs no third JVM.
    """

    def environment(name: str) -> dict[str, str]:
        return environment_of(name, home, java_home)

    one_by_one = (os.cpu_count() or 1) < ROOMY_CORES
    dispatcher = Program(
        "dispatcher",
        command_lines.dispatcher(),
        environment("dispatcher"),
        lambda pid: probe.is_ready("dispatcher", pid),
        WORKER_LIMIT_S,
        sign=lambda pid: probe.beats("dispatcher", pid),
        silence=timing().hung,
    )
    return [
        worker_program("light", environment("light"), probe, niceness=LIGHT_NICENESS),
        dispatcher,
        worker_program("interactive", environment("interactive"), probe),
        worker_program(
            "spark",
            environment("spark"),
            probe,
            after=("interactive",) if one_by_one else (),
        ),
        worker_program(
            "streams",
            environment("streams"),
            probe,
            wanted=probe.has_streams,
        ),
    ]


STREAMS = """
select exists (select from jobs_stream where state in ('running', 'stopping')) or exists (
    select from jobs_streamround r join jobs_job j on j.id = r.job_id
    where j.state in ('queued', 'running', 'reconciling', 'cancelling'))
"""
STARTED = """
select kind, pid, condition = 'ready' from jobs_worker where boot_id = %(boot)s and (condition = 'ready' or (
    condition = 'starting' and starts_with(text, %(text)s)
    and heartbeat_at > clock_timestamp() - make_interval(secs => %(young)s)))
"""


class WorkerProbe:
    """Asks the database which workers have said that they are ready, and whether anything needs the streams' one."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._arguments = {
            **connection,
            "connect_timeout": 3,
        }  # a server that hangs must not hold up who is to replace it
        self._asked = 0.0
        self._ready: set[tuple[str, int]] = set()
        self._waiting: set[tuple[str, int]] = set()

    def is_ready(self, kind: str, pid: int) -> bool:
        """True when a worker of that kind, in the process group of `pid`, is ready."""
        self._look()
        return (kind, pid) in self._ready

    def waits(self, kind: str, pid: int) -> bool:
        """True while a fresh heartbeat of that worker says that it waits for the master of its cluster: a JVM that hangs beats as well."""
        self._look()
        return (kind, pid) in self._waiting

    def beats(self, kind: str, pid: int) -> bool | None:
        """Whether a worker of that kind, in the process group of `pid`, has said lately that it lives; None without a database."""
        query = "select pid, extract(epoch from clock_timestamp() - heartbeat_at) from jobs_worker where kind = %s and boot_id = %s"
        try:
            with psycopg.connect(**self._arguments, autocommit=True) as connection:
                workers = connection.execute(query, [kind, boot_id()]).fetchall()
        except psycopg.Error:
            return None
        return any(_group(worker) == pid and age < young_beat() for worker, age in workers)

    def has_streams(self) -> bool:
        """Whether a stream runs or a round of one is yet to end; False without a database, or in one that knows no streams."""
        with contextlib.suppress(psycopg.Error), psycopg.connect(**self._arguments, autocommit=True) as connection:
            return connection.execute(STREAMS).fetchone() == (True,)
        return False

    def _look(self) -> None:
        if time.monotonic() - self._asked >= PROBE_EVERY_S:
            self._asked = time.monotonic()
            found = self._ask()
            self._ready = {(kind, _group(pid)) for kind, pid, is_ready in found if is_ready}
            self._waiting = {(kind, _group(pid)) for kind, pid, is_ready in found if not is_ready}

    def _ask(self) -> list[tuple[str, int, bool]]:
        """Kind, pid and whether it is ready, of each worker that is or that waits for its master."""
        values = {"boot": boot_id(), "text": AWAITS_MASTER, "young": young_beat()}
        with contextlib.suppress(psycopg.Error), psycopg.connect(**self._arguments, autocommit=True) as connection:
            return connection.execute(STARTED, values).fetchall()
        return []


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def page_answers(
    port: int, patience: float = 1, path: str = "/health/live", method: str = "GET", accepted: Sequence[int] = (200,)
) -> bool:
    """True when a program on this machine answers a request within `patience` seconds: the web process unless told."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patience)
    try:
        connection.request(method, path)
        return connection.getresponse().status in accepted
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
