"""One instance from start to stop: what `manage.py up` does."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg

from console.base.disks import full_disk, says_full
from console.base.env import Env, SettingError
from console.base.processes import die_with_parent
from console.supervisor import command_lines, provision, tools
from console.supervisor.errors import StartRefused
from console.supervisor.home import Home, lock_home, open_home, refuse_half_restored
from console.supervisor.journal import Journal, say
from console.supervisor.leftovers import end_strays, sweep
from console.supervisor.processes import Program, ProgramState, Supervisor, describe_exit
from console.supervisor.programs import WorkerProbe, environment_of, part_programs, server_programs, web_program
from console.supervisor.servers import postgres, redis
from console.supervisor.settings_check import bind_port, check_settings, check_spark

WITHOUT = "LEVEE_UP_WITHOUT"  # tests only: parts not to start, by name, with commas


class StopAsked(Exception):
    """Ctrl-C or SIGTERM."""


class Instance:
    """Starts the servers, the web and the workers of one home, and runs until it is asked to stop."""

    def __init__(self, env: Env, sample: bool) -> None:
        self._env = env
        self._sample = sample
        self._stop_asked = False

    def run(self) -> None:
        """Returns after a complete stop. Raises StartRefused, with nothing left running."""
        with _signals(self._ask_to_stop):
            try:
                self._run()
            except StopAsked:
                return
            except SettingError as error:
                raise StartRefused(str(error)) from error
            except (OSError, psycopg.Error) as error:
                if not says_full(error) and full_disk(self._env) is None:  # PostgreSQL doesn't always say why
                    raise
                raise StartRefused(f"LEVEE_HOME: its disk is full ({error}); free some space on it") from error

    def _run(self) -> None:
        check_settings(self._env)
        check_spark(self._env)
        with lock_home(self._env.home):
            refuse_half_restored(self._env.home)
            tools.check_set_up()
            java_home = tools.java_home()
            home = open_home(self._env.home)
            journal = Journal(home.logs / "up.log")
            left = sweep(home)  # before the port: a web process may be among them
            for name in left:
                journal.warn("swept", f"ended what an earlier start had left: {name}", process=name)
            with contextlib.closing(bind_port(self._env.port, patience=5 if left else 0)) as listener:
                self._keep_running(Supervisor(home, journal), home, java_home, listener)
            journal.write("stopped")

    def _keep_running(self, supervisor: Supervisor, home: Home, java_home: Path, listener: socket.socket) -> None:
        redis.forget(home)  # of a `cluster` that was killed in this home
        try:
            self._start(supervisor, home, java_home, listener)
            supervisor.run(lambda: self._stop_asked)
        finally:
            supervisor.stop()
            end_strays(home)
            redis.forget(home)

    def _start(self, supervisor: Supervisor, home: Home, java_home: Path, listener: socket.socket) -> None:
        home = self._start_servers(supervisor, home)
        env = Env.read()  # again: the home's record is written now
        redis.check(env.redis, "LEVEE_REDIS_URL")
        if env.database_url is None:
            provision.provision(home)
        connections = [provision.arguments(env, role) for role in ("levee_app", "levee_migrate")]
        provision.check(*connections)
        environment = environment_of("prepare", home, java_home)
        self._run_once(supervisor, home, "prepare", command_lines.prepare(self._sample), environment)
        web = web_program(env.port, listener.fileno(), environment_of("web", home, java_home))
        self._start_first(supervisor, home, [web])
        say(f"ready on http://127.0.0.1:{env.port}", sys.stdout)
        left_out = os.environ.get(WITHOUT, "").split(",")
        parts = part_programs(home, java_home, WorkerProbe(connections[0]))
        supervisor.aloud = True
        supervisor.add(*(part for part in parts if part.name not in left_out))

    def _start_servers(self, supervisor: Supervisor, home: Home) -> Home:
        own_database = self._env.database_url is None
        if own_database:
            home = postgres.prepare(home)
        self._start_first(supervisor, home, server_programs(home, own_database, self._env.redis_url is None))
        return home

    def _start_first(self, supervisor: Supervisor, home: Home, programs: list[Program]) -> None:
        """Start what nothing works without: a death before the first answer refuses the start."""
        supervisor.add(*programs)
        children = [supervisor.children[program.name] for program in programs]

        def settled() -> bool:
            return all(child.state is ProgramState.READY for child in children) or any(
                child.restarts for child in children
            )

        supervisor.run(lambda: self._stop_asked or settled())
        self._heed_stop()
        for child in children:
            if child.restarts:
                log = home.logs / f"{child.program.name}.log"
                raise StartRefused(f"{child.program.name} didn't start ({child.last_exit}): {_last_line(log)}")

    def _run_once(
        self, supervisor: Supervisor, home: Home, name: str, command: list[str], environment: dict[str, str]
    ) -> None:
        """A command that ends, with the servers watched meanwhile; it may print to the terminal."""
        log = home.logs / f"{name}.log"
        with open(log, "ab") as errors:
            process = subprocess.Popen(
                command,
                cwd=tools.PROJECT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGKILL),
            )
        supervisor.run(lambda: self._stop_asked or process.poll() is not None)
        if process.poll() is None:
            process.kill()
            process.wait()
        self._heed_stop()
        if process.returncode != 0:
            reason = describe_exit(process.returncode)
            raise StartRefused(f"the database can't be prepared ({reason}): {_last_line(log)} (all of it: {log})")

    def _ask_to_stop(self) -> None:
        self._stop_asked = True

    def _heed_stop(self) -> None:
        if self._stop_asked:
            raise StopAsked


@contextlib.contextmanager
def _signals(stop: Any) -> Iterator[None]:
    """Ctrl-C, SIGTERM and the loss of the terminal all ask for a complete stop."""

    def handle(_signal: int, _frame: FrameType | None) -> None:
        stop()

    before = {sig: signal.signal(sig, handle) for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except FileNotFoundError:
        lines = []
    return lines[-1].strip() if lines else "it said nothing"
