"""Loads a table at one of its versions, checked to be inside its directory; and finds the version that a run starts from."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jobs.domain.engine import Checked
from jobs.domain.errors import CommandRefused, Refusal
from jobs.engine.directory import Directory
from jobs.engine.inside import refuse_outside, refuse_redirect
from jobs.engine.table_v2 import loaded_table

MAX_COMMIT_ATTEMPTS = "spark.databricks.delta.maxCommitAttempts"


def table_at(session: SparkSession, directory: Directory, version: int | None) -> Any:
    """Delta's table object at a version (None: the newest). It keeps the snapshot that it reads here.

    Raises CommandRefused (`not_delta`, `outside_roots`), and Delta's errors for a version that it can't read.
    """
    directory.check()
    table = loaded_table(session, {"path": directory.path, "version": version})
    refuse_outside(session, table, directory.path)
    directory.check()
    return table


def version_of(table: Any) -> int:
    """The version of Delta's table object."""
    return int(table.initialSnapshot().version())


def rows_of(session: SparkSession, table: Any) -> DataFrame:
    """All rows of Delta's table object."""
    return DataFrame(table.toDf(session._jsparkSession), session)


def started(session: SparkSession, directory: Directory, checked: Checked) -> int:
    """The newest version, from which a run starts. A strict run commits on that version or not at all.

    Delta's own setting fails a commit that another writer's has overtaken since the run began; this function detects a commit
    between the check and the run. Raises CommandRefused (`stale`, `not_delta`, `outside_roots`).
    """
    table = loaded_table(session, {"path": directory.path})
    refuse_redirect(table.deltaLog().dataPath(), directory.path)
    directory.check()
    head = version_of(table)
    if checked.strict:
        session.conf.set(MAX_COMMIT_ATTEMPTS, "0")
        _refuse_moved(head, checked)
    return head


def _refuse_moved(head: int, checked: Checked) -> None:
    if checked.version is not None and head != checked.version:
        text = f"The table has moved to version {head:,} since it was checked at version {checked.version:,}."
        raise CommandRefused(Refusal("stale", text, remedy="Check the table as it is now, then request it again."))
