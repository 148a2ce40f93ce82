"""What goes on by itself: the dispatcher's look for late commits, and the light worker's syncs, most of which find nothing new.

`python -m tests.bench.background` writes 100,000 commits and the section "What goes on by itself" of docs/benchmarks.md; `--tiny` does the
same steps small.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests import servers
from tests.bench.audit import LARGE, Figure, migrated
from tests.bench.document import DOCUMENT, put_into
from tests.bench.logs import write_commits

TITLE = "## What goes on by itself"
NEWER = 5  # commits after each job's base version


@dataclass(frozen=True)
class Size:
    jobs: int
    commits: int  # of each of the long logs
    logs: int
    tables: int  # that are synced
    rounds: int


FULL = Size(jobs=1_000, commits=20_000, logs=5, tables=5_000, rounds=5)
TINY = Size(jobs=20, commits=30, logs=2, tables=8, rounds=2)


def late_commits(lake: Path, size: Size) -> list[Figure]:
    """Jobs that failed just now, each on a table that has moved on by a few commits since its preview."""
    from django.utils import timezone

    from jobs.dispatcher import late_commits as late
    from jobs.domain.states import State
    from jobs.lifecycle import endings
    from jobs.models import Job
    from tests import factories

    root, who = factories.root_at(lake), factories.appointed()
    tables = [factories.table_in(root, f"long{n}") for n in range(size.logs)]
    for table in tables:
        shutil.rmtree(table.path)
        write_commits(Path(table.path), size.commits)
    for number in range(size.jobs):
        at = tables[number % len(tables)]
        factories.job_on(
            at, who, state=State.FAILED, error={"code": "x"}, finished_at=timezone.now(), claimed_at=timezone.now(),
            base_version=size.commits - 1 - NEWER,
        )  # fmt: skip
    look = late.LateCommits()
    first = _timed(look)
    later = statistics.median(_timed(look) for _ in range(size.rounds))
    job = Job.objects.all()[0]
    one = _timed(lambda: endings.committed(job))
    what = f"{size.jobs:,} jobs that failed within the hour, tables of {size.commits:,} commits"
    return [
        Figure(f"look for late commits: {what}, {NEWER} newer each, first round", first * 1000, 1_000, "ms"),
        Figure("the same, each later round", later * 1000, 200, "ms"),
        Figure("one job's mark, looked for when its worker is lost", one * 1000, 200, "ms"),
    ]


def _timed(act: Any) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


# First syncs: two workers at their bar read 100,000 tables in half an hour.
COMMITS = 20  # of each table that is synced
SINGLE = 100  # tables that are synced one by one, as after a change
WORKERS = 2


def unchanged_syncs(lake: Path, size: Size) -> list[Figure]:
    """Tables of a few commits, read once and synced again and again while nothing changes, by what the light worker does in its loop."""
    from jobs.worker import light_work
    from tables.models import Table
    from tables.sync import table as sync

    tables = _new_tables(lake, size)
    first, first_cpu = _rate(lambda: _drain(light_work.one), size.tables)
    if Table.objects.filter(version=COMMITS - 1).count() < size.tables:
        sys.exit("a table was not read")
    rounds = [_again(size, lambda: _drain(light_work.one)) for _ in range(size.rounds)]
    shared = [_again(size, lambda: _side_by_side(light_work.one)) for _ in range(size.rounds)]
    some = tables[:SINGLE]
    single, single_cpu = _rate(lambda: [sync.sync(table.pk) for table in some], len(some))
    what = f"{size.tables:,} tables of {COMMITS} commits"
    each = "ms of the worker’s processor time each"
    return [
        Figure(f"first syncs, one light worker: {what}; {first_cpu:.1f} {each}", first, 28, "a second", at_least=True),
        _typical(f"syncs of unchanged tables, one light worker: {what}", rounds, 400),
        _typical(f"the same, {WORKERS} threads of a light worker", shared, 400),
        Figure(f"the same read one by one in full; {single_cpu:.1f} {each}", single, 20, "a second", at_least=True),
    ]


def _typical(what: str, rounds: list[tuple[float, float]], bar: float) -> Figure:
    """The median round, with its processor time: the machine may have other work."""
    rate = statistics.median(rate for rate, _ in rounds)
    cpu = statistics.median(cpu for _, cpu in rounds)
    return Figure(f"{what}; {cpu:.2f} ms of the worker’s processor time each", rate, bar, "a second", at_least=True)


def _new_tables(lake: Path, size: Size) -> list[Any]:
    """Entries of the catalog that have never been synced, and are due."""
    from django.utils import timezone

    from tables.models import SyncTimes
    from tests import factories

    root = factories.root_at(lake)
    tables = [factories.table_in(root, f"still{n:06}") for n in range(size.tables)]
    write_commits(lake / "model", COMMITS)
    for table in tables:
        shutil.copytree(lake / "model", table.path, dirs_exist_ok=True)
    SyncTimes.objects.update(next_sync_at=timezone.now())
    return tables


def _again(size: Size, act: Any) -> tuple[float, float]:
    """Tables a second, and milliseconds of processor time for each, when all are due at once. Every one is noted once."""
    from django.utils import timezone

    from tables.models import SyncTimes

    began = timezone.now()
    SyncTimes.objects.update(next_sync_at=began)
    figures = _rate(act, size.tables)
    if SyncTimes.objects.filter(synced_at__gt=began, next_sync_at__gt=began).count() < size.tables:
        sys.exit("a table was not synced")
    return figures


def _rate(act: Any, count: int) -> tuple[float, float]:
    cpu = time.process_time()
    seconds = _timed(act)
    return count / seconds, (time.process_time() - cpu) / count * 1000


def _drain(one: Any) -> None:
    while one("light@bench"):
        pass


def _side_by_side(one: Any) -> None:
    from django.db import connection

    def work() -> None:
        _drain(one)
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


PARTS = {"late_commits": late_commits, "unchanged_syncs": unchanged_syncs}


def run(size: Size, parts: list[str]) -> list[Figure]:
    """Each part on a lake of its own, with one database."""
    figures: list[Figure] = []
    home = servers.prepare_environment()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    import django

    django.setup()
    place = Path(tempfile.mkdtemp(prefix="levee-bench-"))
    try:
        with migrated(home, LARGE):
            for name in parts:
                (place / name).mkdir()
                figures += PARTS[name](place / name, size)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        servers.remove(home)
    return figures


def report(figures: list[Figure]) -> str:
    """The section of the document."""
    rows = "\n".join(map(str, figures))
    how = (
        f"`python -m tests.bench.background` on {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end."
    )
    return f"{TITLE}\n\n{how}\n\n| what | measured | bar |\n|---|---|---|\n{rows}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--part", action="append", choices=list(PARTS))
    parser.add_argument("--tables", type=int, help="how many tables are synced; 5,000 without it")
    asked = parser.parse_args()
    size = TINY if asked.tiny else FULL
    figures = run(replace(size, tables=asked.tables or size.tables), asked.part or list(PARTS))
    section = report(figures)
    print(section)
    if not asked.tiny and not asked.part:
        put_into(DOCUMENT, section)
    if not asked.tiny and not all(figure.holds for figure in figures):
        sys.exit("a bar was missed")


if __name__ == "__main__":
    main()
