"""How long a large lake takes to its first catalog: found by a scan, added as it appears, each log read, while somebody looks at pages.

`python -m tests.bench.lake` lays 100,000 Delta tables of one commit, starts a whole `manage.py up` without Spark, and writes the section
"A lake’s first catalog" of docs/benchmarks.md; `--tables N` does it with another number, `--tiny` with a few. Times of pages are the
web's own.
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
from dataclasses import dataclass
from pathlib import Path

from tests.bench.document import DOCUMENT, put_into
from tests.bench.logs import write_commits
from tests.bench.sessions import instance, p95, processor_seconds
from tests.bench.web import Browser
from tests.console import running

TITLE = "## A lake’s first catalog"
FULL, TINY = 100_000, 60
LIMIT_S, BAR_MS = 1_800.0, 100.0  # for 100,000 tables on two cores
AREA = 1_000  # tables of one directory
THINKS = 0.5  # seconds between two pages
PASSWORD = "a bench is not a person"


@dataclass
class Results:
    tables: int
    found_s: float = 0.0
    added_s: float = 0.0
    read_s: float = 0.0
    light_s: float = 0.0  # of a processor
    pages: list[float] | None = None

    @property
    def limit_s(self) -> float:
        """The bar's share of so many tables."""
        return LIMIT_S * self.tables / FULL

    @property
    def holds(self) -> bool:
        return self.read_s <= self.limit_s and p95(self.pages or [0.0]) <= BAR_MS


def lay(lake: Path, tables: int) -> None:
    """One commit for each, and each of a name of its own."""
    write_commits(lake / "model", 1)
    (model,) = (lake / "model" / "_delta_log").glob("*.json")
    commit = model.read_bytes()
    shutil.rmtree(lake / "model")
    for number in range(tables):
        log = lake / f"area{number // AREA:03}" / f"table{number:06}" / "_delta_log"
        log.mkdir(parents=True)
        (log / model.name).write_bytes(commit)


def measure(up: running.Up, lake: Path, tables: int) -> Results:
    """From the request for a scan until every table is in the catalog with its version."""
    import django

    os.environ |= {"LEVEE_HOME": str(up.home), "DJANGO_SETTINGS_MODULE": "console.settings"}
    django.setup()
    from console.accounts.models import Person
    from console.accounts.roles import Role
    from console.audit.actor import Actor
    from tables.catalog.roots import entries as roots
    from tables.catalog.roots import scans
    from tables.models import Finding, Table
    from tests import factories

    person = factories.appointed("looks", Role.VIEWER)
    row = Person.objects.get(pk=person.pk)
    row.set_password(PASSWORD)
    row.save()
    ines = factories.appointed("ines", Role.ADMIN)
    factories.appointed("ines", Role.OPERATOR)
    actor = Actor.acting_for(Person.objects.get(pk=ines.pk))
    root = roots.add_root(actor, "large", str(lake), adds_found=True)
    results, over = Results(tables, pages=[]), threading.Event()
    looks = threading.Thread(target=look, args=(up, results, over))
    looks.start()
    used, began = processor_seconds(up.pids()["light"]), time.monotonic()
    scans.ask_scan(actor, root)
    try:
        mine = Table.objects.filter(root=root)
        steps = (
            ("found_s", Finding.objects.filter(root=root)),
            ("added_s", mine),
            ("read_s", mine.filter(version__isnull=False)),
        )
        for name, rows in steps:
            while rows.count() < tables:
                if time.monotonic() - began > 20 * results.limit_s + 120:
                    sys.exit(f"{rows.count():,} of {tables:,} tables ({name}) after {time.monotonic() - began:.0f} s")
                time.sleep(min(2.0, tables / 1_000))
            setattr(results, name, time.monotonic() - began)
    finally:
        over.set()
        looks.join()
    results.light_s = processor_seconds(up.pids()["light"]) - used
    return results


def look(up: running.Up, results: Results, over: threading.Event) -> None:
    """What a person looks at meanwhile: the list, a search, the roots, a table; the web's own times, in milliseconds."""
    browser, asked = Browser(up, "looks", PASSWORD), 0
    pages = ("/tables/", "/tables/?q=table0000", "/", "/tables/?order=-changed")
    while not over.wait(THINKS):
        _, milliseconds = browser.get(pages[asked % len(pages)])
        asked += 1
        if asked > len(pages) and results.pages is not None:  # the first of each fill what a console at work has filled
            results.pages.append(milliseconds)


def run(tables: int) -> Results:
    place = Path(tempfile.mkdtemp(prefix="levee-bench-"))
    try:
        lay(place / "lake", tables)
        with instance() as up:
            return measure(up, place / "lake", tables)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def report(results: Results) -> str:
    """The section of the document."""
    pages, each = results.pages or [0.0], results.light_s / results.tables * 1000
    lines = [
        ("found by the scan after", results.found_s, ""),
        ("added to the catalog after", results.added_s, ""),
        ("every log read after", results.read_s, f"≤ {results.limit_s:,.0f} s"),
    ]
    rows = [
        f"| {what} | {seconds:,.0f} s | {results.tables / seconds:,.0f} a second | {bar} |"
        for what, seconds, bar in lines
    ]
    what = f"pages meanwhile, p95 (median {statistics.median(pages):.0f} ms)"
    rows.append(f"| {what} | {p95(pages):.0f} ms | {len(pages):,} pages | ≤ {BAR_MS:.0f} ms |")
    return f"""{TITLE}

`python -m tests.bench.lake --tables {results.tables}`: Delta tables of one commit in directories of {AREA:,} below a root that adds what
appears, from the request for its scan on; one light worker, and one person who opens a page every {THINKS} s. {os.cpu_count()} processors,
load {os.getloadavg()[0]:.1f} at the end. For each table the light worker used {each:.1f} ms of a processor.

| {results.tables:,} tables | measured | rate | bar |
|---|---|---|---|
{chr(10).join(rows)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=FULL)
    parser.add_argument("--tiny", action="store_true")
    asked = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("LEVEE_")]:
        del os.environ[name]  # of an instance of the developer's own
    results = run(TINY if asked.tiny else asked.tables)
    section = report(results)
    print(section)
    if not asked.tiny:
        put_into(DOCUMENT, section)
        if not results.holds:
            sys.exit("a bar was missed")


if __name__ == "__main__":
    main()
