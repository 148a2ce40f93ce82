"""The engine that a bench measures: one JVM of its own, with the settings of a worker on this machine."""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jobs.engine.config import Cluster, spark_conf
from jobs.engine.runtime import Runtime
from jobs.worker.memory import machine_bytes
from jobs.worker.spark_engine import SparkEngine

TOOLS = Path(__file__).parents[2] / ".tools"


@contextlib.contextmanager
def measured_engine(on: Cluster | None = None) -> Iterator[tuple[SparkEngine, Path]]:
    """An engine as warm as a worker's, and a directory for what it works on; both are gone after the block. `on` is where its tasks run."""
    with tempfile.TemporaryDirectory(prefix="levee-bench-") as directory:
        top = Path(directory)
        conf = spark_conf(
            "spark",
            jars=sorted((TOOLS / "jars").glob("*.jar")),
            archive=TOOLS / "levee.jsa",
            cores=os.cpu_count() or 1,
            memory_bytes=machine_bytes(),
            scratch=top / "spark",
            cluster=on,
        )
        engine = SparkEngine(Runtime(conf, scratch=top / "spark", log=top / "jvm.log"))
        try:
            engine.warm_up()
            yield engine, top
        finally:
            engine.runtime.stop()


BAR = "excess ≤ 250 ms"


def table_beside_raw(what: str) -> str:
    """The head of the table whose rows `beside_raw` makes."""
    return f"| {what} | raw | engine | ratio | excess | bar |\n|---|---|---|---|---|---|"


def beside_raw(name: str, runs: list[dict[str, float]], bar: str = BAR) -> str:
    """A row of such a table: medians over pairs of seconds, `raw` and `engine`. The excess is the engine's time less 1.05 × raw."""
    raw, engine = (statistics.median(run[what] for run in runs) for what in ("raw", "engine"))
    ratio = statistics.median(run["engine"] / run["raw"] for run in runs)
    excess = statistics.median(run["engine"] - 1.05 * run["raw"] for run in runs)
    return f"| {name} | {raw * 1000:.0f} ms | {engine * 1000:.0f} ms | {ratio:.2f} | {excess * 1000:.0f} ms | {bar} |"
