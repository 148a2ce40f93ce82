"""Changes of one directory on one Spark, and what they said; by itself, on a cluster: the test's own process has the local one.

`python -m tests.cluster.changes SCRATCH FOLDER`, with the cluster's address and secret on stdin; the answers as JSON on stdout.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.commands.convert.rules import Convert
from jobs.domain.engine import UNCHECKED, Marks
from tests.jobs.engine.deltas import deletion, ids
from tests.jobs.engine.fixtures import TOOLS

if TYPE_CHECKING:
    from jobs.domain.engine import Engine

ROWS = 40
# What a change must say the same anywhere; how large its files are and how long it took may differ.
SAME = ("numConvertedFiles", "numRemovedFiles", "numRemovedBytes", "numDeletedRows", "numCopiedRows")


def lake(folder: Path) -> Path:
    """Files of a directory partitioned by `p`, with days that mean another one in another zone."""
    table = folder / "sales"
    for part in (0, 1):
        numbers = [n for n in range(ROWS) if n % 2 == part]
        columns = {"id": numbers, "day": [f"2024-03-{1 + n % 28:02d}" for n in numbers]}
        file = table / f"p={part}" / "a.parquet"
        file.parent.mkdir(parents=True)
        pq.write_table(pa.table(columns), file)
    return table


def changes(engine: Engine, folder: Path) -> dict[str, Any]:
    """Converts, deletes by a row and by a whole partition, and reads."""
    from jobs.worker.spark_engine import Silent

    path, report = lake(folder), Silent()

    def run(command: Any, preview: Any, attempt: int) -> dict[str, Any]:
        marks = Marks(f"change-{attempt}", 1, "d" * 64)  # of one job, Delta would take the second for the first
        return engine.run(command, preview, UNCHECKED, marks, report).as_json()

    convert = Convert(str(path), None, "parquet", "p int")
    seen = asdict(engine.preview(convert, None, Marks("changes", 1, "d" * 64), report))
    inspected = engine.read("inspect", {"path": str(path)}, Marks("changes", 2, None), report)
    results = [
        run(convert, seen, 3),
        run(deletion(path, "id in (4, 7)"), {}, 4),
        run(deletion(path, "p = 1 AND id > 20"), {}, 5),
    ]
    rows = engine.read("rows", {"path": str(path), "limit": 100}, Marks("changes", 6, None), report)
    return {
        "results": [steady(result) for result in results],
        "schema": inspected["schema"],
        "rows": sorted(map(str, rows["rows"])),
        "ids": ids(path),
    }


def steady(result: dict[str, Any]) -> dict[str, Any]:
    """Of a run's result what is the same on every Spark."""
    metrics = result["operation_metrics"]
    kept = {name: metrics[name] for name in SAME if name in metrics}
    return {"version": result["version"], "operation": result["operation"], "no_op": result["no_op"], **kept}


def main(scratch: Path, folder: Path) -> None:
    from jobs.engine.config import Cluster, spark_conf
    from jobs.engine.runtime import Runtime
    from jobs.worker.spark_engine import SparkEngine

    address, secret = json.loads(sys.stdin.readline())
    conf = spark_conf(
        "spark",
        jars=sorted((TOOLS / "jars").glob("*.jar")),
        archive=None,
        cores=2,
        memory_bytes=8 << 30,
        scratch=scratch,
        cluster=Cluster(address, secret, "512m", 1, 1),
    )
    runtime = Runtime(conf, scratch=scratch, log=scratch / "jvm.log")
    runtime.start()
    try:
        print(json.dumps(changes(SparkEngine(runtime), folder)), flush=True)
    finally:
        runtime.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
