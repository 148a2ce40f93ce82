"""Reorg by the engine against raw `REORG TABLE … APPLY (PURGE)` with the same settings, of a table with deletion vectors.

`python -m tests.bench.reorg --pairs 9`. Each pair purges two copies of one table (hard links), by the engine and raw, in turn first
and second.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from pathlib import Path

from jobs.commands.reorg.rules import Reorg
from jobs.domain.engine import Checked, Marks
from jobs.engine.session import job_session
from jobs.worker.spark_engine import Silent, SparkEngine
from tests.bench import delete
from tests.bench.convert import seconds
from tests.bench.document import DOCUMENT, put_into
from tests.bench.engines import beside_raw, measured_engine, table_beside_raw

TITLE = "## Reorg"
ROWS, FILES = 200_000, 100
TINY_ROWS, TINY_FILES = 2_000, 4
VECTORS = "ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"


class Bench:
    """One warm engine, and the copies of one table."""

    def __init__(self, engine: SparkEngine, source: Path, version: int) -> None:
        self.engine, self.source, self.version = engine, source, version
        self.runs = 0

    def pair(self, number: int) -> dict[str, float]:
        acts = {"engine": self.by_engine, "raw": self.raw}
        order = sorted(acts, reverse=bool(number % 2))
        return {name: acts[name]() for name in order}

    def by_engine(self) -> float:
        path, marks = self._next()
        found = []
        command = Reorg("bench", path=str(path))
        took = seconds(lambda: found.append(self.engine.run(command, {}, Checked(self.version), marks, Silent())))
        assert found[0].operation == "REORG", found[0]
        shutil.rmtree(path)
        return took

    def raw(self) -> float:
        path, marks = self._next()
        with job_session(self.engine.runtime, marks) as session:
            took = seconds(lambda: session.sql(f"REORG TABLE delta.`{path}` APPLY (PURGE)").collect())
        shutil.rmtree(path)
        return took

    def _next(self) -> tuple[Path, Marks]:
        self.runs += 1
        path = self.source.parent / f"{self.source.name}-{self.runs}"
        shutil.copytree(self.source, path, copy_function=os.link)
        return path, Marks(job=f"bench-{self.source.name}-{self.runs}", attempt=1, digest=None)


def measure(engine: SparkEngine, top: Path, pairs: int, rows: int, files: int) -> list[dict[str, float]]:
    """The pairs, seconds; the table lies below `top`. A first pair, not counted, compiles what the warm-up didn't."""
    source, session = top / "worn", engine.runtime.new_session()
    delete.write_table(session, source, delete.Case("worn", None, ""), rows, files)
    session.sql(VECTORS.format(path=source))
    session.sql(f"DELETE FROM delta.`{source}` WHERE id % 7 = 0")
    bench = Bench(engine, source, 2)
    if pairs > 1:
        bench.pair(0)
    return [bench.pair(number) for number in range(pairs)]


def measure_tiny(engine: SparkEngine, top: Path) -> list[dict[str, float]]:
    """One pair on a few rows: proves that the bench runs, its figures mean nothing."""
    return measure(engine, top, 1, TINY_ROWS, TINY_FILES)


def report(runs: list[dict[str, float]], pairs: int) -> str:
    """The section of the document."""
    return (
        f"{TITLE}\n\n`python -m tests.bench.reorg`: medians of {pairs} interleaved pairs on copies of a table of {FILES} files with"
        f" deletion vectors, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end, one warm JVM. Raw is `REORG TABLE …"
        " APPLY (PURGE)` with the same settings; the excess is the engine's time less 1.05 × raw.\n\n"
        f"{table_beside_raw('reorg')}\n"
        f"{beside_raw('purge', runs)}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.reorg", description=__doc__)
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
