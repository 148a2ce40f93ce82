"""A table at one of its versions, made sure to lie where it should; and the version that a run starts from."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jobs.domain.engine import Checked
from jobs.domain.errors import CommandRefused, Refusal
from jobs.engine.inside import refuse_links, refuse_outside, refuse_redirect
from jobs.engine.table_v2 import loaded_table

MAX_COMMIT_ATTEMPTS = "spark.databricks.delta.maxCommitAttempts"


def table_at(session: SparkSession, path: str, version: int | None) -> Any:
    """Delta's object of the table at a version (None: the newest), which keeps the snapshot that it reads here.

    Raises CommandRefused (`not_delta`, `outside_roots`), and what Delta raises for a version that can't be read.
    """
    refuse_links(path)
    table = loaded_table(session, {"path": path, "version": version})
    refuse_outside(session, table, path)
    return table


def version_of(table: Any) -> int:
    """The version of Delta's object."""
    return int(table.initialSnapshot().version())


def rows_of(session: SparkSession, table: Any) -> DataFrame:
    """All rows of Delta's object."""
    return DataFrame(table.toDf(session._jsparkSession), session)


def started(session: SparkSession, path: str, checked: Checked) -> int:
    """The newest version, from which a run starts. A strict one commits upon that version or not at all.

    Delta's own setting fails a commit that others have overtaken since the run began; a commit between the check and the run is
    seen here. Raises CommandRefused (`stale`, `not_delta`, `outside_roots`).
    """
    refuse_links(path)
    table = loaded_table(session, {"path": path})
    refuse_redirect(table.deltaLog().dataPath(), path)
    head = version_of(table)
    if checked.strict:
        session.conf.set(MAX_COMMIT_ATTEMPTS, "0")
        _refuse_moved(head, checked)
    return head


def _refuse_moved(head: int, checked: Checked) -> None:
    if checked.version is not None and head != checked.version:
        text = f"The table has moved to version {head:,} since it was checked at version {checked.version:,}."
        raise CommandRefused(Refusal("stale", text, remedy="Look at the table as it is now, and ask again."))
