"""`manage.py cluster` as a person starts it: a Spark cluster, an object store and every part of Levee, and on them the journeys that
come first where docker-compose.yml is proven: people, roots and converts on a disk and in the store, reads and a delete by two on the
disk, a stop and a start. Streams have tests of their own, and their worker starts with the first one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.supervisor.cluster import PARTS, SERVERS
from console.supervisor.tools import PROJECT
from tests.console import running
from tests.console.running import Up
from tests.containers.journeys import Console, Lake, delete_by_two, people, still_there, taken_over

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(900)]

KINDS = ("web", "light", "dispatcher", "interactive", "spark")
NOT_YET = {"prepare", "streams"}  # which ends, and which nothing needs without a stream


@pytest.fixture
def home() -> Iterator[Path]:
    with running.new_home() as made:
        yield made


def console_of(up: Up) -> Console:
    """Where the composition runs a command in a service's container, this runs it beside the parts, with the settings of `web`."""

    def run(*words: str, given: str = "") -> str:
        pairs = Path(f"/proc/{up.pids()['web']}/environ").read_bytes().split(b"\0")
        settings = dict(os.fsdecode(pair).split("=", 1) for pair in pairs if pair)
        settings.pop("LEVEE_PROCESS")  # its log is the part's own
        done = subprocess.run(
            [sys.executable, *words],
            cwd=PROJECT, env=settings, input=given, text=True, stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
        return done.stdout

    def inside(_service: str, _python: str, *words: str, given: str = "") -> str:
        return run(*words, given=given)

    return Console(f"http://127.0.0.1:{up.port}", lambda *words: run("manage.py", *words), inside)


def lake_of(home: Path) -> Lake:
    port = json.loads((home / "cluster.json").read_text())["object_store"]
    return Lake("a-secret", str(home.parent / "lake"), f"http://127.0.0.1:{port}", knows_its_key=False)


def logged(home: Path, process: str, job: str) -> list[dict[str, Any]]:
    """The lines of a process about a job."""
    lines = (home / "logs" / f"{process}.log").read_text().splitlines()
    return [line for line in map(json.loads, filter(lambda line: line[:1] == "{", lines)) if line.get("job") == job]


def test_it_is_worked_with_stopped_and_started_again(home: Path) -> None:
    port = running.free_port()
    with running.running(home, port, "--no-sample", command="cluster") as up:
        console = console_of(up)
        console.await_ready(KINDS)
        people(console)
        known = taken_over(console, lake_of(home))
        known.tables.pop()  # the one in the object store, which is empty at every start
        delete_by_two(console, known, "FR")
        assert set(up.pids()) == {part.name for part in PARTS} - NOT_YET | {*SERVERS}
        tokens, worker = console.tokens, console.api("ola", "GET", f"/jobs/{known.jobs[0]}")["attempts"][0]["worker"]
        assert up.stop() == 0
    assert running.processes_of(home) == {}
    (asked,) = {line["request_id"] for line in logged(home, "web", known.jobs[0])}
    worked = [line for line in logged(home, worker.split("@")[0], known.jobs[0]) if "attempt" in line]
    assert {line["opened_by"] for line in worked} == {asked}, "one request, by the logs of two processes"

    with running.running(home, port, "--no-sample", command="cluster") as up:
        console = console_of(up)
        console.tokens.update(tokens)
        console.await_ready(KINDS)
        still_there(console, known, "DE")
