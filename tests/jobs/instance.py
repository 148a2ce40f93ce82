"""An instance for tests that kill its parts: own PostgreSQL and Redis, dispatchers, workers, a process that asks. A keeper restarts
what has died, as the supervisor does, only sooner."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from console.base.processes import start_ticks
from console.supervisor import provision
from console.supervisor.account import popen_user
from console.supervisor.home import Home, open_home
from console.supervisor.servers import postgres, redis
from console.supervisor.tools import PROJECT
from tests.jobs.faults import recalled, remember
from tests.patience import USUAL_S, limit, stretch, wait_for

SHORT = {
    "lease": 2.5,
    "heartbeat": 0.4,
    "watch": 0.1,
    "reconcile": 0.3,
    "wake": 0.3,
    "housekeeping": 2,
    "cancel_grace": 1.5,
    "unproven": 2.0,
    "late_commit": 600,
}
# What a busy machine makes late: a worker that lives renews no lease in time, one that is told to stop doesn't come to it.
GROWS = {"lease", "hung", "cancel_grace", "unproven", "no_executors"}
# A commit must outlive the server's death, not the machine's.
SERVER = ("fsync=off", "full_page_writes=off", "max_connections=100", "shared_buffers=64MB")


@dataclass
class Part:
    """A program that is kept alive."""

    name: str
    command: list[str]
    environment: dict[str, str]
    options: dict[str, Any] = field(default_factory=dict)
    code: Path = PROJECT
    process: subprocess.Popen[bytes] | None = None
    before: Callable[[], None] = lambda: None
    strange: dict[str, str] = field(default_factory=dict)  # what makes it unlike an ordinary one

    def start(self, log: Path) -> None:
        self.before()
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command,
                cwd="/" if self.options else self.code,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                **self.options,
            )

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None


class Instance:
    """Everything of one home. `faults` is the folder of tests.jobs.faults."""

    def __init__(self, folder: Path, timing: dict[str, float], engine: str = "fake") -> None:
        folder.chmod(0o711)
        self.home: Home = postgres.prepare(open_home(folder / "home"))
        self.faults = folder / "faults"
        self.lake = folder / "lake"
        for path in (self.faults, self.lake):
            path.mkdir()
        grown = {name: value * stretch() if name in GROWS else value for name, value in timing.items()}
        self.engine, self.timing = engine, grown
        self.code = PROJECT  # of the parts that are started from now on
        self.parts: dict[str, Part] = {}
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._requester: subprocess.Popen[str] | None = None
        self._connection: psycopg.Connection | None = None

    # --- life -----------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Servers, schema, keeper."""
        server = Part("postgres", postgres.command(self.home, *SERVER), postgres.CLEAN_ENVIRONMENT)
        server.options = {**popen_user(self.home.account), "umask": 0o077} if self.home.account else {"umask": 0o077}
        self.add(server)
        self.add(Part("redis", redis.command(self.home), dict(os.environ), {"umask": 0o077}, before=self._empty_redis))
        wait_for(lambda: postgres.answers(self.home), "PostgreSQL answers")
        provision.provision(self.home)
        migrate = [sys.executable, "manage.py", "migrate", "--database", "admin", "-v", "0"]
        subprocess.run(migrate, cwd=PROJECT, env=self.environment(), check=True)
        self._keeper.start()

    def _empty_redis(self) -> None:
        """Killed and emptied: what Redis had written is gone each time it starts."""
        shutil.rmtree(self.home.path / "redis", ignore_errors=True)
        (self.home.path / "redis").mkdir(mode=0o700)

    def close(self) -> None:
        self._closing.set()
        if self._connection is not None:
            self._connection.close()
        with self._lock:
            if self._requester is not None:
                self._requester.kill()
            for part in self.parts.values():
                self._end(part)
        for path in self.faults.glob("victims-*.json"):
            if (jvm := recalled(path, "jvm")) is not None:
                os.killpg(jvm, signal.SIGKILL)
        shutil.rmtree(self.home.run_dir, ignore_errors=True)

    def _end(self, part: Part) -> None:
        if part.process is not None and part.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(part.process.pid, signal.SIGKILL)
            part.process.wait(limit(5))

    def _keep(self) -> None:
        while not self._closing.wait(0.05):
            with self._lock:
                for part in self.parts.values():
                    if not part.running and not self._closing.is_set():
                        self._start(part)

    def _start(self, part: Part) -> None:
        part.start(self.home.logs / f"{part.name}.out")
        if part.name in {"postgres", "redis"}:
            servers = {n: p.process.pid for n, p in self.parts.items() if n in {"postgres", "redis"} and p.process}
            remember(self.faults / "servers.json", servers)

    def environment(self, **more: str) -> dict[str, str]:
        return {
            **os.environ,
            "LEVEE_HOME": str(self.home.path),
            "LEVEE_TIMING": json.dumps(self.timing),
            "LEVEE_TEST_FAULTS": str(self.faults),
            "LEVEE_TEST_ENGINE": self.engine,
            "DJANGO_SETTINGS_MODULE": "console.settings",
            "PYTHONPATH": str(self.code),
            **more,
        }

    # --- parts ----------------------------------------------------------------------------------------------------

    def add(self, part: Part) -> None:
        """Starts a part and keeps it alive."""
        with self._lock:
            self.parts[part.name] = part
            self._start(part)

    def remove(self, name: str, sig: signal.Signals = signal.SIGKILL) -> None:
        """Ends a part for good."""
        with self._lock:
            part = self.parts.pop(name)
        if part.process is not None and sig is not signal.SIGKILL:
            part.process.send_signal(sig)
            part.process.wait(limit(15))
        self._end(part)
        if name == "spark":
            wait_for(
                lambda: not self.victims()["child"], "the worker is gone"
            )  # killed, but may be a while dying: it would pass for the next one's

    def add_dispatcher(self, name: str = "dispatcher", **more: str) -> None:
        self.add(Part(name, [sys.executable, "manage.py", "dispatcher"], self.environment(**more), code=self.code))

    def add_worker(self, name: str = "spark", around: Sequence[str] = (), **more: str) -> None:
        """A worker of the queue that its name begins with. `around` is a program that runs it, in a namespace for example."""
        queue = name.split("-")[0]
        pool = ("-P", "prefork", "-c", "1") if queue in {"spark", "streams"} else ("-P", "threads", "-c", "2")
        command = [
            *around,
            *(sys.executable, "-m", "celery", "-A", "tests.jobs.worker_app", "worker", "-Q", queue, *pool),
            *(
                "-n",
                f"{name}@%h",
                "--without-gossip",
                "--without-mingle",
                "--without-heartbeat",
                "--loglevel",
                "WARNING",
            ),
        ]
        self.add(Part(name, command, self.environment(LEVEE_PROCESS=name, **more), strange=more, code=self.code))

    def wait_ready(self, name: str = "spark", quiet_s: float = USUAL_S) -> None:
        """Until the worker of that name says that it is ready, and is a process that lives."""
        wait_for(lambda: self._is_ready(name), f"{name} is ready", quiet_s, self.tail)

    def _is_ready(self, name: str) -> bool:
        query = "select pid, start_ticks from jobs_worker where name like %s and condition = 'ready'"
        alive = [pid for pid, ticks in self.rows(query, f"{name}@%") if start_ticks(pid) == ticks]
        return bool(alive) and (name != "spark" or self.victims()["child"] in alive)

    def tail(self) -> str:
        return "\n".join(f"{p.name}: {p.read_text(errors='replace')[-1500:]}" for p in self.home.logs.glob("*.out"))

    # --- acts -----------------------------------------------------------------------------------------------------

    def ask(self, do: str, **values: Any) -> dict[str, Any]:
        """Has the process that plays the web do it. Raises EOFError when that was killed meanwhile."""
        if self._requester is None or self._requester.poll() is not None:
            self._requester = subprocess.Popen(
                [sys.executable, "-m", "tests.jobs.requester"],
                cwd=self.code,
                env=self.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=(self.home.logs / "requester.out").open("ab"),
                text=True,
                start_new_session=True,
            )
            self._line()
        assert self._requester.stdin is not None
        self._requester.stdin.write(json.dumps({"do": do, **values}) + "\n")
        self._requester.stdin.flush()
        return self._line()

    def replace_requester(self) -> None:
        """Ends the process that plays the web, as a planned stop does between two requests; the next act starts another."""
        if self._requester is not None:
            self._requester.terminate()
            self._requester.wait(limit(5))
            self._requester = None

    def ask_until_taken(self, do: str, **values: Any) -> dict[str, Any]:
        """Asks again while the database is away, as a person does whom a page has told 503."""
        while "refused" in (told := self.ask(do, **values)):
            time.sleep(0.2)
        return told

    def _line(self) -> dict[str, Any]:
        assert self._requester is not None
        assert self._requester.stdout is not None
        line = self._requester.stdout.readline()
        if not line:
            raise EOFError(self._requester.wait(limit(5)))
        found: dict[str, Any] = json.loads(line)
        return found

    def arm(self, point: str, *acts: dict[str, Any]) -> None:
        """The next process that reaches the point does this."""
        for name in ("armed.json", "fired.json"):
            (self.faults / name).unlink(missing_ok=True)
        fresh = self.faults / ".armed"
        fresh.write_text(json.dumps({"point": point, "acts": acts}))
        fresh.replace(self.faults / "armed.json")

    @property
    def fired(self) -> bool:
        return (self.faults / "fired.json").exists()

    def wait_fired(self, quiet_s: float = USUAL_S) -> None:
        """Until the armed fault has fired."""
        wait_for(lambda: self.fired, "the armed fault fires", quiet_s, self.tail)

    @property
    def fired_at(self) -> float:
        """When the fault fired, in seconds of the epoch: its file was given its name then."""
        return (self.faults / "fired.json").stat().st_ctime

    def victims(self) -> dict[str, int]:
        """Who claims now, with its parent and its JVM; 0 for whoever has ended."""
        at = self.faults / "victims-spark.json"
        return {name: recalled(at, name) or 0 for name in ("main", "child", "jvm")}

    def table(self, name: str) -> Path:
        path = self.lake / name
        path.mkdir()
        return path

    # --- what is so -----------------------------------------------------------------------------------------------

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What the database answers, however often its server dies meanwhile."""
        answered: list[list[tuple[Any, ...]]] = wait_for(lambda: self._asked(query, values), "the database answers")
        return answered[0]

    def _asked(self, query: str, values: tuple[object, ...]) -> list[list[tuple[Any, ...]]]:
        """Its answer in a list, which is empty while its server is away."""
        try:
            if self._connection is None or self._connection.closed:
                self._connection = postgres.connect(self.home)
            return [self._connection.execute(query.encode(), values).fetchall()]
        except psycopg.OperationalError:
            if self._connection is not None:
                self._connection.close()
            return []

    def job(self, pk: str) -> dict[str, Any]:
        names = ("state", "version", "attempt", "no_op", "lease_until", "finished_at")
        (row,) = self.rows(f"select {', '.join(names)} from jobs_job where id = %s", pk)
        return dict(zip(names, row, strict=True))

    def wait_state(self, pk: str, *states: str, quiet_s: float = USUAL_S) -> dict[str, Any]:
        """The job once it is in one of the states; without any, once it has ended."""

        def there() -> dict[str, Any] | None:
            job = self.job(pk)
            return job if (job["state"] in states if states else job["finished_at"] is not None) else None

        what = f"the job is {' or '.join(states) or 'at its end'}"
        found: dict[str, Any] = wait_for(there, what, quiet_s, lambda: (self.job(pk), self.story(pk), self.tail()))
        return found

    def story(self, pk: str) -> list[tuple[Any, ...]]:
        return self.rows(
            "select at::text, kind, who, attempt, text from jobs_jobevent where job_id = %s order by id", pk
        )

    def error(self, pk: str) -> Any:
        """What a job that ended says was wrong."""
        return self.rows("select error from jobs_job where id = %s", pk)[0][0]


@contextlib.contextmanager
def opened(folder: Path, timing: dict[str, float] | None = None, engine: str = "fake") -> Iterator[Instance]:
    """An instance with its servers, until the end of the block."""
    instance = Instance(folder, timing or SHORT, engine)
    try:
        instance.open()
        yield instance
    finally:
        instance.close()
