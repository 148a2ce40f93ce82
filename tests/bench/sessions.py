"""Fifty people at work at once: `python -m tests.bench.sessions` (`--tiny` for a run that only proves that it runs).

A whole `manage.py up` without Spark, a catalog of 100,000 tables loaded by COPY, 300 jobs and 30 requests that await approval. Each session
signs in as a person of its own, asks for a page of some kind, thinks for five to ten seconds, and goes on. Times are the client's: from
the request to the last byte. It writes the section "Fifty sessions" of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import threading
import time
import urllib.error
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from console.base.processes import group_members
from console.supervisor.home import open_home
from tests import servers
from tests.bench import catalog
from tests.bench.document import DOCUMENT, put_into
from tests.bench.web import Browser, private_mb
from tests.console import running
from tests.patience import wait_for

TITLE = "## Fifty sessions"
BAR_MS = 200.0
WEB_MB, LIGHT_MB = 150.0, 200.0
PASSWORD = "a bench is not a person"
READY_S = 30.0


@dataclass(frozen=True)
class Size:
    catalog: catalog.Size
    jobs: int
    awaiting: int
    sessions: int
    seconds: float
    thinks: tuple[float, float]
    first: int  # pages of each session whose times don't count: caches that a console at work has filled


FULL = Size(catalog.Size(100_000, 1_000_000, 50_000, 0), 300, 30, 50, 150.0, (5.0, 10.0), 3)
TINY = Size(catalog.Size(200, 2_000, 500, 0), 12, 4, 3, 8.0, (0.05, 0.1), 0)


@dataclass
class Seen:
    """What the sessions were answered."""

    times: dict[str, list[float]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    asked: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, milliseconds: float) -> None:
        with self.lock:
            self.times.setdefault(kind, []).append(milliseconds)

    def count(self) -> None:
        with self.lock:
            self.asked += 1

    def fail(self, what: str) -> None:
        with self.lock:
            self.faults.append(what)


def fill(home: str, size: Size) -> list[str]:
    """The catalog, its people and jobs; the jobs' ids. The instance is at work meanwhile: none of the tables is due for a sync."""
    import django

    os.environ |= {"LEVEE_HOME": home, "DJANGO_SETTINGS_MODULE": "console.settings"}
    django.setup()
    from django.contrib.auth.hashers import make_password
    from django.db import connection, connections

    from console.accounts.models import Person
    from console.accounts.roles import Role
    from jobs.domain.states import State
    from tables.models import Root, SyncTimes, Table
    from tests import factories

    catalog.load(size.catalog)
    SyncTimes.objects.update(next_sync_at=None)
    password = make_password(PASSWORD)
    for number in range(size.sessions):
        person = factories.person_named(f"session{number}")
        for root in Root.objects.filter(uri__startswith="/bench/"):
            for role in (Role.VIEWER, Role.APPROVER):
                factories.GrantFactory(person=person, role=role, root=root)
    Person.objects.filter(name__startswith="session").update(password=password)
    opened = open_home(Path(home))
    servers.set_trigger(opened, "jobs_job", "job_begins", on=False)  # jobs are entered in any state
    states = [State.AWAITING_APPROVAL] * size.awaiting + [State.SUCCEEDED, State.SUCCEEDED, State.FAILED] * (
        size.jobs // 3
    )
    asker = factories.person_named("asker")
    ids = []
    for place, state in enumerate(states):
        table = Table.objects.get(pk=uuid.UUID(int=1 + place % size.catalog.tables))
        ids.append(str(factories.job(state, table=table, requested_by=asker).pk))
    servers.set_trigger(opened, "jobs_job", "job_begins", on=True)
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from tables_table")
        count = cursor.fetchone()[0]
    connections.close_all()
    if count < size.catalog.tables:
        sys.exit(f"{count} tables were loaded")
    return ids


def pages(size: Size, jobs: list[str]) -> dict[str, Callable[[random.Random], str]]:
    """Kind → an address of that kind."""
    tables = size.catalog.tables

    def table(dice: random.Random) -> uuid.UUID:
        return uuid.UUID(int=1 + dice.randrange(tables))

    filters = ("", "?order=-size", "?order=-changed", "?health=small_files", "?format=delta&order=-size")
    return {
        "home": lambda _: "/",
        "table list, with filters": lambda dice: "/tables/" + dice.choice(filters),
        "search": lambda dice: (
            f"/tables/?q={dice.choice((*catalog.WORDS, f'{dice.randrange(tables):06}', 'order_id'))}"
        ),
        "table": lambda dice: f"/tables/{table(dice)}/",
        "history": lambda dice: f"/tables/{dice.choice((table(dice), uuid.UUID(int=1)))}/history/",
        "jobs": lambda dice: "/jobs/" + dice.choice(("", "?state=failed", "?command=convert")),
        "one job": lambda dice: f"/jobs/{dice.choice(jobs)}/",
        "approvals": lambda _: "/approvals/",
    }


def session(browser: Browser, number: int, size: Size, jobs: list[str], seen: Seen, until: float) -> None:
    """One person's, to the end of the bench."""
    dice = random.Random(number)
    kinds = list(pages(size, jobs).items())
    asked = 0
    time.sleep(dice.uniform(0, size.thinks[1]))
    while time.monotonic() < until:
        kind, address = kinds[(number + asked) % len(kinds)]
        path = address(dice)
        began = time.perf_counter()
        try:
            browser.get(path)
        except (OSError, AssertionError) as error:
            status = f" {error.code}" if isinstance(error, urllib.error.HTTPError) else ""
            seen.fail(f"{path}:{status} {error!r}"[:200])
        asked += 1
        seen.count()
        if asked > size.first:
            seen.add(kind, (time.perf_counter() - began) * 1000)
        time.sleep(dice.uniform(*size.thinks))


def visit(up: running.Up, size: Size, jobs: list[str]) -> Seen:
    """All sessions at once, once everybody is signed in."""
    browsers = [Browser(up, f"session{number}", PASSWORD) for number in range(size.sessions)]
    seen, until = Seen(), time.monotonic() + size.seconds
    threads = [
        threading.Thread(target=session, args=(browser, number, size, jobs, seen, until))
        for number, browser in enumerate(browsers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


@contextmanager
def instance() -> Iterator[running.Up]:
    """One without Spark, whose light worker and dispatcher are at work."""
    without = {"LEVEE_UP_WITHOUT": "spark,interactive,streams"}
    with running.new_home() as home, running.running(home, running.free_port(), "--no-sample", **without) as up:
        wait_for(lambda: up.health()[1]["light"]["state"] == "ready", "the light worker is ready", READY_S, every_s=0.5)
        yield up


def memory(up: running.Up) -> dict[str, float]:
    """Private megabytes of the largest web worker and of the light worker, once nobody asks any more."""
    pids = up.pids()
    web = [private_mb(pid) for pid in group_members(pids["web"]) if pid != pids["web"]]
    return {
        "a web worker, idle after the sessions": max(web),
        "the light worker, idle": sum(private_mb(pid) for pid in group_members(pids["light"])),
    }


@dataclass(frozen=True)
class Results:
    seen: Seen
    memory: dict[str, float]
    processor_ms: float  # of the web processes, for each page

    @property
    def p95(self) -> dict[str, float]:
        return {kind: p95(times) for kind, times in self.seen.times.items()}

    @property
    def holds(self) -> bool:
        small = all(value <= bar for value, bar in zip(self.memory.values(), (WEB_MB, LIGHT_MB), strict=True))
        return not self.seen.faults and small and max(self.p95.values()) <= BAR_MS


def processor_seconds(leader: int) -> float:
    """What the processes of a group have used, which other work on the machine lengthens less than their answers."""
    stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in group_members(leader)]
    return sum(int(each[11]) + int(each[12]) for each in stats) / os.sysconf("SC_CLK_TCK")


def p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def run(size: Size) -> Results:
    """The whole bench."""
    with instance() as up:
        jobs = fill(str(up.home), size)
        began = processor_seconds(up.pids()["web"])
        seen = visit(up, size, jobs)
        time.sleep(2)
        used = processor_seconds(up.pids()["web"]) - began
        return Results(seen, memory(up), used * 1000 / max(seen.asked, 1))


def report(size: Size, results: Results) -> str:
    """The section of docs/benchmarks.md."""
    every = [each for times in results.seen.times.values() for each in times]
    rows = [
        f"| {kind} | {len(times)} | {statistics.median(times):.0f} ms | {p95(times):.0f} ms | ≤ {BAR_MS:.0f} ms |"
        for kind, times in results.seen.times.items()
    ]
    rows.append(f"| all | {len(every)} | {statistics.median(every):.0f} ms | {p95(every):.0f} ms | ≤ {BAR_MS:.0f} ms |")
    sizes = "; ".join(
        f"{what} {value:.0f} MB (bar: {bar:.0f})"
        for (what, value), bar in zip(results.memory.items(), (WEB_MB, LIGHT_MB), strict=True)
    )
    return f"""{TITLE}

`python -m tests.bench.sessions`: {size.sessions} signed-in people for {size.seconds:.0f} s, each thinking {size.thinks[0]:.0f} to
{size.thinks[1]:.0f} s between pages, on a catalog of {size.catalog.tables:,} tables and {size.catalog.commits:,} commits with
{size.jobs + size.awaiting} jobs; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end. Times are the client's.
Errors: {len(results.seen.faults)}. The web processes took {results.processor_ms:.0f} ms of a processor for each page, sign-ins among
them. Memory: {sizes}.

| page | asked | median | p95 | bar (p95) |
|---|---|---|---|---|
{chr(10).join(rows)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--dry", action="store_true", help="full size, and the document stays as it is")
    asked = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("LEVEE_")]:
        del os.environ[name]  # of an instance of the developer's own
    size = TINY if asked.tiny else FULL
    results = run(size)
    section = report(size, results)
    print(section, *results.seen.faults[:20], sep="\n")
    if not asked.tiny and not asked.dry:
        put_into(DOCUMENT, section)
    if results.seen.faults or (not asked.tiny and not results.holds):
        sys.exit("a bar was missed")


if __name__ == "__main__":
    main()
