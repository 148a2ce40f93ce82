"""What goes on by itself: the dispatcher's look for late commits, and syncs of tables that nobody has changed.

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
import time
from dataclasses import dataclass
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


FULL = Size(jobs=1_000, commits=20_000, logs=5, tables=200, rounds=5)
TINY = Size(jobs=20, commits=30, logs=2, tables=3, rounds=2)


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


def unchanged_syncs(lake: Path, size: Size) -> list[Figure]:
    """Tables of a few commits, synced again and again while nothing changes."""
    from tables.sync import table as sync
    from tests import factories

    root = factories.root_at(lake)
    tables = [factories.table_in(root, f"still{n}") for n in range(size.tables)]
    for table in tables:
        shutil.rmtree(table.path)
        write_commits(Path(table.path), 20)
        sync.sync(table.pk)
    rates = []
    for _ in range(size.rounds):
        seconds = _timed(lambda: [sync.sync(table.pk) for table in tables])
        rates.append(size.tables / seconds)
    return [Figure("syncs of an unchanged table", statistics.median(rates), 100, "a second", at_least=True)]


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
    asked = parser.parse_args()
    figures = run(TINY if asked.tiny else FULL, asked.part or list(PARTS))
    section = report(figures)
    print(section)
    if not asked.tiny and not asked.part:
        put_into(DOCUMENT, section)
    if not asked.tiny and not all(figure.holds for figure in figures):
        sys.exit("a bar was missed")


if __name__ == "__main__":
    main()
