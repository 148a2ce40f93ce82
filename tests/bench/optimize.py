"""Optimize by the engine against raw `DeltaTable.optimize` with the same settings: compaction of many files, of a partition, a Z-order.

`python -m tests.bench.optimize --pairs 9`. Each pair optimizes two copies of one table (hard links), by the engine and raw, in turn
first and second.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from delta.tables import DeltaTable

from jobs.commands.optimize.rules import Optimize
from jobs.domain.engine import Checked, Marks
from jobs.domain.predicates.schema import Field, Schema
from jobs.domain.predicates.stored import to_json
from jobs.engine.session import job_session
from jobs.predicates.reading import parse
from jobs.worker.spark_engine import Silent, SparkEngine
from tests.bench import delete
from tests.bench.convert import seconds
from tests.bench.document import DOCUMENT, put_into
from tests.bench.engines import beside_raw, measured_engine, table_beside_raw

TITLE = "## Optimize"
SCHEMA = Schema((Field("p", "int"),))
ROWS, FILES = 200_000, 100
TINY_ROWS, TINY_FILES = 2_000, 4


@dataclass(frozen=True, slots=True)
class Case:
    """What is optimized."""

    name: str
    predicate: str | None = None
    zorder_by: tuple[str, ...] = ()


CASES = (Case("small files"), Case("one partition", "p = 1"), Case("Z-order", None, ("id",)))


class Bench:
    """One warm engine, and the copies of one table."""

    def __init__(self, engine: SparkEngine, source: Path, case: Case) -> None:
        self.engine, self.source, self.case = engine, source, case
        self.tree = None if case.predicate is None else to_json(parse(case.predicate, SCHEMA))
        self.runs = 0

    def pair(self, number: int) -> dict[str, float]:
        acts = {"engine": self.by_engine, "raw": self.raw}
        order = sorted(acts, reverse=bool(number % 2))
        return {name: acts[name]() for name in order}

    def by_engine(self) -> float:
        path, marks = self._next()
        case = self.case
        command = Optimize("bench", case.predicate, list(case.zorder_by) or None, path=str(path), tree=self.tree)
        found = []
        took = seconds(lambda: found.append(self.engine.run(command, {}, Checked(0), marks, Silent())))
        assert found[0].operation == "OPTIMIZE", found[0]
        shutil.rmtree(path)
        return took

    def raw(self) -> float:
        path, marks = self._next()
        with job_session(self.engine.runtime, marks) as session:
            took = seconds(lambda: self._optimized(DeltaTable.forPath(session, str(path))))
        shutil.rmtree(path)
        return took

    def _optimized(self, table: DeltaTable) -> None:
        builder = table.optimize()
        if self.case.predicate is not None:
            builder = builder.where(self.case.predicate)
        if self.case.zorder_by:
            builder.executeZOrderBy(*self.case.zorder_by)
        else:
            builder.executeCompaction()

    def _next(self) -> tuple[Path, Marks]:
        self.runs += 1
        path = self.source.parent / f"{self.source.name}-{self.runs}"
        shutil.copytree(self.source, path, copy_function=os.link)
        return path, Marks(job=f"bench-{self.source.name}-{self.runs}", attempt=1, digest=None)


def measure(engine: SparkEngine, top: Path, pairs: int, rows: int, files: int) -> dict[str, list[dict[str, float]]]:
    """The pairs of every case, seconds; the table lies below `top`. A first pair, not counted, compiles what the warm-up didn't."""
    source = top / "many"
    delete.write_table(engine.runtime.new_session(), source, delete.Case("many", None, ""), rows, files)
    runs: dict[str, list[dict[str, float]]] = {}
    for case in CASES:
        bench = Bench(engine, source, case)
        if pairs > 1:
            bench.pair(0)
        runs[case.name] = [bench.pair(number) for number in range(pairs)]
    return runs


def measure_tiny(engine: SparkEngine, top: Path) -> dict[str, list[dict[str, float]]]:
    """One pair of each case on a few rows: proves that the bench runs, its figures mean nothing."""
    return measure(engine, top, 1, TINY_ROWS, TINY_FILES)


def report(runs: dict[str, list[dict[str, float]]], pairs: int) -> str:
    """The section of the document."""
    lines = [
        f"{TITLE}\n\n`python -m tests.bench.optimize`: medians of {pairs} interleaved pairs on copies of a table of {FILES} files,"
        f" {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end, one warm JVM. Raw is `DeltaTable.optimize` with the"
        " same settings; the excess is the engine's time less 1.05 × raw.\n\n"
        f"{table_beside_raw('optimize')}"
    ]
    return "\n".join([*lines, *(beside_raw(name, found) for name, found in runs.items())]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.optimize", description=__doc__)
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
