"""The tests' own PostgreSQL and Redis: private, quick, gone with the process that started them.

Each test process (each xdist worker) has a home of its own. Its directory and socket paths are fixed when
the process starts, so that Django's settings can be read at once; the servers start when a test first needs
them. Programs that a test starts (workers, commands) find the same servers through LEVEE_HOME.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from console.base.processes import die_with_parent
from console.supervisor import provision
from console.supervisor.account import popen_user
from console.supervisor.home import Home, open_home
from console.supervisor.servers import postgres, redis
from tests.patience import limit

PREFIX = "levee-tests-"
SIZES = ("LEVEE_BENCH_", "LEVEE_SOAK_")  # said to the tests themselves, not to an instance
START_S = 15
STOP_S = 7.5
# Nothing here outlives the run: durability would only cost time. Only tests may do this; a start refuses it.
# Nor is anything analyzed on the way: what the planner believes of a table, and with it a plan, would hang on the moment.
QUICK = (
    "fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off", "max_connections=100", "shared_buffers=64MB",
)  # fmt: skip


def prepare_environment() -> Home:
    """Make this process's home and point LEVEE_HOME to it. Before Django reads its settings."""
    for name in [name for name in os.environ if name.startswith("LEVEE_") and not name.startswith(SIZES)]:
        del os.environ[name]  # a developer's own instance is none of the tests' business
    _remove_leftovers()
    home = open_home(_new_directory() / "home")
    os.environ["LEVEE_HOME"] = str(home.path)
    return home


@contextlib.contextmanager
def running_postgres(home: Home, options: Sequence[str] = QUICK) -> Iterator[Home]:
    """The home's server with Levee's roles and an empty database, until the end of the block."""
    home = postgres.prepare(home)
    with _running(home, "postgres", postgres.command(home, *options), postgres.STOP_SIGNAL, postgres.answers):
        provision.provision(home)
        yield home


@contextlib.contextmanager
def running_redis(home: Home) -> Iterator[str]:
    """The home's Redis, until the end of the block. Yields its address."""
    address = redis.url(home)
    with _running(home, "redis", redis.command(home), signal.SIGTERM, lambda _: redis.answers(address)):
        yield address


def set_trigger(home: Home, table: str, trigger: str, *, on: bool) -> None:
    """Switches a trigger on or off for the tests that follow."""
    with postgres.connect(home) as connection:
        connection.execute(f"alter table {table} {'enable' if on else 'disable'} trigger {trigger}".encode())


@contextlib.contextmanager
def _running(
    home: Home, name: str, command: list[str], stop: signal.Signals, answers: Callable[[Home], bool]
) -> Iterator[None]:
    account = home.account if name == "postgres" else None
    with open(home.logs / f"{name}.log", "ab") as log:
        process = subprocess.Popen(
            command,
            cwd="/",
            env=postgres.CLEAN_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGQUIT if name == "postgres" else signal.SIGKILL),
            **popen_user(account),
        )
    try:
        _wait(home, name, process, answers)
        yield
    finally:
        process.send_signal(stop)
        try:
            process.wait(limit(STOP_S))
        finally:
            process.kill()


def _wait(home: Home, name: str, process: subprocess.Popen[bytes], answers: Callable[[Home], bool]) -> None:
    until = time.monotonic() + limit(START_S)
    while not answers(home):
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"{name} did not start: {(home.logs / f'{name}.log').read_text()[-2000:]}")
        time.sleep(0.02)


_held: list[TextIO] = []


def _new_directory() -> Path:
    """Below the temporary directory, open enough for PostgreSQL's own user to pass through.

    It gets its name once it is locked: another process takes what is not for left over.
    """
    directory = Path(tempfile.gettempdir()) / f"{PREFIX}{os.geteuid()}-{secrets.token_hex(4)}"
    unlocked = directory.with_name(f".{directory.name}")
    unlocked.mkdir(mode=0o700)
    unlocked.chmod(0o711)
    lock = open(unlocked / "lock", "w")  # noqa: SIM115 (held until the process ends)
    fcntl.flock(lock, fcntl.LOCK_EX)
    _held.append(lock)
    return unlocked.rename(directory)


def remove(home: Home) -> None:
    """Remove this process's home and everything beside it."""
    shutil.rmtree(home.run_dir, ignore_errors=True)
    shutil.rmtree(home.path.parent, ignore_errors=True)


def _remove_leftovers() -> None:
    """Directories of test processes that were killed: their lock is free."""
    for directory in Path(tempfile.gettempdir()).glob(f"{PREFIX}{os.geteuid()}-*"):
        with contextlib.suppress(OSError), open(directory / "lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(directory, ignore_errors=True)
