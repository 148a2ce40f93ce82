"""An instance under load: many sockets and callers at once, and how long ordinary use takes beside them."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from console.supervisor.tools import PROJECT
from tests.console import running
from tests.console.running import Up
from tests.patience import limit

PASSWORD = "a load is not a person"
QUIET_S = 30.0  # past it, and past what a busy machine takes, a request counts as never answered


def person(up: Up, name: str, role: str) -> str:
    """A person with a role on everything; their token."""
    command = ("person", "add", name, "--role", role, "--on", "everything", "--password-stdin", "--token", "load")
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=PROJECT,
        env=running.environment(up.home, up.port),
        input=PASSWORD,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()[-1]


def ask(up: Up, token: str | None, method: str, path: str, body: object = None) -> tuple[int, bytes]:
    """Status and body of one request on a connection of its own."""
    headers = {"Connection": "close", "Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    connection = http.client.HTTPConnection("127.0.0.1", up.port, timeout=limit(QUIET_S))
    with contextlib.closing(connection):
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, response.read()


def answer(up: Up, token: str, method: str, path: str, body: object = None) -> Any:
    """The JSON of an answer of the API that must be a good one."""
    status, found = ask(up, token, method, f"/api/v1{path}", body)
    assert status < 300, (status, found)
    return json.loads(found)


@contextlib.contextmanager
def half_open(up: Up, sent: bytes, count: int) -> Iterator[list[socket.socket]]:
    """So many connections that send so much and no more."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(count):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", up.port), limit(10)))
            connection.sendall(sent)
            made.append(connection)
        yield made


@dataclass
class Load:
    """What callers were answered while the load was on."""

    statuses: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def run(self, act: Callable[[], int], over: threading.Event) -> None:
        """Acts until the load is over. A caller whose connection is ended comes again, as an attacker would."""
        while not over.is_set():
            try:
                self.statuses.append(act())
            except (OSError, http.client.HTTPException) as error:
                self.faults.append(repr(error))


@contextlib.contextmanager
def under(acts: list[Callable[[], int]]) -> Iterator[Load]:
    """All these at once, each again and again, until the block ends."""
    load, over = Load(), threading.Event()
    threads = [threading.Thread(target=load.run, args=(act, over), daemon=True) for act in acts]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        over.set()
        for thread in threads:
            thread.join(limit(QUIET_S))


def timed(act: Callable[[], tuple[int, bytes]]) -> tuple[float, int]:
    """Seconds and status."""
    began = time.monotonic()
    status, _ = act()
    return time.monotonic() - began, status
