"""How fast a large lake comes into the catalog: its scan, and the addition of all that it found.

`python -m tests.bench.additions` lays 5,000 Delta tables and writes the section "A large lake comes in" of docs/benchmarks.md; `--tiny`
does the same steps with 40.
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

TITLE = "## A large lake comes in"


@dataclass(frozen=True)
class Size:
    tables: int
    commits: int  # of each


FULL = Size(tables=5_000, commits=3)
TINY = Size(tables=40, commits=2)


def figures_of(lake: Path, size: Size) -> list[Figure]:
    """Scans the lake, and adds what the scan found, as the light worker does."""
    from console.accounts.roles import Role
    from console.audit.actor import Actor
    from tables.catalog.adding import bulk as bulk_additions
    from tables.catalog.roots import scans
    from tables.models import Table
    from tests import factories

    write_commits(lake / "model", size.commits)
    for number in range(size.tables - 1):
        shutil.copytree(lake / "model", lake / f"area{number % 50:02}" / f"table{number:06}")
    root = factories.root_at(lake)
    actor = Actor.acting_for(factories.person_with(Role.OPERATOR))
    scanning = _timed(lambda: _all(lambda: not scans.scan_root(root.pk)["complete"]))
    asking = _timed(lambda: bulk_additions.request(actor, root))
    batches: list[float] = []
    cpu = time.process_time()
    adding = _timed(lambda: _all(lambda: _batch(bulk_additions.work_next, batches)))
    cpu = time.process_time() - cpu
    if Table.objects.count() != size.tables:
        sys.exit(f"{Table.objects.count()} tables were added, not {size.tables}")
    return [
        Figure(f"a scan of {size.tables:,} tables: tables", size.tables / scanning, 500, "a second", at_least=True),
        Figure("the request to add them all", asking * 1000, 2_000, "ms"),
        Figure("tables added, each with its event in the audit", size.tables / adding, 100, "a second", at_least=True),
        Figure("the light worker's processor time for each, PostgreSQL's aside", cpu / size.tables * 1000, 5, "ms"),
        Figure(f"a batch of {bulk_additions.BATCH}, median", statistics.median(batches) * 1000, 1_000, "ms"),
    ]


def _batch(work: Any, batches: list[float]) -> bool:
    started = time.perf_counter()
    is_done: bool = work()
    batches.append(time.perf_counter() - started)
    return is_done


def _all(act: Any) -> None:
    while act():
        pass


def _timed(act: Any) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def run(size: Size) -> list[Figure]:
    """With a database and a lake of its own."""
    home = servers.prepare_environment()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    import django

    django.setup()
    place = Path(tempfile.mkdtemp(prefix="levee-bench-"))
    try:
        with migrated(home, LARGE):
            (place / "lake").mkdir()
            return figures_of(place / "lake", size)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        servers.remove(home)


def report(size: Size, figures: list[Figure]) -> str:
    """The section of the document."""
    load = os.getloadavg()[0]
    head = f"{TITLE}\n\n`python -m tests.bench.additions`: {size.tables:,} Delta tables of {size.commits} commits in 50 directories, "
    machine = (
        f"on {os.cpu_count()} processors under a load average of {load:.1f}. Logs are read afterwards, as syncs.\n\n"
    )
    return head + machine + "| what | measured | bar |\n|---|---|---|\n" + "\n".join(map(str, figures)) + "\n"


def main() -> None:
    """Prints the figures; at full size they go into the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true")
    size = TINY if parser.parse_args().tiny else FULL
    figures = run(size)
    text = report(size, figures)
    print(text)
    if size is FULL:
        put_into(DOCUMENT, text)
        if not all(figure.holds for figure in figures):
            sys.exit("a bar is missed")


if __name__ == "__main__":
    main()
