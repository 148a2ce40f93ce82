"""DELETE from a Delta table: counts its rows, runs Delta's own command, and reads the result from its commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import Column, SparkSession

from jobs.commands.delete.rules import PASSED_OVER, Delete, branch_of, files_without_rows
from jobs.domain.engine import Checked, Report
from jobs.domain.measures import Matched
from jobs.domain.predicates.stored import from_json
from jobs.domain.results import Result, affected_rows
from jobs.engine.commits.history import HistoryCommit, commits_after, commits_before, is_own, recorded
from jobs.engine.directory import changing, judged, keeping, kept
from jobs.engine.measuring import measure
from jobs.engine.predicates import column_of
from jobs.engine.runner import Question, Rehearsal, Runner
from jobs.engine.session import TXN_APP_ID
from jobs.engine.table_files.unskipped import rows_of_files, without_pushdown
from jobs.engine.table_v2 import loaded_table
from jobs.engine.versions import rows_of, started, table_at, version_of

NOTHING = "No row matched: Delta deleted nothing and committed nothing."
UNCOUNTED = "Delta recorded no count of the deleted rows: the log doesn’t record how many rows some files held."


def preview_delete(session: SparkSession, command: Delete, version: int | None, report: Report) -> Matched:
    """Counts the rows that match at a version (None: the newest) by reading them, never from statistics; all rows as Delta tells them.

    A whole table gets no hash: its delete may run at this one version only, so Spark needn't read any column.
    """
    report.stage("counting rows")
    with kept(command.path) as directory:
        table = table_at(session, directory, version)
        rows, condition = rows_of(session, table), _condition(session, command)
        matching = rows if condition is None else rows.filter(condition)
        measured = measure(matching, hashed=condition is not None)
        total = measured.rows if condition is None else rows.count()
    return Matched(version_of(table), measured.rows, total, measured.rows_hash, measured.files, measured.bytes)


def run_delete(
    session: SparkSession, command: Delete, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Deletes, and returns what Delta recorded. If this job has already committed, returns that commit and doesn't run again.

    Raises CommandRefused (`stale`, `outside_roots`) before any change, when a strict run finds the table moved or its directory
    swapped, and DirectorySwapped after one; Delta's refusals and conflicts pass through.
    """
    directory = judged(command.path)
    with keeping(directory.check):
        head = started(session, directory, checked)
    report.stage("deleting rows")
    condition = _condition(session, command)
    report.point("Spark started")
    # The last check before Delta writes: since the first one, the path may have become a link out of the root.
    directory.check()
    with changing(directory):
        DeltaTable.forPath(session, command.path).delete(condition)
        report.stage("reading the commit")
        commit = _own_commit(session, command.path, head if checked.version is None else checked.version)
    if commit is None:
        report.log(NOTHING)
        return Result(version=None, operation=None, no_op=True, details={"branch": "nothing", "text": NOTHING})
    report.point("commit visible")
    return _result(commit, preview)


def _condition(session: SparkSession, command: Delete) -> Column | None:
    return None if command.tree is None else column_of(from_json(command.tree), session)


def _own_commit(session: SparkSession, path: str, head: int) -> HistoryCommit | None:
    """The commit with this job's mark: after the checked version, or earlier by a previous attempt.

    Delta silently skips a transaction that the table already has, just as when no row matches; the snapshot's transactions tell
    the two apart.
    """
    for commit in commits_after(path, head):
        if is_own(session, commit):
            return commit
    known = loaded_table(session, {"path": path}).initialSnapshot().transactions()
    if not known.contains(session.conf.get(TXN_APP_ID)):
        return None
    return next((commit for commit in commits_before(path, head) if is_own(session, commit)), None)


def _result(commit: HistoryCommit, preview: Mapping[str, Any]) -> Result:
    rows = affected_rows(commit.operationMetrics)
    if rows is None and _counted_none(commit, preview):
        rows = 0
    text = _text(rows, files_without_rows(rows, commit.operationMetrics))
    return recorded(commit, {"branch": branch_of(commit.operationMetrics), "text": text}, rows)


def _counted_none(commit: HistoryCommit, preview: Mapping[str, Any]) -> bool:
    """Whether Spark counted that no row matches at the very version that the commit read: Delta records no count of 0 rows.

    Source: Delta 4.4.0, DeltaOperations.Delete, which leaves out a `numDeletedRows` of 0.
    """
    read = preview.get("measured_at_version")
    exact = preview.get("rows_matched_exact") and preview.get("rows_matched") == 0
    return bool(exact) and read is not None and commit.readVersion == read


def _text(rows: int | None, empty: int) -> str:
    if rows is None:
        return UNCOUNTED
    if empty:
        return f"Deleted no row: Delta removed {empty:,} {'file' if empty == 1 else 'files'} without rows from the log."
    return f"Deleted {rows:,} {'row' if rows == 1 else 'rows'}."


def _read_matched(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    """Counts the rows that a delete would remove. The question holds `path`, `tree` (None: all rows) and `version`; `passed_over`
    as in `_read_passed_over`, whose answer is in this one under the same name."""
    command = Delete(table="", predicate=None, path=str(question["path"]), tree=question["tree"])
    matched = preview_delete(session, command, int(question["version"]), report)
    passed_over = {PASSED_OVER: _read_passed_over(session, question, report)} if question.get(PASSED_OVER) else {}
    return passed_over | {
        "rows": matched.rows,
        "rows_total": matched.rows_total,
        "rows_hash": matched.rows_hash,
        "files": len(matched.files),
        "bytes": matched.bytes,
    }


def _read_passed_over(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    """Counts the matching rows of files that Delta's skipping passes over: `files` that were read, and `rows` in them.

    The question holds `path`, `tree`, `version`, and in `passed_over` the files by their paths in the log.
    """
    report.stage("reading skipped files")
    condition = column_of(from_json(question["tree"]), session)
    with kept(str(question["path"])) as directory, without_pushdown(session):
        table = table_at(session, directory, int(question["version"]))
        files, rows = rows_of_files(session, table, question[PASSED_OVER])
        return {"files": files, "rows": rows.filter(condition).count()}


READS = {"matched": _read_matched, PASSED_OVER: _read_passed_over}
RUNNER = Runner(run_delete, preview_delete, reads=READS, rehearsal=Rehearsal())
