"""DELETE from a Delta table: its rows counted before, Delta's own command, the truth from its commit after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import Column, SparkSession

from jobs.domain.commands import Delete
from jobs.domain.delete import branch_of
from jobs.domain.engine import Checked, Report
from jobs.domain.measures import Matched
from jobs.domain.predicates.stored import from_json
from jobs.domain.results import Result, affected_rows
from jobs.engine.history import Commit, commits_after, commits_before, is_own, recorded
from jobs.engine.measuring import measure
from jobs.engine.predicates import column_of
from jobs.engine.session import TXN_APP_ID
from jobs.engine.table_v2 import loaded_table
from jobs.engine.versions import rows_of, started, table_at, version_of

NOTHING = "No row matched, so nothing was deleted and nothing committed."
UNCOUNTED = "Delta recorded no count of the deleted rows: some files say nothing of how many they had."


def preview_delete(session: SparkSession, command: Delete, version: int | None, report: Report) -> Matched:
    """Counts the rows that match at a version (None: the newest), by reading them; nothing of it comes from statistics.

    The hash of a whole table is left out: its delete is held to the very version anyway, and so not a column has to be read.
    """
    report.stage("counting rows")
    table = table_at(session, command.path, version)
    rows, condition = rows_of(session, table), _condition(session, command)
    matching = rows if condition is None else rows.filter(condition)
    found = measure(matching, hashed=condition is not None)
    total = found.rows if condition is None else rows.count()
    return Matched(version_of(table), found.rows, total, found.rows_hash, found.files, found.bytes)


def run_delete(
    session: SparkSession, command: Delete, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Deletes, and answers what Delta recorded. What this job has committed before is answered, not done again.

    Raises CommandRefused (`stale`) when a strict run finds the table moved; Delta's refusals and conflicts as they come.
    """
    head = started(session, command.path, checked)
    report.stage("deleting rows")
    report.point("Spark started")
    DeltaTable.forPath(session, command.path).delete(_condition(session, command))
    report.stage("reading the commit")
    commit = _own_commit(session, command.path, head if checked.version is None else checked.version)
    if commit is None:
        report.log(NOTHING)
        return Result(version=None, operation=None, no_op=True, details={"branch": "nothing", "text": NOTHING})
    report.point("commit visible")
    return _result(commit)


def _condition(session: SparkSession, command: Delete) -> Column | None:
    return None if command.tree is None else column_of(from_json(command.tree), session)


def _own_commit(session: SparkSession, path: str, head: int) -> Commit | None:
    """The commit with this job's mark: after the version that was checked, or long ago by an earlier attempt.

    Delta passes over a transaction that the table knows already, in silence as where no row matches; the table then says so.
    """
    for commit in commits_after(path, head):
        if is_own(session, commit):
            return commit
    known = loaded_table(session, {"path": path}).initialSnapshot().transactions()
    if not known.contains(session.conf.get(TXN_APP_ID)):
        return None
    return next((commit for commit in commits_before(path, head) if is_own(session, commit)), None)


def _result(commit: Commit) -> Result:
    rows = affected_rows(commit.operationMetrics)
    text = UNCOUNTED if rows is None else f"{rows:,} {'row was' if rows == 1 else 'rows were'} deleted."
    return recorded(commit, {"branch": branch_of(commit.operationMetrics), "text": text}, rows)
