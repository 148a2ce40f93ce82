"""One reader can't stop the others: a viewer's worst, all of it at once, beside somebody who uses the console.

`make soak` plays it for ten minutes with Spark; the tests play 20 seconds without (deep conditions, waits, half-open connections). The
times of ordinary use are printed; `make soak` holds them against their bars.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from console.supervisor.tools import PROJECT
from tests.console import loading, running
from tests.console.running import Up
from tests.patience import wait_for

pytestmark = [pytest.mark.servers, pytest.mark.timeout(0)]

FULL = os.environ.get("LEVEE_SOAK_SIZE") == "full"
SECONDS = 600.0 if FULL else 20.0
WITHOUT = "" if FULL else "spark,interactive"
WARM_S = 75.0
PAGE_BAR_S, READ_BAR_S = 1.0, 90.0
BOMB_ROWS = 50_000_000
DEEP = [
    "id = " + "+".join(["1"] * 100),
    "id = " + "(" * 100 + "1" + ")" * 100,
    "CAST(id AS " + "(" * 100,
    " OR ".join(["id = 1"] * 4000),
    "NOT " * 500 + "id = 1",
    "name LIKE '" + "%a" * 500 + "b'",
]
HALVES = [b"", b"GET / HTTP/1.1\r\nHost: h", b"POST /sign-in/ HTTP/1.1\r\nContent-Length: 99\r\n\r\nuser"]

Times = dict[str, list[float]]


@pytest.fixture
def lake() -> Iterator[Path]:
    """A table of long texts, one of which a file is a pipe, and a small file that unfolds to many rows."""
    with running.new_home() as home:
        place = home.parent / "lake"
        place.mkdir(mode=0o755)
        texts = pa.table({"id": list(range(200)), "name": ["a" * 20_000] * 200})
        for name in ("texts", "pipe", "plain"):
            write_deltalake(str(place / name), texts if name == "texts" else texts.slice(0, 3))
        if FULL:
            write_deltalake(str(place / "bomb"), pa.table({"id": pa.nulls(BOMB_ROWS, pa.int64())}))
        yield place


@pytest.fixture
def up(lake: Path) -> Iterator[Up]:
    home = lake.parent / "home"
    with running.running(home, running.free_port(), "--no-sample", LEVEE_UP_WITHOUT=WITHOUT) as made:
        parts = ("light", "interactive") if FULL else ("light",)
        wait_for(lambda: all(made.health()[1][p]["state"] == "ready" for p in parts), "the parts are ready", WARM_S)
        yield made


def tables(up: Up, lake: Path) -> dict[str, str]:
    """The lake's tables in the catalog, by name."""
    subprocess.run(
        [sys.executable, "manage.py", "root", "add", "lake", str(lake)],
        cwd=PROJECT,
        env=running.environment(up.home, up.port),
        check=True,
        capture_output=True,
    )
    operator = loading.person(up, "olga", "operator")
    found = {
        place.name: loading.answer(up, operator, "POST", "/tables", {"path": str(place)})["id"]
        for place in lake.iterdir()
    }
    for file in (lake / "pipe").glob("*.parquet"):
        file.unlink()
        os.mkfifo(file)
    return found


def worst(up: Up, token: str, ids: dict[str, str]) -> list[Callable[[], int]]:
    """What one viewer asks for at once, again and again."""

    def rows(table: str, wait: int, predicate: str | None = None) -> Callable[[], int]:
        body = {"limit": 1000, "predicate": predicate} if predicate else {"limit": 1000}
        path = f"/api/v1/tables/{ids[table]}/rows?wait={wait}"
        return lambda: loading.ask(up, token, "POST", path, body)[0]

    acts = [rows("plain", 0, text) for text in DEEP] + [rows("plain", 20)] * 40
    if FULL:
        like = "name LIKE '" + "%a" * 12 + "%b'"
        acts += [rows("texts", 20, like)] * 4 + [rows("pipe", 20)] * 4 + [rows("bomb", 20, "id = 1")] * 4
    return acts


def ordinary(up: Up, token: str, table: str, times: Times) -> None:
    """What another person does meanwhile: everything is answered."""
    pages = ("/health/live", "/health/ready", "/sign-in/", "/api/v1/tables", f"/api/v1/tables/{table}")
    for path in pages:
        seconds, status = loading.timed(lambda path=path: loading.ask(up, token, "GET", path))  # type: ignore[misc]
        assert status == 200, (path, status)
        times[path.replace(table, "ID")].append(seconds)
    if FULL:
        times["a read"].append(read(up, token, table))


def read(up: Up, token: str, table: str) -> float:
    """Seconds until the other person's rows are there. Their own question each time: none is joined."""
    began = time.monotonic()
    question = {"limit": 3, "predicate": f"id < {1000 + time.time_ns() % 10**9}"}
    status, body = loading.ask(up, token, "POST", f"/api/v1/tables/{table}/rows?wait=60", question)
    while status == 202:
        found = json.loads(body)
        status, body = loading.ask(up, token, "GET", f"{found['result_url']}?wait=60")
    assert status == 200, body
    return time.monotonic() - began


def told(times: Times) -> dict[str, float]:
    """Prints and gives the time that 95 of 100 took at most."""
    slowest = {name: sorted(taken)[int(len(taken) * 0.95)] for name, taken in times.items()}
    for name, taken in times.items():
        print(f"{name}: {len(taken)} times, 95 of 100 in {slowest[name]:.2f} s, longest {max(taken):.2f} s")
    return slowest


def test_one_reader_cant_stop_the_others(lake: Path, up: Up) -> None:
    ids = tables(up, lake)
    viewer, other = loading.person(up, "vera", "viewer"), loading.person(up, "otto", "viewer")
    times: Times = defaultdict(list)
    with contextlib.ExitStack() as stack:
        load = stack.enter_context(loading.under(worst(up, viewer, ids)))
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            with contextlib.ExitStack() as halves:
                for sent in HALVES:
                    halves.enter_context(loading.half_open(up, sent, 60))
                ordinary(up, other, ids["plain"], times)
    slowest = told(times)
    print(f"the load: {len(load.statuses)} answers, {len(load.faults)} without one")
    assert load.statuses
    assert {status for status in load.statuses if status >= 500} <= {503, 504}
    if FULL:
        assert {
            name: took for name, took in slowest.items() if took > (READ_BAR_S if name == "a read" else PAGE_BAR_S)
        } == {}
