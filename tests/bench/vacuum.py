"""Vacuum: the plan of a large table in a process of its own, and runs by the engine against raw `DeltaTable.vacuum`.

`python -m tests.bench.vacuum --pairs 9`. Each pair vacuums two copies of one table (hard links), by the engine and raw, in turn first and
second. The engine's run makes its plan anew and lists again afterwards; raw does neither.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.bench import logs
from tests.bench.document import DOCUMENT, put_into

TITLE = "## Vacuum"
OLD = 1_600_000_000  # when files without a name in the log were last changed


@dataclass(frozen=True, slots=True)
class Size:
    """`live` files in a checkpoint, `untracked` ones beside them; rows and files of the table that is vacuumed (tiny: a generated one)."""

    live: int
    untracked: int
    rows: int
    files: int


FULL = Size(1_000_000, 200_000, 200_000, 100)
TINY = Size(2_000, 400, 2_000, 4)


def write_large(table: Path, size: Size) -> None:
    """The checkpoint, an empty file for each of its names, and files that it doesn't name."""
    logs.write_checkpoint(table, size.live)
    folders: set[Path] = set()
    for number in range(size.live + size.untracked):
        live = number < size.live
        path = table / (logs.path_of(number) if live else f"day=2020-01-{number % 28 + 1:02d}/left-{number}.parquet")
        if path.parent not in folders:
            path.parent.mkdir(parents=True, exist_ok=True)
            folders.add(path.parent)
        path.touch()
        os.utime(path, (OLD, OLD))


def plan(table: str) -> dict[str, float]:
    """Seconds and peak memory of this process's own preview of a table, with the checks of its directory."""
    from jobs.commands.vacuum.rules import Vacuum
    from jobs.commands.vacuum.spark.run import preview_vacuum
    from jobs.worker.spark_engine import Silent

    session: Any = None  # it asks Spark nothing
    start = time.perf_counter()
    found = preview_vacuum(session, Vacuum("bench", path=table), None, Silent())
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert peak
    return {"seconds": time.perf_counter() - start, "peak_mb": int(peak[1]) / 1024, "files": found.files}


def planned_apart(table: Path) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.vacuum", "--plan", str(table)]
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, float] = json.loads(text.splitlines()[-1])
    return found


class Bench:
    """One warm engine, and the copies of one table whose files are all old."""

    def __init__(self, engine: Any, source: Path) -> None:
        self.engine, self.source, self.runs = engine, source, 0

    def pair(self, number: int) -> dict[str, float]:
        acts = {"engine": self.by_engine, "raw": self.raw}
        order = sorted(acts, reverse=bool(number % 2))
        return {name: acts[name]() for name in order}

    def by_engine(self) -> float:
        from jobs.commands.vacuum.rules import Vacuum
        from jobs.domain.engine import UNCHECKED
        from jobs.worker.spark_engine import Silent
        from tests.bench.convert import seconds

        path, marks = self._next()
        command = Vacuum("bench", path=str(path))
        found = asdict(self.engine.preview(command, None, marks, Silent()))
        preview = {**found, "measured_at_version": found["version"], "class": "ordinary"}
        results = []
        took = seconds(lambda: results.append(self.engine.run(command, preview, UNCHECKED, marks, Silent())))
        assert results[0].details["proven"], results[0]
        shutil.rmtree(path)
        return took

    def raw(self) -> float:
        from delta.tables import DeltaTable

        from jobs.engine.session import job_session
        from tests.bench.convert import seconds

        path, marks = self._next()
        with job_session(self.engine.runtime, marks) as session:
            took = seconds(lambda: DeltaTable.forPath(session, str(path)).vacuum())
        shutil.rmtree(path)
        return took

    def _next(self) -> tuple[Path, Any]:
        from jobs.domain.engine import Marks

        self.runs += 1
        path = self.source.parent / f"{self.source.name}-{self.runs}"
        shutil.copytree(self.source, path, copy_function=os.link)
        return path, Marks(job=f"bench-{self.source.name}-{self.runs}", attempt=1, digest=None)


def write_old(engine: Any, top: Path, size: Size) -> Path:
    """A table whose first files were compacted weeks ago."""
    from delta.tables import DeltaTable

    from tests.bench import delete
    from tests.jobs.commands.vacuum.aged import aged

    session = engine.runtime.new_session()
    delete.write_table(session, top / "new", delete.Case("new", None, ""), size.rows, size.files)
    DeltaTable.forPath(session, str(top / "new")).optimize().executeCompaction()
    return aged(top / "new", top / "old", lambda version: 30 - version)


def measure(engine: Any, source: Path, pairs: int) -> list[dict[str, float]]:
    """The pairs, seconds. A first pair, not counted, compiles what the warm-up didn't."""
    bench = Bench(engine, source)
    if pairs > 1:
        bench.pair(0)
    return [bench.pair(number) for number in range(pairs)]


def report(large: dict[str, float], runs: list[dict[str, float]], size: Size) -> str:
    """The section of the document."""
    from tests.bench.engines import beside_raw, table_beside_raw

    listed = size.live + size.untracked
    return (
        f"{TITLE}\n\n`python -m tests.bench.vacuum`: the plan once, in a process of its own; medians of {len(runs)} interleaved pairs of"
        f" runs on copies of a table of {size.files} old files, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end, one"
        " warm JVM. The engine's run lists before and after, raw does once; the excess is the engine's time less 1.05 × raw.\n\n"
        "| plan | measured | bar |\n|---|---|---|\n"
        f"| {size.live:,} files in the log, {listed:,} in the directory | {large['seconds']:.1f} s | ≤ 60 s |\n"
        f"| peak memory | {large['peak_mb']:.0f} MB | ≤ 400 MB |\n\n"
        f"{table_beside_raw('vacuum')}\n"
        f"{beside_raw(f'{size.files} old files', runs)}\n"
    )


def tiny(engine: Any, top: Path) -> str:
    """One plan and one pair on a few files: proves that the bench runs, its figures mean nothing."""
    from tests.jobs.commands.vacuum.generated import generated

    write_large(top / "large", TINY)
    return report(planned_apart(top / "large"), measure(engine, generated(top / "old", 0, movable=True).path, 1), TINY)


def large_at(size: Size) -> dict[str, float]:
    """The plan of a table of that size."""
    with tempfile.TemporaryDirectory(prefix="levee-bench-") as directory:
        write_large(Path(directory) / "large", size)
        return planned_apart(Path(directory) / "large")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.vacuum", description=__doc__)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--plan", help="plans this table and prints the figures")
    options = parser.parse_args()
    if options.plan:
        print(json.dumps(plan(options.plan)))
        return
    from tests.bench.engines import measured_engine

    large = large_at(FULL)
    with measured_engine() as (engine, top):
        section = report(large, measure(engine, write_old(engine, top, FULL), options.pairs), FULL)
    print(section)
    put_into(DOCUMENT, section)


if __name__ == "__main__":
    main()
