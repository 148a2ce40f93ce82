"""What makes a fresh JVM fast: one small table lives through everything once."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from jobs.domain.commands import Convert
from jobs.domain.engine import UNCHECKED, Marks, Report
from jobs.engine.session import job_session

if TYPE_CHECKING:
    from jobs.engine.spark_engine import SparkEngine

MARKS = Marks(job="warm-up", attempt=1, digest=None)


def warm_up(engine: SparkEngine, report: Report) -> None:
    """Writes 20 rows, inspects, converts, deletes twice, reads history, detail, rows and the live table.

    Classes are loaded, code is compiled and the Python workers have imported pyarrow when it ends. Its table is removed again.
    """
    place = engine.runtime.scratch / "warm-up"
    shutil.rmtree(place, ignore_errors=True)
    try:
        with job_session(engine.runtime, MARKS) as session:
            _write(session, place)
        command = Convert(path=str(place), name=None, source_format="parquet", partition_schema="p int")
        preview = engine.preview(command, None, MARKS, report)
        engine.run(command, asdict(preview), UNCHECKED, MARKS, report)
        with job_session(engine.runtime, MARKS) as session:
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
