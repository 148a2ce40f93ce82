"""RESTORE of a Delta table to one of its versions: what can still be read before, proof by reading after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.domain.commands import Restore
from jobs.domain.engine import Checked, Report
from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.measures import Restorable
from jobs.domain.results import Result
from jobs.engine.errors import as_failure
from jobs.engine.history import commits_after, is_own, recorded
from jobs.engine.measuring import difference, measure
from jobs.engine.stored_files import missing_files
from jobs.engine.table_v2 import loaded_table
from jobs.engine.versions import rows_of, started, table_at

# Reading more than this would outlast a preview.
MOST_BYTES = 20 << 30
NAMED_FILES = 1_000
TOO_LARGE = "The table holds {size:.1f} GiB at that version, more than a preview reads ({most} GiB)."

# Delta's words for a version that its log can't rebuild or that may not be read any more.
GONE = frozenset(
    [
        "DELTA_VERSION_NOT_FOUND",
        "DELTA_CANNOT_RESTORE_TABLE_VERSION",
        "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION",
        "DELTA_TRUNCATED_TRANSACTION_LOG",
        "DELTA_LOG_FILE_NOT_FOUND",
        "DELTA_VERSIONS_NOT_CONTIGUOUS",
    ]
)
REMEDY = "Choose a newer version; the history says which can still be restored."
NEWEST = "The table is at this version already, so nothing was restored."
NOT_COMMITTED = "Delta found nothing to restore and committed nothing."

PROVEN = "All {rows:,} rows were read again and are those of version {version:,}."
ROWS_ONLY = (
    "All {rows:,} rows were read again, as many as version {version:,} had; a column has no hash to compare them by."
)
DIFFERENT = "The rows read after the restore are not those that version {version:,} had before it."
NOT_MEASURED = "All {rows:,} rows were read again; there is no earlier reading to compare them with."
UNREADABLE = "The restored rows could not be read: {message}"


def preview_restore(session: SparkSession, command: Restore, version: int | None, report: Report) -> Restorable:
    """What the command would bring back: missing files, else all rows of its version by reading them, where that isn't too much.

    `version` is what the table is at (None: the newest). Raises CommandRefused `version_gone`.
    """
    report.stage("looking for files")
    then = _target(session, command)
    missing = missing_files(
        session, command.path, then, loaded_table(session, {"path": command.path, "version": version})
    )
    if missing:
        return Restorable(command.version, tuple(missing[:NAMED_FILES]), len(missing), None, None)
    size = int(then.initialSnapshot().sizeInBytes())
    if size > MOST_BYTES:
        text = TOO_LARGE.format(size=size / (1 << 30), most=MOST_BYTES >> 30)
        return Restorable(command.version, (), 0, None, None, unread_because=text)
    report.stage("reading rows")
    found = measure(rows_of(session, then))
    moved = difference(rows_of(session, table_at(session, command.path, version)), rows_of(session, then))
    back, gone = moved or (None, None)
    return Restorable(command.version, (), 0, found.rows, found.rows_hash, rows_back=back, rows_gone=gone)


def run_restore(
    session: SparkSession, command: Restore, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Restores, then reads the rows again and compares them with what the preview read (`rows_to`, `rows_hash_to`).

    Raises CommandRefused (`version_gone`, `stale`) before anything is changed. Once it is committed, a failed proof is part of the
    result (`details.proven`) and no failure.
    """
    head = started(session, command.path, checked)
    if head == command.version:
        return _nothing(NEWEST, report)
    report.stage("looking for files")
    _refuse_missing(session, command)
    report.stage("restoring")
    report.point("Spark started")
    DeltaTable.forPath(session, command.path).restoreToVersion(command.version)
    commit = next((commit for commit in commits_after(command.path, head) if is_own(session, commit)), None)
    if commit is None:
        return _nothing(NOT_COMMITTED, report)
    report.point("commit visible")
    report.stage("reading rows")
    return recorded(commit, _proof(session, command, commit.version, preview))


def _target(session: SparkSession, command: Restore) -> Any:
    """Delta's object at the version to go back to. Raises CommandRefused `version_gone` in Delta's own words."""
    try:
        return table_at(session, command.path, command.version)
    except (PySparkException, Py4JJavaError) as error:
        failure = as_failure(error)
        if failure.condition not in GONE:
            raise
        raise CommandRefused(Refusal("version_gone", failure.message, remedy=REMEDY, engine=failure)) from error


def _refuse_missing(session: SparkSession, command: Restore) -> None:
    """Delta looks too, but has no condition for it."""
    now = loaded_table(session, {"path": command.path})
    missing = missing_files(session, command.path, _target(session, command), now)
    if missing:
        count = f"{len(missing):,} {'file' if len(missing) == 1 else 'files'}"
        text = f"{count} of version {command.version:,} are gone from storage, the first of them {missing[0]}."
        raise CommandRefused(Refusal("version_gone", text, place=missing[0], remedy=REMEDY))


def _proof(session: SparkSession, command: Restore, version: int, preview: Mapping[str, Any]) -> dict[str, Any]:
    """The restored rows, read at the version that was just committed."""
    try:
        found = measure(rows_of(session, loaded_table(session, {"path": command.path, "version": version})))
    except (PySparkException, Py4JJavaError) as error:
        message = as_failure(error).message
        return {"proven": False, "rows": None, "rows_hash": None, "text": UNREADABLE.format(message=message)}
    rows, rows_hash = preview.get("rows_to"), preview.get("rows_hash_to")
    proven = rows is not None and (found.rows, found.rows_hash) == (rows, rows_hash)
    text = _words(rows, proven, found.rows_hash).format(rows=found.rows, version=command.version)
    return {"proven": proven, "rows": found.rows, "rows_hash": found.rows_hash, "text": text}


def _words(rows: int | None, proven: bool, rows_hash: str | None) -> str:
    if rows is None:
        return NOT_MEASURED
    if not proven:
        return DIFFERENT
    return PROVEN if rows_hash is not None else ROWS_ONLY


def _nothing(text: str, report: Report) -> Result:
    report.log(text)
    return Result(version=None, operation=None, no_op=True, details={"text": text})
