"""Replaces the executors of an application on a cluster: each keeps the connection to a bucket that its first task there opened."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jobs.domain.errors import EngineFailure, EngineLost

UNREPLACED = (
    "The cluster didn't replace the executors after a bucket's description was changed. They still have the old one, so this Spark "
    "is ended and another started"
)


def replace_executors(session: SparkSession) -> None:
    """Ends the application's executors and has the cluster start others in their place. Without a cluster there are none.

    No task begins on the old ones afterwards, and Spark repeats those that ran there without counting them as failed. Raises EngineLost
    when the cluster doesn't do it.
    """
    context = session.sparkContext
    if context.master.startswith("local"):
        return
    _forget_logs(session)
    backend: Any = context._jsc.sc().schedulerBackend()
    ids = backend.getExecutorIds()
    active = [number for number in range(ids.size()) if backend.isExecutorActive(ids.apply(number))]
    if active and not _killed(backend, ids):
        # Spark gives them no more tasks, but they keep their cores: nothing would run here again.
        raise EngineLost(EngineFailure(None, None, UNREPLACED, retryable=True))


def _killed(backend: Any, ids: Any) -> bool:
    keep_their_number, count_failures, busy_ones_too = False, False, True
    try:
        killed = backend.killExecutors(ids, keep_their_number, count_failures, busy_ones_too)
    except Py4JJavaError:  # the master didn't answer in time
        return False
    return bool(killed.size())


def _forget_logs(session: SparkSession) -> None:
    """Delta keeps the state of logs that it has read as results of Spark's, which lie on executors. Read again, they would be reached as
    they were then."""
    jvm: Any = session._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
