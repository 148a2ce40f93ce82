"""Reads some files of a table past all data skipping, as a reader would see their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.engine.runs.rewriting import option, seq
from jobs.engine.session import setting

PUSHDOWN = "spark.sql.parquet.filterPushdown"


def rows_of_files(session: SparkSession, table: Any, paths: Sequence[str]) -> tuple[int, DataFrame]:
    """How many of these files Delta's table object has at its version, and a frame of their rows without the deleted ones.

    `paths` are as the log has them. Delta skips files for a scan of a table, not for one of files that are named (Delta 4.4.0,
    DeltaLog.createDataFrame with its TahoeBatchFileIndex).
    """
    snapshot = table.initialSnapshot()
    named = F.col("path").isin(list(paths))
    files = list(snapshot.allFiles().filter(named._jc).collectAsList())
    frame = snapshot.deltaLog().createDataFrame(snapshot, seq(session, files), False, option(session))
    return len(files), DataFrame(frame, session)


@contextmanager
def without_pushdown(session: SparkSession) -> Iterator[None]:
    """Inside, Spark reads row groups of parquet files whatever their footers' statistics say."""
    with setting(session, PUSHDOWN, "false"):
        yield
