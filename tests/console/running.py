"""A whole `manage.py up`, or `cluster`, in a home of its own, for tests."""

import contextlib
import http.client
import json
import os
import queue
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from console.supervisor.tools import PROJECT
from tests.patience import limit
from tests.processes import started_for

START_S = STOP_S = 45.0
GIVEN_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
FIRST_PORT = 10_240


@dataclass
class Up:
    """A running `up` and what it has printed."""

    home: Path
    port: int
    process: subprocess.Popen[str]
    printed: list[str] = field(default_factory=list)
    _lines: "queue.Queue[str | None]" = field(default_factory=queue.Queue)

    def wait_for_line(self, start: str) -> str:
        """The first line that begins so. Fails when the process ends before, or takes too long."""
        until = time.monotonic() + limit(START_S)
        while True:
            line = self._lines.get(timeout=max(until - time.monotonic(), 0.1))
            assert line is not None, f"up ended with {self.process.wait()}; it printed {self.printed}"
            self.printed.append(line.rstrip("\n"))
            if line.startswith(start):
                return self.printed[-1]

    def health(self, quiet_s: float = 7.5) -> tuple[int, dict[str, Any]]:
        """Status and parts of /health/ready."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit(quiet_s))
        with contextlib.closing(connection):
            connection.request("GET", "/health/ready")
            response = connection.getresponse()
            return response.status, json.loads(response.read())["parts"]

    def pids(self) -> dict[str, int]:
        """The pid of each program, by name, as recorded for the next start."""
        value = json.loads((self.home / "state" / "pids.json").read_text())
        return {name: record["pid"] for name, record in value.items()}

    def stop(self, sig: signal.Signals = signal.SIGTERM) -> int:
        """The exit code."""
        self.process.send_signal(sig)
        return self.process.wait(limit(STOP_S))

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)


def free_port() -> int:
    """A port nobody listens on now, and none that the system gives to whoever names none: nobody gets it by chance before it is used."""
    first_given = int(GIVEN_PORTS.read_text().split()[0])
    ports = range(FIRST_PORT, first_given if first_given > 2 * FIRST_PORT else 65_536)
    while True:
        port = random.choice(ports)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def new_home() -> Iterator[Path]:
    """A place for a home that PostgreSQL's own user can reach; removed at the end, whatever it holds."""
    directory = Path(tempfile.mkdtemp(prefix="levee-up-"))
    directory.chmod(0o711)
    try:
        yield directory / "home"
    finally:
        with contextlib.suppress(OSError, ValueError):  # a home that was never opened
            shutil.rmtree(json.loads((directory / "home" / "home.json").read_text())["run_dir"], ignore_errors=True)
        shutil.rmtree(directory, ignore_errors=True)


def environment(home: Path, port: int, **settings: str) -> dict[str, str]:
    """An environment without any other LEVEE_ setting."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LEVEE_")}
    return {**kept, "LEVEE_HOME": str(home), "LEVEE_PORT": str(port), **settings}


def start(home: Path, port: int, *arguments: str, command: str = "up", **settings: str) -> Up:
    """`up` without the workers that need Spark, unless LEVEE_UP_WITHOUT is given; or `cluster`, whole."""
    settings.setdefault("LEVEE_UP_WITHOUT", "spark,interactive")
    process = subprocess.Popen(
        [sys.executable, "manage.py", command, *arguments],
        cwd=PROJECT,
        env=environment(home, port, **settings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    up = Up(home, port, process)
    threading.Thread(target=up._read, daemon=True).start()
    return up


@contextlib.contextmanager
def running(home: Path, port: int, *arguments: str, command: str = "up", **settings: str) -> Iterator[Up]:
    """The same, ready for pages; stopped at the end if it still runs."""
    up = start(home, port, *arguments, command=command, **settings)
    try:
        up.wait_for_line("ready on ")
        yield up
    finally:
        if up.process.poll() is None:
            up.stop()


def processes_of(home: Path) -> dict[int, str]:
    """Every living process that was started for the home, with its command line."""
    return started_for(home, "LEVEE_HOME")
