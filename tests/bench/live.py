"""The live `DeltaTableV2` on a warm worker: `python -m tests.bench.live` (`--tiny` for a run that only proves that it runs).

A whole `manage.py up`; tables of several kinds, each asked for the first time, then again at the same version: by other people (Spark
reads it again) and by the same person (the stored answer). Times are a client's, from the request to the whole answer.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from console.supervisor.tools import PROJECT
from tests.bench.document import DOCUMENT, put_into
from tests.bench.web import wait_warm
from tests.console import running
from tests.patience import limit

TITLE = "## The live DeltaTableV2"
FIRST_BAR_S, AGAIN_BAR_MS = 2.0, 400


@dataclass(frozen=True)
class Size:
    each: int  # tables of each kind
    commits: int
    columns: int
    partitions: int
    people: int


FULL, TINY = Size(each=8, commits=120, columns=500, partitions=1_000, people=4), Size(1, 3, 20, 5, 2)


def small(place: Path, size: Size) -> None:
    """One commit of one file."""
    write_deltalake(place, pa.table({"id": [1, 2, 3], "day": ["a", "b", "c"]}), partition_by=["day"])


def long(place: Path, size: Size) -> None:
    """Many commits, a checkpoint among them."""
    for number in range(size.commits):
        write_deltalake(place, pa.table({"id": [number]}), mode="append")
        if number == size.commits // 2:
            DeltaTable(place).create_checkpoint()


def wide(place: Path, size: Size) -> None:
    """Many columns."""
    write_deltalake(place, pa.table({f"column_{n}": [n] for n in range(size.columns)}))


def parted(place: Path, size: Size) -> None:
    """Many partitions, a file in each."""
    rows = pa.table({"p": list(range(size.partitions)), "id": list(range(size.partitions))})
    write_deltalake(place, rows, partition_by=["p"])


KINDS: dict[str, Callable[[Path, Size], None]] = {"small": small, "long": long, "wide": wide, "parted": parted}


def manage(up: running.Up, *arguments: str) -> str:
    """What a command of `manage.py` prints."""
    environment = running.environment(up.home, up.port)
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True).stdout


def people(up: running.Up, count: int) -> list[str]:
    """Tokens of so many operators."""
    given = ("--role", "operator", "--on", "everything", "--token", "bench")
    return [manage(up, "person", "add", f"bench{n}", *given).split()[-1] for n in range(count)]


def call(up: running.Up, token: str, path: str, body: object = None) -> tuple[dict, float]:
    """The answer and the seconds until all of it was here."""
    data = json.dumps(body).encode() if body is not None else None
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{up.port}/api/v1{path}", data=data, headers=headers)
    began = time.perf_counter()
    with urllib.request.urlopen(request, timeout=limit(30)) as response:
        answer = response.read()
    return json.loads(answer), time.perf_counter() - began


def live(up: running.Up, token: str, table: str, version: int | None = None) -> float:
    """Seconds until the live object was answered."""
    asked = "" if version is None else f"&version={version}"
    answer, seconds = call(up, token, f"/tables/{table}/deltatable?wait=60{asked}")
    assert answer["capabilities"], answer
    return seconds


def add_tables(up: running.Up, token: str, lake: Path, size: Size) -> list[tuple[str, int]]:
    """Ids and versions of tables of every kind, in turns."""
    found = []
    for number in range(size.each):
        for kind, write in KINDS.items():
            place = lake / f"{kind}_{number}"
            write(place, size)
            table = call(up, token, "/tables", {"path": str(place)})[0]
            found.append((table["id"], table["version"]))
    return found


def measure(size: Size) -> dict[str, list[float]]:
    """Seconds by how it was asked."""
    took: dict[str, list[float]] = {"first": [], "again": [], "version": [], "stored": []}
    with running.new_home() as home, running.running(home, running.free_port(), LEVEE_UP_WITHOUT="spark") as up:
        lake = home.parent / "lake"
        lake.mkdir()
        manage(up, "root", "add", "bench", str(lake))
        first, *others = people(up, 1 + size.people)
        tables = add_tables(up, first, lake, size)
        wait_warm(up, ("interactive",), time.monotonic())
        for table, version in tables:
            took["first"].append(live(up, first, table))
            for token in others:
                took["again"].append(live(up, token, table))
                took["version"].append(live(up, token, table, version))
            took["stored"].append(live(up, first, table))
    return took


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]


def report(took: dict[str, list[float]], size: Size) -> str:
    """The section of the document."""

    def line(what: str, name: str, bar: str) -> str:
        values = [1000 * value for value in took[name]]
        return f"| {what} | {len(values)} | {statistics.median(values):.0f} ms | {p95(values):.0f} ms | {max(values):.0f} ms | {bar} |"

    rows = "\n".join(
        (
            line("first time", "first", f"each ≤ {FIRST_BAR_S:g} s"),
            line("again, another person, the head", "again", f"p95 ≤ {AGAIN_BAR_MS} ms"),
            line("again, another person, by its version", "version", f"p95 ≤ {AGAIN_BAR_MS} ms"),
            line("again, the same person (the stored answer)", "stored", f"p95 ≤ {AGAIN_BAR_MS} ms"),
        )
    )
    kinds = f"{size.commits} commits, {size.columns} columns, {size.partitions:,} partitions, or small"
    return (
        f"{TITLE}\n\n`python -m tests.bench.live`, {4 * size.each} tables ({kinds}) on a warm `interactive` worker with 2 processors; "
        "a client's time, from the request (`?wait=60`) to the whole answer.\n\n"
        f"| asked | times | median | p95 | most | bar |\n|---|---|---|---|---|---|\n{rows}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true")
    size = TINY if parser.parse_args().tiny else FULL
    section = report(measure(size), size)
    print(section)
    if size == FULL:
        put_into(DOCUMENT, section)


if __name__ == "__main__":
    main()
