"""Changes of properties by the engine against the same ALTER TABLE statements, and the previews of properties and features on a large log.

`python -m tests.bench.properties --pairs 9`. Each pair changes two copies of one table (hard links), by the engine and raw, in turn first
and second. The previews are those of the request: from the log, without Spark, with the live files mapped.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.commands.drop_feature.rules import DropFeature
from jobs.commands.set_properties.rules import SetProperties
from jobs.domain.engine import Checked, Marks
from jobs.engine.session import job_session
from jobs.worker.spark_engine import Silent, SparkEngine
from tests.bench import logs
from tests.bench.convert import seconds
from tests.bench.document import DOCUMENT, put_into
from tests.bench.engines import beside_raw, measured_engine, table_beside_raw
from tests.bench.models import with_django

TITLE = "## Properties"
FILES, TINY_FILES, TIMES = 1_000_000, 2_000, 9
VECTORS = {"delta.enableDeletionVectors": "true"}
OWN = {"team": "finance"}


@dataclass(frozen=True, slots=True)
class Case:
    """What is set, and the statement for it."""

    name: str
    given: Mapping[str, str]

    @property
    def statement(self) -> str:
        pairs = ", ".join(f"'{name}' = '{value}'" for name, value in self.given.items())
        return f"ALTER TABLE delta.`{{path}}` SET TBLPROPERTIES ({pairs})"


CASES = (Case("deletion vectors on", VECTORS), Case("a property of one’s own", OWN))


def previews_of(path: Path) -> Mapping[str, Callable[[], Any]]:
    """What previews a change of the table: from its mapped live files, as the catalog would hand them over, to the answer."""
    with_django()
    from jobs.commands.drop_feature import log as dropped
    from jobs.commands.set_properties.log import preview as changed
    from jobs.predicates.table_schema import schema_of
    from jobs.targets.subject import Subject
    from tables.deltalog.replay.log import open_log
    from tables.deltalog.rules.schema import parse_schema
    from tables.deltalog.state.snapshot import load
    from tables.models import Table

    files = path.parent / f"{path.name}.arrow"
    open_log(str(path)).snapshot(None, files)

    def subject() -> Subject:
        snapshot = load(files)
        assert snapshot.metadata
        struct = parse_schema(snapshot.metadata.schema_json)
        return Subject(Table(path=str(path), name=path.name), snapshot, snapshot.metadata, struct, schema_of(struct))

    return {
        "deletion vectors on": lambda: changed.from_log(subject(), SetProperties("bench", VECTORS)),
        "a property of one’s own": lambda: changed.from_log(subject(), SetProperties("bench", OWN)),
        "a feature dropped": lambda: dropped.from_log(subject(), DropFeature("bench", "checkConstraints")),
    }


def measure_previews(top: Path, files: int, times: int = TIMES) -> dict[str, list[float]]:
    """Seconds of every preview on a log of so many live files."""
    path = top / "large"
    logs.write_checkpoint(path, files)
    constrained = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 3}}
    (path / "_delta_log" / f"{11:020d}.json").write_text(json.dumps(constrained))
    return {name: [seconds(act) for _ in range(times)] for name, act in previews_of(path).items()}


class Bench:
    """One warm engine, and the copies of one table."""

    def __init__(self, engine: SparkEngine, source: Path, case: Case) -> None:
        self.engine, self.source, self.case = engine, source, case
        self.runs = 0

    def pair(self, number: int) -> dict[str, float]:
        acts = {"engine": self.by_engine, "raw": self.raw}
        order = sorted(acts, reverse=bool(number % 2))
        return {name: acts[name]() for name in order}

    def by_engine(self) -> float:
        path, marks = self._next()
        command = SetProperties("bench", self.case.given, path=str(path))
        preview, found = {"after": dict(self.case.given)}, []
        took = seconds(lambda: found.append(self.engine.run(command, preview, Checked(0), marks, Silent())))
        assert found[0].version == 1, found[0]
        shutil.rmtree(path)
        return took

    def raw(self) -> float:
        path, marks = self._next()
        with job_session(self.engine.runtime, marks) as session:
            took = seconds(lambda: session.sql(self.case.statement.format(path=path)))
        shutil.rmtree(path)
        return took

    def _next(self) -> tuple[Path, Marks]:
        self.runs += 1
        path = self.source.parent / f"{self.source.name}-{self.runs}"
        shutil.copytree(self.source, path, copy_function=os.link)
        return path, Marks(job=f"bench-{self.source.name}-{self.case.name}-{self.runs}", attempt=1, digest=None)


def measure(engine: SparkEngine, top: Path, pairs: int) -> dict[str, list[dict[str, float]]]:
    """The pairs of every case, seconds; the table lies below `top`. A first pair, not counted, compiles what the warm-up didn't."""
    source = top / "plain"
    engine.runtime.new_session().range(1_000).coalesce(1).write.format("delta").save(str(source))
    runs: dict[str, list[dict[str, float]]] = {}
    for case in CASES[-1:] if pairs == 1 else CASES:
        bench = Bench(engine, source, case)
        if pairs > 1:
            bench.pair(0)
        runs[case.name] = [bench.pair(number) for number in range(pairs)]
    return runs


def report(
    runs: Mapping[str, list[dict[str, float]]], previews: Mapping[str, list[float]], pairs: int, files: int
) -> str:
    """The section of the document."""
    lines = [
        f"{TITLE}\n\n`python -m tests.bench.properties`: medians of {pairs} interleaved pairs on copies of a small table,"
        f" {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end, one warm JVM. Raw is the same ALTER TABLE; the"
        f" excess is the engine's time less 1.05 × raw. The previews are the request's, from the log alone, on a table"
        f" of {files:,} live files.\n\n"
        f"{table_beside_raw('change')}"
    ]
    lines += [beside_raw(name, found) for name, found in runs.items()]
    lines.append("\n| preview | Levee | bar |\n|---|---|---|")
    for name, times in previews.items():
        lines.append(f"| {name} | {sorted(times)[len(times) // 2] * 1000:.0f} ms | ≤ 300 ms |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.properties", description=__doc__)
    parser.add_argument("--pairs", type=int, default=9)
    options = parser.parse_args()
    with measured_engine() as (engine, top):
        runs = measure(engine, top, options.pairs)
        previews = measure_previews(top, FILES)
    print(json.dumps([runs, previews]))
    section = report(runs, previews, options.pairs, FILES)
    print(section)
    put_into(DOCUMENT, section)


if __name__ == "__main__":
    main()
