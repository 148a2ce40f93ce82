"""A whole instance on a disk that fills up: named, refused in words, nothing acknowledged is lost, and all goes on by itself."""

import contextlib
import http
import http.client
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from console.base.disks import FULL_BYTES
from console.supervisor.tools import PROJECT
from tests import small_disks
from tests.console import running
from tests.console.running import Up
from tests.patience import limit, wait_for

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("up")]

Answer = tuple[int, dict[str, Any]]

ROUNDS = 40 if os.environ.get("LEVEE_SOAK_SIZE") == "full" else 1
DISK_MIB = 512  # PostgreSQL's data, its log, and the bound below which nothing new is taken


@pytest.fixture
def home_beside() -> Iterator[Path]:
    with running.new_home() as path:
        yield path


@pytest.fixture
def disk() -> Iterator[Path]:
    with small_disks.small_disk(DISK_MIB) as place:
        yield place


def token(up: Up) -> str:
    """Of a new admin, made at the command line."""
    who = ["ada", "--role", "admin", "--on", "everything"]
    scopes = [part for scope in ("read", "request", "admin") for part in ("--scope", scope)]
    done = subprocess.run(
        [sys.executable, "manage.py", "person", "add", *who, "--token", "test", *scopes],
        cwd=PROJECT,
        env=running.environment(up.home, up.port),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip().splitlines()[-1]


class Caller:
    """Asks the instance's API as one person."""

    def __init__(self, up: Up, token: str) -> None:
        self.up, self.token = up, token

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.up.port, timeout=limit(15))
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def add(self, name: str) -> tuple[int, dict[str, Any]]:
        """A change that must be recorded."""
        return self.call("POST", "/api/v1/people", {"name": name})

    def people(self) -> set[str]:
        found: set[str] = set()
        address: str | None = "/api/v1/people?limit=500"
        while address:
            status, body = self.call("GET", address)
            assert status == http.HTTPStatus.OK, body
            found |= {row["name"] for row in body["results"]}
            address = body["next"]
        return found


def ready(up: Up, *names: str) -> bool:
    try:
        parts = up.health()[1]
    except OSError:
        return False
    return all(parts[name]["state"] == "ready" for name in names)


def test_a_full_home_is_named_refused_in_words_and_survived(disk):
    home = disk / "home"
    with running.running(home, running.free_port(), "--no-sample") as up:
        wait_for(lambda: ready(up, "light", "dispatcher"), "the workers are ready", told=up.health)
        caller = Caller(up, token(up))
        assert caller.add("before")[0] == http.HTTPStatus.CREATED
        it_is_refused_before_the_end_is_reached(caller, disk)
        everything_dies_on_a_disk_without_space(up, caller, disk)
        small_disks.relieve(disk)
        wait_for(
            lambda: ready(up, "database", "redis", "web", "light", "dispatcher"),
            "everything is ready again",
            told=up.health,
        )
        assert up.health()[0] == http.HTTPStatus.OK
        assert caller.add("after")[0] == http.HTTPStatus.CREATED
        assert {"before", "after"} <= caller.people()
        small_disks.fill(disk)
        assert up.stop() == 0
    assert running.processes_of(home) == {}
    small_disks.fill(disk)  # PostgreSQL's end may give some of its log back
    refused_in_one_line(home)


def test_nothing_acknowledged_is_lost_while_the_disk_fills_up_under_load(disk):
    """Again and again, at whatever moment: what was answered 201 is there, and every refusal names the disk."""
    home = disk / "home"
    with running.running(home, running.free_port(), "--no-sample") as up:
        wait_for(lambda: ready(up, "light", "dispatcher"), "the workers are ready", told=up.health)
        load = Load(Caller(up, token(up)))
        for _ in range(ROUNDS):
            with load.running():
                wait_for(load.goes_on(), "the load goes on", told=lambda: load.last)
                small_disks.fill(disk)
                wait_for(lambda: load.is_refused, "the load is refused", told=lambda: load.last)
                small_disks.relieve(disk)
                wait_for(load.goes_on(), "the load goes on", told=lambda: load.last)
            assert load.odd == []
            assert load.acknowledged <= load.caller.people()


@pytest.mark.long
def test_a_full_temporary_directory_is_named_and_survived(home_beside, disk):
    with running.running(home_beside, running.free_port(), "--no-sample", TMPDIR=str(disk)) as up:
        caller = Caller(up, token(up))
        small_disks.fill(disk)
        status, parts = up.health()
        assert (status, parts["disk"]["place"], parts["disk"]["state"]) == (200, "temporary", "full")
        assert caller.add("meanwhile")[0] == http.HTTPStatus.CREATED
        os.kill(up.pids()["postgres"], signal.SIGKILL)
        wait_for(lambda: not ready(up, "database"), "the database is gone")
        small_disks.relieve(disk)
        wait_for(lambda: ready(up, "database", "redis", "web"), "everything is ready again", told=up.health)
        assert caller.add("after")[0] == http.HTTPStatus.CREATED
        assert {"meanwhile", "after"} <= caller.people()


class Load:
    """Somebody who asks for one change after the other, and remembers what was answered."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.acknowledged: set[str] = set()
        self.odd: list[tuple[int, dict[str, Any]]] = []
        self.last: tuple[int, dict[str, Any]] | None = None
        self._number = itertools.count()
        self._stop = threading.Event()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        self._stop.clear()
        thread = threading.Thread(target=self._ask_for_ever)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    @property
    def is_refused(self) -> bool:
        return self.last is not None and self.last[0] == http.HTTPStatus.SERVICE_UNAVAILABLE

    def goes_on(self) -> Callable[[], bool]:
        """Whether something more than now was acknowledged."""
        before = len(self.acknowledged)
        return lambda: len(self.acknowledged) > before

    def _ask_for_ever(self) -> None:
        while not self._stop.is_set():
            name = f"person{next(self._number)}"
            try:
                self.last = self.caller.add(name)
            except (OSError, http.client.HTTPException):
                continue  # web was started again: nothing was answered
            if self.last[0] == http.HTTPStatus.CREATED:
                self.acknowledged.add(name)
            elif self.last[1].get("code") not in ("disk_full", "database_down"):
                self.odd.append(self.last)


def it_is_refused_before_the_end_is_reached(caller: Caller, disk: Path) -> None:
    """What is left is kept for what was accepted: PostgreSQL still writes, and pages are read."""
    small_disks.fill(disk, leave=FULL_BYTES // 2)
    status, parts = caller.up.health()
    assert (status, parts["disk"]["state"], parts["disk"]["place"]) == (503, "full", "home")
    assert parts["database"]["state"] == "ready"
    status, problem = caller.add("refused")
    assert (status, problem["code"], problem["disk"]) == (503, "disk_full", "home"), problem
    assert problem["detail"].startswith("LEVEE_HOME's disk is full")
    assert "refused" not in caller.people()


def everything_dies_on_a_disk_without_space(up: Up, caller: Caller, disk: Path) -> None:
    """`up` outlives the death of every program, though it can write nothing down; what it answers still names the disk."""
    small_disks.fill(disk)
    for name in ("light", "redis", "postgres", "web"):
        os.kill(up.pids()[name], signal.SIGKILL)
    wait_for(lambda: says_that_the_disk_is_full(up), "the full disk is told")
    status, problem = answered(partial(caller.add, "refused as well"))
    assert (status, problem["code"]) == (503, "disk_full"), problem
    assert up.process.poll() is None, up.printed


def says_that_the_disk_is_full(up: Up) -> bool:
    try:
        status, parts = up.health()
    except OSError:
        return False  # web is being started again
    return status == http.HTTPStatus.SERVICE_UNAVAILABLE and parts["disk"]["state"] == "full"


def answered(ask: Callable[[], Answer]) -> Answer:
    """The first answer: a process of web that lost its parent goes without one, and takes who it has accepted along."""
    answers: list[Answer] = []

    def asked() -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            answers.append(ask())
        return bool(answers)

    wait_for(asked, "the page answers")
    return answers[0]


def refused_in_one_line(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "up", "--no-sample"],
        cwd=PROJECT,
        env=running.environment(home, running.free_port()),
        capture_output=True,
        text=True,
        timeout=limit(45),
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Levee can't start. LEVEE_HOME: "), done.stderr
    assert re.search("No space left on device|its disk is full", done.stderr), done.stderr
    assert len(done.stderr.splitlines()) == 1
