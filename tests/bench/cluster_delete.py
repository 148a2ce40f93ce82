"""A delete over 1 GB in 500 files by the engine on a Spark cluster, against raw `DeltaTable.delete` by the same driver and executors.

`python -m tests.bench.cluster_delete` starts the daemons that `make cluster` starts (a master, two workers), measures interleaved pairs and
writes "Delete on a cluster" of docs/benchmarks.md. `--tiny` does one pair on a few rows; `--cluster ADDRESS` takes a cluster that runs,
with its secret in LEVEE_SPARK_SECRET.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from jobs.engine.config import Cluster, spark_conf
from jobs.engine.runtime import Runtime
from jobs.worker.spark_engine import SparkEngine
from tests.bench import delete
from tests.bench.document import DOCUMENT, put_into
from tests.bench.engines import TOOLS
from tests.cluster import standalone

TITLE = "## Delete on a cluster"
WORKERS, BAR = 2, 1.05


def measure(on: Cluster, top: Path, pairs: int, rows: int, files: int) -> list[dict[str, float]]:
    """The pairs, in seconds; the table lies below `top`, which driver and executors see alike."""
    scratch = top / "spark"
    conf = spark_conf(
        "spark",
        jars=sorted((TOOLS / "jars").glob("*.jar")),
        archive=None,
        cores=os.cpu_count() or 1,
        memory_bytes=8 << 30,
        scratch=scratch,
        cluster=on,
    )
    engine = SparkEngine(Runtime(conf, scratch=scratch, log=top / "jvm.log"))
    try:
        engine.warm_up()
        part = delete.Case("large", f"id < {rows // 10} AND id % 100 = 7", "rewrite")
        return delete.run(engine, top / "table", part, pairs, rows, files)
    finally:
        engine.runtime.stop()


def run(pairs: int, rows: int, files: int, address: str | None) -> list[dict[str, float]]:
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="levee-bench-")))
        if address is not None:
            on = Cluster(address, os.environ["LEVEE_SPARK_SECRET"], "512m", 1, 1)
        else:
            made = stack.enter_context(standalone.running(top / "cluster", WORKERS))
            on = Cluster(made.address, made.secret, "1g", 1, WORKERS)  # an executor on each
        return measure(on, top, pairs, rows, files)


def ratio(pairs: list[dict[str, float]]) -> float:
    return delete.median(pairs, lambda each: each["engine"] / each["raw"])


def report(pairs: list[dict[str, float]]) -> str:
    """The section of the document."""
    engine, raw = (delete.median(pairs, lambda each, name=name: each[name]) for name in ("engine", "raw"))  # type: ignore[misc]
    return (
        f"{TITLE}\n\n`python -m tests.bench.cluster_delete`: a part of 1 GB in {delete.LARGE_FILES} files, on a standalone master with"
        f" {WORKERS} workers of this machine and an executor on each; medians of {len(pairs)} interleaved pairs, the driver warm,"
        f" {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end. Raw is `DeltaTable.delete` with the same settings.\n\n"
        "| raw | engine | engine / raw | bar |\n|---|---|---|---|\n"
        f"| {raw:.1f} s | {engine:.1f} s | {ratio(pairs):.2f} | ≤ {BAR} |\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.cluster_delete", description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--cluster")
    asked = parser.parse_args()
    if asked.tiny:
        print(report(run(1, delete.TINY_ROWS, delete.FILES, asked.cluster)))
        return
    pairs = run(asked.pairs, delete.LARGE_ROWS, delete.LARGE_FILES, asked.cluster)
    section = report(pairs)
    print(section)
    put_into(DOCUMENT, section)
    if ratio(pairs) > BAR:
        sys.exit("a bar was missed")


if __name__ == "__main__":
    main()
