"""The programs of an instance: how each is started, and how it is known to be ready."""

import contextlib
import http.client
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psycopg

from console.supervisor import postgres, redis
from console.supervisor.home import Home
from console.supervisor.pids import boot_id
from console.supervisor.processes import Program
from jobs.lifecycle.timeouts import timing

SERVER_LIMIT_S = 120.0  # PostgreSQL may have a crash to recover from
WEB_LIMIT_S = 120.0
WORKER_LIMIT_S = 300.0  # Spark on a busy machine; five times what an idle one needs
PROBE_EVERY_S = 0.5
ROOMY_CORES = 4
WEB_PATIENCE_S = 10.0  # of the question whether the web process works: it may have much to do
YOUNG_BEATS = 2.5  # a worker whose last beat is older than so many gives no sign
# Of a web process. console.base.waiting says how many may wait, console.server.turns how many one person gets.
THREADS = 24


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


def server_silence() -> float:
    """Less than a part's, whose silence may be the server's fault."""
    return timing().hung * 0.75


def environment_of(name: str, home: Home, java_home: Path) -> dict[str, str]:
    """What a part of Levee finds in its environment: ours, its name for the log, the home, Java."""
    return {
        **os.environ,
        "LEVEE_HOME": str(home.path),
        "LEVEE_PROCESS": name,
        "JAVA_HOME": str(java_home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONUNBUFFERED": "1",
    }


def web_program(port: int, descriptor: int, environment: Mapping[str, str]) -> Program:
    """gunicorn on the socket that was bound before anything else."""
    return Program(
        "web",
        [
            *(sys.executable, "-m", "gunicorn", "console.wsgi", "--bind", f"fd://{descriptor}"),
            *("--worker-class", "console.server.worker.PatientWorker", "--workers", "2", "--threads", str(THREADS)),
            *("--graceful-timeout", "4", "--worker-tmp-dir", _memory_directory()),
            *("--no-sendfile", "--no-control-socket", "--log-level", "warning"),
        ],
        {**environment, "MALLOC_ARENA_MAX": "2"},  # the C library would keep memory for each of many threads
        lambda _pid: page_answers(port),
        WEB_LIMIT_S,
        descriptors=(descriptor,),
        sign=lambda _pid: page_answers(port, WEB_PATIENCE_S),
        silence=timing().hung,
    )


def worker_program(
    queue: str,
    pool: tuple[str, ...],
    environment: Mapping[str, str],
    probe: "WorkerProbe",
    after: tuple[str, ...] = (),
    wanted: Callable[[], bool] | None = None,
) -> Program:
    """A Celery worker of one queue; ready once it says so in the database."""
    return Program(
        queue,
        [
            *(sys.executable, "-m", "celery", "-q", "-A", "console", "worker", "-Q", queue, *pool, "-n", f"{queue}@%h"),
            *("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "INFO"),
        ],
        environment,
        lambda pid: probe.is_ready(queue, pid),
        WORKER_LIMIT_S,
        sign=lambda pid: probe.beats(queue, pid),
        silence=timing().hung,
        after=after,
        wanted=wanted,
    )


def part_programs(home: Home, java_home: Path, probe: "WorkerProbe") -> list[Program]:
    """Workers and dispatcher, in the order of their start.

    On few cores two JVMs that warm up together are both late: reads come first, since pages wait for them.
    The worker `streams` starts with the first stream that runs, without a warm-up: an instance without one needs no third JVM.
    """

    def environment(name: str) -> dict[str, str]:
        return environment_of(name, home, java_home)

    one_by_one = (os.cpu_count() or 1) < ROOMY_CORES
    threads, one_child = ("-P", "threads", "-c", "4"), ("-P", "prefork", "-c", "1")
    dispatcher = Program(
        "dispatcher",
        [sys.executable, "manage.py", "dispatcher"],
        environment("dispatcher"),
        lambda pid: probe.is_ready("dispatcher", pid),
        WORKER_LIMIT_S,
        sign=lambda pid: probe.beats("dispatcher", pid),
        silence=timing().hung,
    )
    return [
        worker_program("light", threads, environment("light"), probe),
        dispatcher,
        worker_program("interactive", threads, environment("interactive"), probe),
        worker_program(
            "spark",
            one_child,
            environment("spark"),
            probe,
            after=("interactive",) if one_by_one else (),
        ),
        worker_program(
            "streams",
            one_child,
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


class WorkerProbe:
    """Asks the database which workers have said that they are ready, and whether anything needs the streams' one."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._arguments = {
            **connection,
            "connect_timeout": 3,
        }  # a server that hangs must not hold up who is to replace it
        self._asked = 0.0
        self._ready: set[tuple[str, int]] = set()

    def is_ready(self, kind: str, pid: int) -> bool:
        """True when a worker of that kind, in the process group of `pid`, is ready."""
        if time.monotonic() - self._asked >= PROBE_EVERY_S:
            self._asked = time.monotonic()
            self._ready = self._ask()
        return (kind, pid) in self._ready

    def beats(self, kind: str, pid: int) -> bool | None:
        """Whether a worker of that kind, in the process group of `pid`, has said lately that it lives; None without a database."""
        query = "select pid, extract(epoch from clock_timestamp() - heartbeat_at) from jobs_worker where kind = %s and boot_id = %s"
        try:
            with psycopg.connect(**self._arguments, autocommit=True) as connection:
                workers = connection.execute(query, [kind, boot_id()]).fetchall()
        except psycopg.Error:
            return None
        young = YOUNG_BEATS * timing().heartbeat
        return any(_group(worker) == pid and age < young for worker, age in workers)

    def has_streams(self) -> bool:
        """Whether a stream runs or a round of one is yet to end; False without a database, or in one that knows no streams."""
        with contextlib.suppress(psycopg.Error), psycopg.connect(**self._arguments, autocommit=True) as connection:
            return connection.execute(STREAMS).fetchone() == (True,)
        return False

    def _ask(self) -> set[tuple[str, int]]:
        query = "select kind, pid from jobs_worker where condition = 'ready' and boot_id = %s"
        with contextlib.suppress(psycopg.Error), psycopg.connect(**self._arguments, autocommit=True) as connection:
            return {(kind, _group(pid)) for kind, pid in connection.execute(query, [boot_id()])}
        return set()


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def page_answers(port: int, patience: float = 1) -> bool:
    """True when the web process answers a request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patience)
    try:
        connection.request("GET", "/health/live")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _memory_directory() -> str:
    """Where gunicorn's workers say that they live: on a disk, a slow write would count as a death."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"  # noqa: S108
