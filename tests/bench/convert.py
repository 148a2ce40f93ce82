"""Convert and inspection of many small partitioned files, against raw `DeltaTable.convertToDelta` with the same settings.

`python -m tests.bench.convert --files 5000 --pairs 7`. Each pair converts and inspects the same files (hard links) by the engine and
raw, in turn first and second. `--cluster` measures on a Spark cluster, `--tiny` proves only that the bench runs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from delta.tables import DeltaTable
from pyarrow import parquet

from jobs.commands.convert.rules import Convert
from jobs.domain.engine import UNCHECKED, Marks
from jobs.domain.results import Inspection
from jobs.engine.session import job_session
from jobs.worker.spark_engine import Silent, SparkEngine
from tests.bench import cluster
from tests.bench.document import DOCUMENT, figures_of, put_into, table
from tests.bench.engines import measured_engine

TITLE, ON_CLUSTER = "## Convert", "## Convert on a cluster"
SCHEMA = "day date, shop int"
SHOPS = 10


def write_files(top: Path, files: int) -> None:
    """`files` files of 20 rows under day=…/shop=…, five files to a directory."""
    table = pa.table({"id": list(range(20)), "amount": [1.5] * 20, "text": [f"row {n}" for n in range(20)]})
    for number in range(files):
        day, rest = divmod(number // 5, SHOPS)
        directory = top / f"day=2024-{1 + day // 28 % 12:02}-{1 + day % 28:02}" / f"shop={rest}"
        directory.mkdir(parents=True, exist_ok=True)
        parquet.write_table(table, directory / f"part-{number:05}.parquet")


def linked(source: Path, target: Path) -> Path:
    """The same files in a new directory: every run finds a directory that Delta has never seen."""
    shutil.copytree(source, target, copy_function=os.link)
    return target


def seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


class Bench:
    """One warm engine and the directories of a run."""

    def __init__(self, engine: SparkEngine, source: Path) -> None:
        self.engine, self.source = engine, source
        self.runs = 0

    def raw(self) -> float:
        path, marks = self._next()
        with job_session(self.engine.runtime, marks) as session:
            return seconds(lambda: DeltaTable.convertToDelta(session, f"parquet.`{path}`", SCHEMA))

    def inspection(self) -> tuple[float, Inspection, Convert, Marks]:
        path, marks = self._next()
        command = Convert(str(path), None, "parquet", SCHEMA)
        start = time.perf_counter()
        found = self.engine.preview(command, None, marks, Silent())
        assert isinstance(found, Inspection)
        return time.perf_counter() - start, found, command, marks

    def pair(self, number: int) -> dict[str, float]:
        took, found, command, marks = self.inspection()
        assert not found.refusals, found.refusals
        figures = {"inspect": took}

        def levee() -> None:
            figures["engine"] = seconds(lambda: self.engine.run(command, found.as_json(), UNCHECKED, marks, Silent()))

        def raw() -> None:
            figures["raw"] = self.raw()

        for act in (levee, raw) if number % 2 else (raw, levee):
            act()
        return figures

    def _next(self) -> tuple[Path, Marks]:
        self.runs += 1
        path = linked(self.source, self.source.parent / f"run-{self.runs}")
        return path, Marks(job=f"bench-{self.runs}", attempt=1, digest=None)


def measure(engine: SparkEngine, top: Path, files: int, pairs: int) -> dict[str, float]:
    """Medians in seconds and ratios to raw; the directories lie below `top`."""
    write_files(top / "source", files)
    bench = Bench(engine, top / "source")
    if pairs > 1:
        bench.pair(0)  # the first large one compiles what the warm-up's small one didn't
    runs = [bench.pair(number) for number in range(pairs)]
    print(json.dumps(runs))
    medians = {name: statistics.median(run[name] for run in runs) for name in ("raw", "engine", "inspect")}
    return {
        **medians,
        "engine/raw": statistics.median(run["engine"] / run["raw"] for run in runs),
        "inspect/raw": statistics.median(run["inspect"] / run["raw"] for run in runs),
    }


def report(figures: dict[str, float], files: int, pairs: int, embedded: dict[str, list[str]] | None = None) -> str:
    """The section of the document; with the `embedded` figures that of a cluster."""
    title, option, how = (TITLE, "", "") if embedded is None else (ON_CLUSTER, " --cluster", f" {cluster.ON},")
    rows = (
        ("raw", f"{figures['raw']:.1f} s", ""),
        ("convert / raw", f"{figures['engine/raw']:.2f}", "≤ 1.05"),
        ("inspection / raw", f"{figures['inspect/raw']:.2f}", "≤ 0.5"),
    )
    return (
        f"{title}\n\n`python -m tests.bench.convert{option}`: {files:,} small partitioned files,{how} medians of"
        f" {pairs} interleaved pairs on {os.cpu_count()} processors, one warm JVM."
        " Raw is `DeltaTable.convertToDelta` with the same settings.\n\n"
        f"{table(rows, embedded)}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.convert", description=__doc__)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--tiny", action="store_true")
    cluster.add_argument(parser)
    options = parser.parse_args()
    files, pairs = (100, 1) if options.tiny else (options.files, options.pairs)
    with cluster.running(options.cluster) as on, measured_engine(on) as (engine, top):
        figures = measure(engine, top, files, pairs)
    section = report(figures, files, pairs, figures_of(DOCUMENT, TITLE) if on else None)
    print(section)
    if not options.tiny:
        put_into(DOCUMENT, section, beside=TITLE if on else "")


if __name__ == "__main__":
    main()
