"""Delete by the engine against raw `DeltaTable.delete` with the same settings: every branch of a small table, a part of a large one.

`python -m tests.bench.delete --pairs 9 --large-pairs 3`. Each pair deletes from two copies of one table (hard links), by the engine and
raw, in turn first and second.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from jobs.commands.delete.rules import Delete
from jobs.domain.engine import Checked, Marks
from jobs.domain.predicates.schema import Field, Schema
from jobs.domain.predicates.stored import from_json, to_json
from jobs.engine.predicates import column_of
from jobs.engine.session import job_session
from jobs.engine.versions import MAX_COMMIT_ATTEMPTS
from jobs.predicates.reading import parse
from jobs.worker.spark_engine import Silent, SparkEngine
from tests.bench.convert import seconds
from tests.bench.document import DOCUMENT, put_into
from tests.bench.engines import BAR, beside_raw, measured_engine, table_beside_raw

TITLE = "## Delete"
SCHEMA = Schema((Field("id", "bigint"), Field("a", "double"), Field("p", "int")))
VECTORS = {"delta.enableDeletionVectors": "true"}
FILES, LARGE_FILES = 20, 500
# Four random doubles to a row are 32 bytes that no codec makes smaller.
ROWS, LARGE_ROWS, TINY_ROWS = 200_000, 32_000_000, 2_000
LARGE = "rewrite of a part of 1 GB in 500 files"


@dataclass(frozen=True, slots=True)
class Case:
    """One branch: the table's properties and what is deleted. `expected` is what the result must say."""

    name: str
    predicate: str | None
    expected: str
    properties: tuple[tuple[str, str], ...] = ()
    strict: bool = False


CASES = (
    Case("whole table", None, "metadata_only", strict=True),
    Case("one partition", "p = 1", "metadata_only"),
    Case("deletion vectors", "id % 100 = 7", "deletion_vectors", tuple(VECTORS.items())),
    Case("rewrite", "id % 100 = 7", "rewrite"),
    Case("nothing", "id = -1", "nothing"),
)


def large_case(rows: int) -> Case:
    return Case(LARGE, f"id < {rows // 10} AND id % 100 = 7", "rewrite")


def write_table(session: SparkSession, path: Path, case: Case, rows: int, files: int) -> None:
    """`rows` rows in `files` files, by ranges of id, in two partitions."""
    half = rows // 2
    frame = session.range(0, rows, 1, files).selectExpr(
        "id", "rand(1) AS a", "rand(2) AS b", "rand(3) AS c", "rand(4) AS d", f"cast(id >= {half} AS int) AS p"
    )
    frame.write.format("delta").partitionBy("p").options(**dict(case.properties)).save(str(path))


class Bench:
    """One warm engine, and the copies of one table."""

    def __init__(self, engine: SparkEngine, source: Path, case: Case) -> None:
        self.engine, self.source, self.case = engine, source, case
        self.tree = None if case.predicate is None else to_json(parse(case.predicate, SCHEMA))
        self.runs = 0

    def pair(self, number: int) -> dict[str, float]:
        figures: dict[str, float] = {}

        def levee() -> None:
            figures["engine"] = self.by_engine()

        def raw() -> None:
            figures["raw"] = self.raw()

        for act in (levee, raw) if number % 2 else (raw, levee):
            act()
        return figures

    def by_engine(self) -> float:
        path, marks = self._next()
        command = Delete("bench", self.case.predicate, str(path), self.tree)
        checked = Checked(0, self.case.strict)
        found = []
        took = seconds(lambda: found.append(self.engine.run(command, {}, checked, marks, Silent())))
        assert found[0].details["branch"] == self.case.expected, found[0]
        shutil.rmtree(path)
        return took

    def raw(self) -> float:
        path, marks = self._next()
        with job_session(self.engine.runtime, marks) as session:
            if self.case.strict:
                session.conf.set(MAX_COMMIT_ATTEMPTS, "0")
            condition = None if self.tree is None else column_of(from_json(self.tree), session)
            took = seconds(lambda: DeltaTable.forPath(session, str(path)).delete(condition))
        shutil.rmtree(path)
        return took

    def _next(self) -> tuple[Path, Marks]:
        self.runs += 1
        path = self.source.parent / f"{self.source.name}-{self.runs}"
        shutil.copytree(self.source, path, copy_function=os.link)
        return path, Marks(job=f"bench-{self.source.name}-{self.runs}", attempt=1, digest=None)


def measure(
    engine: SparkEngine, top: Path, pairs: int, large_pairs: int, rows: int, large_rows: int
) -> dict[str, list[dict[str, float]]]:
    """The pairs of every case, seconds; the tables lie below `top`."""
    runs = {case.name: run(engine, top / "small", case, pairs, rows, FILES) for case in CASES}
    large = large_case(large_rows)
    files = LARGE_FILES if large_rows == LARGE_ROWS else FILES
    runs[large.name] = run(engine, top / "large", large, large_pairs, large_rows, files)
    return runs


def measure_tiny(engine: SparkEngine, top: Path) -> dict[str, list[dict[str, float]]]:
    """One pair of each case on a few rows: proves that the bench runs, its figures mean nothing."""
    return measure(engine, top, 1, 1, TINY_ROWS, TINY_ROWS)


def run(engine: SparkEngine, top: Path, case: Case, pairs: int, rows: int, files: int) -> list[dict[str, float]]:
    """The pairs of one case; a first one, not counted, compiles what the warm-up's tiny table didn't."""
    source = top / case.name.replace(" ", "-")
    write_table(engine.runtime.new_session(), source, case, rows, files)
    bench = Bench(engine, source, case)
    if pairs > 1:
        bench.pair(0)
    found = [bench.pair(number) for number in range(pairs)]
    shutil.rmtree(top)
    return found


def median(runs: list[dict[str, float]], figure: Callable[[dict[str, float]], float]) -> float:
    return statistics.median(figure(run) for run in runs)


def report(runs: dict[str, list[dict[str, float]]], pairs: int, large_pairs: int) -> str:
    """The section of the document."""
    lines = [
        f"{TITLE}\n\n`python -m tests.bench.delete`: medians of {pairs} interleaved pairs on copies of a table of {FILES} files"
        f" ({large_pairs} pairs of the large one), {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end, one warm JVM."
        " Raw is `DeltaTable.delete` with the same settings; the excess is the engine's time less 1.05 × raw.\n\n"
        f"{table_beside_raw('delete')}"
    ]
    for name, found in runs.items():
        lines.append(beside_raw(name, found, "ratio ≤ 1.05" if name == LARGE else BAR))
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.delete", description=__doc__)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--large-pairs", type=int, default=3)
    options = parser.parse_args()
    with measured_engine() as (engine, top):
        runs = measure(engine, top, options.pairs, options.large_pairs, ROWS, LARGE_ROWS)
    print(json.dumps(runs))
    section = report(runs, options.pairs, options.large_pairs)
    print(section)
    put_into(DOCUMENT, section)


if __name__ == "__main__":
    main()
