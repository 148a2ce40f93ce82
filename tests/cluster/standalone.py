"""A Spark standalone cluster of a test: the daemons that `make cluster` starts, on free ports, gone at the end of the block."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from console.supervisor import spark_daemons, tools
from console.supervisor.leftovers import kill_group
from console.supervisor.spark_daemons import MASTER, WORKER, Daemon
from jobs.engine.config import Cluster
from tests.patience import limit, wait_for

START_S = 75.0


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


class Standalone:
    """One master and its workers, each a process group of its own, executors included."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.secret = folder, secrets.token_hex(32)
        self.port = free_port()
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def address(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    def asked(self, cores: int = 1) -> Cluster:
        """What one JVM of Levee's asks of it: one executor."""
        return Cluster(self.address, self.secret, "512m", cores, cores)

    def start_master(self) -> None:
        self._start("master", Daemon(MASTER, "127.0.0.1", self.port, free_port(), self.folder / "master"))

    def start_worker(self, name: str, cores: int = 2) -> None:
        """Returns once the worker's page answers; it registers by itself."""
        place = self.folder / name
        self._start(name, Daemon(WORKER, "127.0.0.1", 0, free_port(), place, self.address, cores, "2g"))

    def _start(self, name: str, daemon: Daemon) -> None:
        daemon.directory.mkdir(parents=True, exist_ok=True)
        log = self.folder / f"{name}.log"
        with log.open("ab") as out:
            self.running[name] = subprocess.Popen(
                spark_daemons.command(daemon),
                cwd=daemon.directory,
                env=spark_daemons.environment(daemon, tools.java_home(), self.secret),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        wait_for(
            lambda: spark_daemons.page_answers(daemon.page),
            "the daemon's page answers",
            START_S,
            lambda: log.read_text(errors="replace")[-2000:],
        )

    def kill(self, name: str) -> None:
        """SIGKILL to the daemon and its executors."""
        process = self.running.pop(name)
        kill_group(process.pid)
        process.wait(limit(15))

    def executors(self, worker: str) -> list[int]:
        """The processes of a worker's executors."""
        return [pid for pid in _children(self.running[worker].pid) if b"CoarseGrained" in _words(pid)]

    def kill_executors(self, worker: str) -> int:
        """SIGKILL to the executors of a worker alone. Returns their number."""
        executors = self.executors(worker)
        for pid in executors:
            os.kill(pid, signal.SIGKILL)
        return len(executors)

    def close(self) -> None:
        for name in list(self.running):
            self.kill(name)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def _words(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@contextlib.contextmanager
def running(folder: Path, workers: int = 1) -> Iterator[Standalone]:
    """A cluster with a master and so many workers of two cores."""
    made = Standalone(folder)
    try:
        made.start_master()
        for number in range(1, workers + 1):
            made.start_worker(f"worker-{number}")
        yield made
    finally:
        made.close()
