"""What a table's own history says, through Delta."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Row, SparkSession

from jobs.engine.quoting import path_table


def latest(session: SparkSession, path: str) -> Row:
    """The newest row of DESCRIBE HISTORY. Raises what Delta raises when there is no table."""
    return session.sql(f"DESCRIBE HISTORY {path_table('delta', path)} LIMIT 1").collect()[0]


def snapshot(session: SparkSession, path: str) -> Any:
    """The head of a table as Delta's own Snapshot (a Java object), read again from storage."""
    jvm: Any = session._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, path)
    none = getattr(log, "update$default$2")()
    return log.update(False, none, none)
