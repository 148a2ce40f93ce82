"""One session per job: its settings, marks and tags, all undone when it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from jobs.domain.engine import Marks
from jobs.engine.errors import translate
from jobs.engine.runtime import Runtime

TOKEN = "levee.fencing.token"  # of the claim that the session works for
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
TXN_APP_ID = "spark.databricks.delta.write.txnAppId"
TXN_VERSION = "spark.databricks.delta.write.txnVersion"


@contextmanager
def job_session(runtime: Runtime, marks: Marks, *, note: str | None = None) -> Iterator[SparkSession]:
    """A fresh session, active in this thread, whose commits carry the job's marks and whose Spark jobs its group and tag.

    It leaves nothing behind in the thread or in other sessions. Translates failures into Levee's own exceptions.
    """
    with translate():
        session = runtime.new_session()
        active = _sessions(session)
        context = session.sparkContext
        for key, value in commit_marks(marks, note).items():
            session.conf.set(key, value)
        try:
            active.setActiveSession(session._jsparkSession)
            context.setJobGroup(marks.tag, marks.tag)
            context.addJobTag(marks.tag)
            yield session
        finally:
            if runtime.alive():
                _undo(active, context, marks.tag)


@contextmanager
def setting(session: SparkSession, key: str, value: str) -> Iterator[None]:
    """Within it the session has this setting; afterwards what it had before."""
    before = session.conf.get(key)
    session.conf.set(key, value)
    try:
        yield
    finally:
        session.conf.set(key, str(before))


def commit_marks(marks: Marks, note: str | None = None) -> Mapping[str, str]:
    """The settings that tie a commit to its request; the reconciliation finds the commit by them."""
    metadata: dict[str, Any] = {"job": marks.job, "attempt": marks.attempt, "digest": marks.digest}
    if note is not None:
        metadata["note"] = note
    return {
        USER_METADATA: json.dumps(metadata),
        TXN_APP_ID: marks.txn_app_id,
        TXN_VERSION: "1",
        TOKEN: str(marks.token),
    }


def _undo(active: Any, context: Any, tag: str) -> None:
    # A pool reuses its threads: group, tag and active session would leak into the next job.
    context.removeJobTag(tag)
    context._jsc.clearJobGroup()
    active.clearActiveSession()


def _sessions(session: SparkSession) -> Any:
    jvm: Any = session._jvm
    return jvm.org.apache.spark.sql.classic.SparkSession
