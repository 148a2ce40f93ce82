"""How fast one light worker syncs tables to which nothing has happened, on an S3 that answers each request after 30 ms.

`python -m tests.bench.far_syncs` measures at full size and writes "Syncs over S3" of docs/benchmarks.md; `--tiny` runs the same steps on
a few tables. A request takes the store's time whatever else the machine does, and the worker's processor time is given beside.
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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests import servers
from tests.bench import slow_store
from tests.bench.audit import LARGE, Figure, migrated
from tests.bench.document import DOCUMENT, put_into
from tests.bench.logs import write_commits

TITLE = "## Syncs over S3"
DELAY_MS = 30
COMMITS = 20  # of each table


@dataclass(frozen=True)
class Size:
    tables: int
    rounds: int


FULL = Size(tables=1_000, rounds=5)
TINY = Size(tables=20, rounds=1)


def measure(lake: Path, size: Size) -> list[Figure]:
    """Rounds in which all tables are due and none has changed, after their first syncs."""
    from django.utils import timezone

    from console.accounts.roles import Role
    from console.audit.actor import Actor
    from jobs.worker import light_work
    from tables.catalog.roots import entries as roots
    from tables.catalog.roots.object_stores import description_of
    from tables.models import SyncTimes
    from tests import factories

    write_commits(lake / "model", COMMITS)
    names = [f"still{number:06}" for number in range(size.tables)]
    for name in names:
        shutil.copytree(lake / "model", lake / name)
    with slow_store.serving(lake, DELAY_MS) as address:
        ines = Actor.acting_for(factories.appointed("ines", Role.ADMIN))
        storage = {"endpoint": address, "key_id": "bench", "secret": "bench"}
        root = roots.add_root(ines, "far", f"s3://{slow_store.BUCKET}", storage=description_of(storage))
        for name in names:
            factories.TableFactory(root=root, name=name)
        SyncTimes.objects.update(next_sync_at=timezone.now())
        first_syncs(light_work.one)
        rounds = [again(size.tables, lambda: drain(light_work.one)) for _ in range(size.rounds)]
    rate, cpu = (statistics.median(values) for values in zip(*rounds, strict=True))
    what = f"syncs of unchanged tables, one light worker: {size.tables:,} tables of {COMMITS} commits"
    return [
        Figure(f"{what}; {cpu:.2f} ms of the worker’s processor time each", rate, 300, "a second", at_least=True),
    ]


def first_syncs(one: Callable[[str], bool]) -> None:
    """Side by side: they aren't measured, and each waits for the store most of the time."""
    from django.db import connection

    def work() -> None:
        drain(one)
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def drain(one: Callable[[str], bool]) -> None:
    while one("light@bench"):
        pass


def again(tables: int, act: Callable[[], None]) -> tuple[float, float]:
    """Tables a second, and milliseconds of processor time for each, when all are due at once. Every one is noted, and none read."""
    from django.utils import timezone

    from tables.models import SyncTimes

    began, before = timezone.now(), dict(SyncTimes.objects.values_list("pk", "quiet_syncs"))
    SyncTimes.objects.update(next_sync_at=began)
    cpu, started = time.process_time(), time.perf_counter()
    act()
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    after = dict(SyncTimes.objects.filter(synced_at__gt=began).values_list("pk", "quiet_syncs"))
    if after != {pk: quiet + 1 for pk, quiet in before.items()}:
        sys.exit("a table was not synced, or not found unchanged")
    return tables / seconds, cpu / tables * 1000


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
            return measure(place / "lake", size)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        servers.remove(home)


def report(figures: list[Figure]) -> str:
    """The section of the document."""
    how = (
        f"`python -m tests.bench.far_syncs`: a store that answers each request after {DELAY_MS} ms, "
        f"on {os.cpu_count()} processors under a load average of {os.getloadavg()[0]:.1f}."
    )
    rows = "\n".join(map(str, figures))
    return f"{TITLE}\n\n{how}\n\n| what | measured | bar |\n|---|---|---|\n{rows}\n"


def main() -> None:
    """Prints the figures; at full size they go into the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true")
    size = TINY if parser.parse_args().tiny else FULL
    figures = run(size)
    text = report(figures)
    print(text)
    if size is FULL:
        put_into(DOCUMENT, text)
        if not all(figure.holds for figure in figures):
            sys.exit("a bar was missed")


if __name__ == "__main__":
    main()
