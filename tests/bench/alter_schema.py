"""Changes of a schema by the engine against the same ALTER TABLE statements, and the preview of one on a wide table.

`python -m tests.bench.alter_schema --pairs 9`. Each pair alters two copies of one table (hard links), by the engine and raw, in turn
first and second. The preview is that of the request: from the log, without Spark, with the live files mapped.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.commands.alter_schema.rules import AlterSchema
from jobs.domain.engine import Checked, Marks
from jobs.engine.session import job_session
from jobs.worker.spark_engine import Silent, SparkEngine
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tests.bench.convert import seconds
from tests.bench.delete import median
from tests.bench.document import DOCUMENT, put_into
from tests.bench.engines import beside_raw, measured_engine
from tests.bench.models import with_django

if TYPE_CHECKING:
    from jobs.targets.subject import Subject

TITLE = "## Change a schema"
ROWS, WIDTH, TINY_ROWS, TINY_WIDTH = 1_000_000, 1_000, 100, 5


@dataclass(frozen=True, slots=True)
class Case:
    """What is changed, and the statement for it."""

    name: str
    change: Mapping[str, Any]
    statement: str


CASES = (
    Case("a column added", {"add": {"path": "more", "type": "bigint"}}, "ADD COLUMN more BIGINT"),
    Case("a column renamed", {"rename": {"path": "c0", "to": "k0"}}, "RENAME COLUMN c0 TO k0"),
    Case(
        "a constraint", {"add_constraint": {"name": "c", "expression": "id >= 0"}}, "ADD CONSTRAINT c CHECK (id >= 0)"
    ),
)


def write_table(engine: SparkEngine, path: Path, rows: int, width: int) -> None:
    empty = [f"cast(NULL AS int) AS c{number}" for number in range(width)]
    wide = engine.runtime.new_session().range(rows).selectExpr("id", *empty)
    wide.write.format("delta").option("delta.columnMapping.mode", "name").save(str(path))


def subject_at(path: Path) -> Subject:
    """The table as the catalog would hand it over."""
    return mapped_subject(path, mapped(path))


def mapped(path: Path) -> Path:
    """The table's live files, mapped as the catalog keeps them."""
    files = path.parent / "files.arrow"
    open_log(str(path)).snapshot(None, files)
    return files


def mapped_subject(path: Path, files: Path) -> Subject:
    """The table from its mapped live files, which is where a preview begins."""
    with_django()
    from jobs.predicates.table_schema import schema_of
    from jobs.targets.subject import Subject
    from tables.deltalog.state.snapshot import load
    from tables.models import Table

    snapshot = load(files)
    assert snapshot.metadata
    struct = parse_schema(snapshot.metadata.schema_json)
    return Subject(Table(path=str(path), name=path.name), snapshot, snapshot.metadata, struct, schema_of(struct))


def previewed(subject: Subject, case: Case) -> tuple[AlterSchema, dict[str, Any]]:
    """What the request writes down and shows, from the log alone."""
    from jobs.commands.alter_schema.log.preview import from_log

    return from_log(subject, AlterSchema("bench", [case.change]))


class Bench:
    """One warm engine, and the copies of one table."""

    def __init__(self, engine: SparkEngine, source: Path, case: Case) -> None:
        self.engine, self.source, self.case = engine, source, case
        self.runs = 0

    def pair(self, number: int) -> dict[str, float]:
        acts = {"engine": self.by_engine, "raw": self.raw}
        order = sorted(acts, reverse=bool(number % 2))
        return {name: acts[name]() for name in order} | {"preview": self.preview()}

    def preview(self) -> float:
        files = mapped(self.source)
        return seconds(lambda: previewed(mapped_subject(self.source, files), self.case))

    def by_engine(self) -> float:
        path, marks = self._next()
        written, preview = previewed(subject_at(path), self.case)
        found = []
        took = seconds(lambda: found.append(self.engine.run(written, preview, Checked(0), marks, Silent())))
        assert found[0].version == 1, found[0]
        shutil.rmtree(path)
        return took

    def raw(self) -> float:
        path, marks = self._next()
        with job_session(self.engine.runtime, marks) as session:
            took = seconds(lambda: session.sql(f"ALTER TABLE delta.`{path}` {self.case.statement}"))
        shutil.rmtree(path)
        return took

    def _next(self) -> tuple[Path, Marks]:
        self.runs += 1
        path = self.source.parent / f"{self.source.name}-{self.runs}"
        shutil.copytree(self.source, path, copy_function=os.link)
        return path, Marks(job=f"bench-{self.source.name}-{self.case.name}-{self.runs}", attempt=1, digest=None)


def measure(
    engine: SparkEngine, top: Path, pairs: int, rows: int, width: int, cases: Sequence[Case] = CASES
) -> dict[str, list[dict[str, float]]]:
    """The pairs of every case, seconds; the table lies below `top`. A first pair, not counted, compiles what the warm-up didn't."""
    source = top / "wide"
    write_table(engine, source, rows, width)
    runs: dict[str, list[dict[str, float]]] = {}
    for case in cases:
        bench = Bench(engine, source, case)
        if pairs > 1:
            bench.pair(0)
        runs[case.name] = [bench.pair(number) for number in range(pairs)]
    return runs


def measure_tiny(engine: SparkEngine, top: Path) -> dict[str, list[dict[str, float]]]:
    """One pair of the last case on a few rows: proves that the bench runs, its figures mean nothing."""
    return measure(engine, top, 1, TINY_ROWS, TINY_WIDTH, CASES[-1:])


def report(runs: dict[str, list[dict[str, float]]], pairs: int) -> str:
    """The section of the document."""
    lines = [
        f"{TITLE}\n\n`python -m tests.bench.alter_schema`: medians of {pairs} interleaved pairs on copies of a table of {WIDTH:,}"
        f" columns and {ROWS:,} rows, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end, one warm JVM. Raw is the same"
        " ALTER TABLE; the excess is the engine's time less 1.05 × raw. The preview is the request's, from the log alone.\n\n"
        "| change | raw | engine | ratio | excess | bar | preview | bar |\n|---|---|---|---|---|---|---|---|"
    ]
    for name, found in runs.items():
        preview = median(found, lambda run: run["preview"])
        lines.append(f"{beside_raw(name, found)} {preview * 1000:.0f} ms | ≤ 300 ms |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.alter_schema", description=__doc__)
    parser.add_argument("--pairs", type=int, default=9)
    options = parser.parse_args()
    with measured_engine() as (engine, top):
        runs = measure(engine, top, options.pairs, ROWS, WIDTH)
    print(json.dumps(runs))
    section = report(runs, options.pairs)
    print(section)
    put_into(DOCUMENT, section)


if __name__ == "__main__":
    main()
