"""Clones by the engine: a shallow one against Spark's own `SHALLOW CLONE` statement, a deep one against a plain copy of the files.

`python -m tests.bench.clone --pairs 9`. Each pair clones one table twice, by the engine and raw, in turn first and second. The copy beside
a deep clone is for information: it makes no table.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from pathlib import Path

from jobs.commands.clone.rules import DEPTHS, Clone, Depth
from jobs.domain.engine import UNCHECKED, Marks
from jobs.engine.session import job_session
from jobs.worker.spark_engine import Silent, SparkEngine
from tests.bench import delete
from tests.bench.convert import seconds
from tests.bench.document import DOCUMENT, put_into
from tests.bench.engines import BAR, beside_raw, measured_engine, table_beside_raw

TITLE = "## Clone"
ROWS, FILES = 2_000_000, 400
TINY_ROWS, TINY_FILES = 2_000, 4


class Bench:
    """One warm engine, and the table that is cloned."""

    def __init__(self, engine: SparkEngine, source: Path, depth: Depth) -> None:
        self.engine, self.source, self.depth = engine, source, depth
        self.runs = 0

    def pair(self, number: int) -> dict[str, float]:
        acts = {"engine": self.by_engine, "raw": self.raw}
        order = sorted(acts, reverse=bool(number % 2))
        return {name: acts[name]() for name in order}

    def by_engine(self) -> float:
        target, marks = self._next()
        target.mkdir()
        command = Clone("bench", str(target), self.depth, 0, str(self.source), str(target), "many")
        found = []
        took = seconds(lambda: found.append(self.engine.run(command, {}, UNCHECKED, marks, Silent())))
        assert found[0].operation == "CLONE", found[0]
        shutil.rmtree(target)
        return took

    def raw(self) -> float:
        target, marks = self._next()
        if self.depth == "deep":
            took = seconds(lambda: shutil.copytree(self.source, target))
        else:
            with job_session(self.engine.runtime, marks) as session:
                statement = f"CREATE TABLE delta.`{target}` SHALLOW CLONE delta.`{self.source}`"
                took = seconds(lambda: session.sql(statement).collect())
        shutil.rmtree(target)
        return took

    def _next(self) -> tuple[Path, Marks]:
        self.runs += 1
        path = self.source.parent / f"{self.depth}-{self.runs}"
        return path, Marks(job=f"bench-{self.depth}-{self.runs}", attempt=1, digest=None)


def measure(engine: SparkEngine, top: Path, pairs: int, rows: int, files: int) -> dict[str, list[dict[str, float]]]:
    """The pairs of both kinds, seconds; the table lies below `top`. A first pair, not counted, compiles what the warm-up didn't."""
    source = top / "many"
    delete.write_table(engine.runtime.new_session(), source, delete.Case("many", None, ""), rows, files)
    runs: dict[str, list[dict[str, float]]] = {}
    for depth in DEPTHS:
        bench = Bench(engine, source, depth)
        if pairs > 1:
            bench.pair(0)
        runs[depth] = [bench.pair(number) for number in range(pairs)]
    return runs


def measure_tiny(engine: SparkEngine, top: Path) -> dict[str, list[dict[str, float]]]:
    """One pair of each kind on a few rows: proves that the bench runs, its figures mean nothing."""
    return measure(engine, top, 1, TINY_ROWS, TINY_FILES)


def report(runs: dict[str, list[dict[str, float]]], pairs: int) -> str:
    """The section of the document."""
    lines = [
        f"{TITLE}\n\n`python -m tests.bench.clone`: medians of {pairs} interleaved pairs on a table of {FILES} files,"
        f" {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end, one warm JVM. Raw is the statement `SHALLOW CLONE`"
        " for a shallow one; for a deep one a copy of the directory by one thread, which makes no table.\n\n"
        f"{table_beside_raw('clone')}"
    ]
    for name, found in runs.items():
        lines.append(beside_raw(name, found, BAR if name == "shallow" else "for information"))
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.clone", description=__doc__)
    parser.add_argument("--pairs", type=int, default=9)
    options = parser.parse_args()
    with measured_engine() as (engine, top):
        runs = measure(engine, top, options.pairs, ROWS, FILES)
    print(json.dumps(runs))
    section = report(runs, options.pairs)
    print(section)
    put_into(DOCUMENT, section)


if __name__ == "__main__":
    main()
