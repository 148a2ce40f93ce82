"""Warms up a fresh JVM: runs every command and read once on a small table."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from jobs.domain.engine import UNCHECKED, Engine, Marks, Report
from jobs.engine.runtime import Runtime
from jobs.engine.session import job_session
from jobs.worker.runners import RUNNERS

MARKS = Marks(job="warm-up", attempt=1, digest=None)


def warm_up(engine: Engine, runtime: Runtime, report: Report) -> None:
    """Writes 20 rows, runs the commands that warm up, deletes twice, reads history, detail, rows and the live table.

    Afterwards the JVM has loaded its classes and compiled its code, and the Python workers have imported pyarrow. Removes its table.
    """
    place = runtime.scratch / "warm-up"
    shutil.rmtree(place, ignore_errors=True)
    try:
        with job_session(runtime, MARKS) as session:
            _write(session, place)
        for runner in RUNNERS.values():
            if runner.warm_up is not None:
                command = runner.warm_up(str(place))
                preview = engine.preview(command, None, MARKS, report)
                engine.run(command, asdict(preview), UNCHECKED, MARKS, report)
        with job_session(runtime, MARKS) as session:
            _exercise(session, str(place))
        engine.read("deltatable", {"path": str(place)}, MARKS, report)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _write(session: SparkSession, place: Path) -> None:
    rows = session.range(20).selectExpr("id", "concat('row ', id) AS text", "cast(id % 2 AS int) AS p")
    rows.write.partitionBy("p").parquet(str(place))


def _exercise(session: SparkSession, place: str) -> None:
    table = DeltaTable.forPath(session, place)
    table.delete("id = 3")
    table.delete("p = 1")
    table.history(5).collect()
    table.detail().collect()
    table.toDF().limit(5).collect()
