"""RESTORE of a Delta table to one of its versions: checks that Spark can still read it, and proves the result by reading it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.commands.restore.rules import Restore
from jobs.domain.engine import Checked, Report
from jobs.domain.errors import CommandRefused, DirectorySwapped, Refusal
from jobs.domain.measures import Restorable
from jobs.domain.results import Result
from jobs.engine.commits.history import commits_after, is_own, recorded
from jobs.engine.directory import Directory, changing, judged, keeping, kept
from jobs.engine.errors import as_failure
from jobs.engine.inside import clone_at
from jobs.engine.measuring import difference, measure, row_hash
from jobs.engine.runner import Rehearsal, Runner
from jobs.engine.session import setting
from jobs.engine.stored_files import missing_files
from jobs.engine.table_v2 import loaded_table
from jobs.engine.versions import rows_of, started, table_at

# Reading more than this would outlast a preview.
MOST_BYTES = 20 << 30
NAMED_FILES = 1_000
IGNORE_MISSING = "spark.sql.files.ignoreMissingFiles"
TOO_LARGE = "The table holds {size:.1f} GiB at that version; a preview reads at most {most} GiB."

# Delta's conditions for a version that its log can't rebuild or that its retention no longer allows.
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
REMEDY = "Choose a newer version; the history shows which ones you can still restore."
NEWEST = "The table is already at this version: nothing changed."
NOT_COMMITTED = "Delta found nothing to restore and committed nothing."

PROVEN = "Spark read all {rows:,} rows again: they are those of version {version:,}."
ROWS_ONLY = "Spark read all {rows:,} rows again, as many as version {version:,} had; a column has no hash, so Levee compared no values."
DIFFERENT = "The rows that Spark read after the restore are not those that version {version:,} had before it."
NOT_MEASURED = "Spark read all {rows:,} rows again; the preview read none to compare them with."
UNREADABLE = "Spark could not read the restored rows: {message}"


def preview_restore(session: SparkSession, command: Restore, version: int | None, report: Report) -> Restorable:
    """What the command would restore: the missing files, else all rows of its version, read unless they exceed MOST_BYTES.

    `version` is the table's current one (None: the newest). Raises CommandRefused `version_gone`.
    """
    with kept(command.path) as directory:
        return _restorable(session, command, directory, version, report)


def _restorable(
    session: SparkSession, command: Restore, directory: Directory, version: int | None, report: Report
) -> Restorable:
    report.stage("looking for files")
    then, now = _target(session, command, directory), table_at(session, directory, version)
    missing = missing_files(session, command.path, then, now)
    if missing:
        return Restorable(command.version, tuple(missing[:NAMED_FILES]), len(missing), None, None)
    size = int(then.initialSnapshot().sizeInBytes())
    if size > MOST_BYTES:
        text = TOO_LARGE.format(size=size / (1 << 30), most=MOST_BYTES >> 30)
        return Restorable(command.version, (), 0, None, None, unread_because=text)
    report.stage("reading rows")
    directory.check()
    measured = measure(rows_of(session, then))
    back, gone = _difference(session, now, then) or (None, None)
    return Restorable(command.version, (), 0, measured.rows, measured.rows_hash, rows_back=back, rows_gone=gone)


def _difference(session: SparkSession, now: Any, then: Any) -> tuple[int, int] | None:
    """The rows that come back and those that go; None where Spark plans no read of today's schema, or values can't be compared."""
    try:
        before = rows_of(session, now)
        row_hash(before.schema)  # Spark looks at the schema here, and at no row
    except (PySparkException, Py4JJavaError):
        return None
    return difference(before, rows_of(session, then))


def run_restore(
    session: SparkSession, command: Restore, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Restores, then reads the rows again and compares them with those of the preview (`rows_to`, `rows_hash_to`).

    Raises CommandRefused (`version_gone`, `stale`, `outside_roots`) before any change. After the commit a failed proof is part of
    the result (`details.proven`), not a failure. Raises DirectorySwapped where Levee can't know which directory Delta changed.
    """
    directory = judged(command.path)
    with keeping(directory.check):
        head = started(session, directory, checked)
        if head == command.version:
            return _nothing(NEWEST, report)
        report.stage("looking for files")
        _refuse_missing(session, command, directory)
    report.stage("restoring")
    report.point("Spark started")
    # The last check before Delta writes: since the first one, the path may have become a link out of the root.
    directory.check()
    with changing(directory):
        with _looked_for(session, command.path):
            _restored(session, _target(session, command, directory))
        commit = next((commit for commit in commits_after(command.path, head) if is_own(session, commit)), None)
    if commit is None:
        return _nothing(NOT_COMMITTED, report)
    report.point("commit visible")
    report.stage("reading rows")
    return recorded(commit, _proof(session, command, directory, commit.version, preview))


def _target(session: SparkSession, command: Restore, directory: Directory) -> Any:
    """Delta's object at the version to go back to. Raises CommandRefused `version_gone` in Delta's own words."""
    try:
        return table_at(session, directory, command.version)
    except (PySparkException, Py4JJavaError) as error:
        failure = as_failure(error)
        if failure.condition not in GONE:
            raise
        raise CommandRefused(Refusal("version_gone", failure.message, remedy=REMEDY, engine=failure)) from error


def _restored(session: SparkSession, target: Any) -> None:
    """Delta's own command on the table at a version, without a plan over the rows of the newest one: its schema may allow none."""
    jvm: Any = session._jvm
    jvm.org.apache.spark.sql.delta.commands.RestoreTableCommand(target).run(session._jsparkSession)


def _refuse_missing(session: SparkSession, command: Restore, directory: Directory) -> None:
    """Refuses if files are missing: Delta checks too, but without an error condition."""
    directory.check()
    now = loaded_table(session, {"path": command.path})
    missing = missing_files(session, command.path, _target(session, command, directory), now)
    if missing:
        count = f"{len(missing):,} {'file' if len(missing) == 1 else 'files'}"
        text = f"Storage no longer holds {count} of version {command.version:,}, such as {missing[0]}."
        raise CommandRefused(Refusal("version_gone", text, place=missing[0], remedy=REMEDY))


@contextmanager
def _looked_for(session: SparkSession, path: str) -> Iterator[None]:
    """Within it Delta doesn't look for the files of a clone whose source lies in another file system: it would look in the clone's.

    Levee has just looked for them where they are. Delta's command reads no row, so nothing else of it depends on the setting.
    """
    clone = clone_at(path)
    if clone is None or clone.source.startswith("/"):
        yield
        return
    with setting(session, IGNORE_MISSING, "true"):
        yield


def _proof(
    session: SparkSession, command: Restore, directory: Directory, version: int, preview: Mapping[str, Any]
) -> dict[str, Any]:
    """Compares the restored rows, read at the version just committed, with those of the preview."""
    try:
        directory.check_after()
        with changing(directory):
            measured = measure(rows_of(session, loaded_table(session, {"path": command.path, "version": version})))
    except (PySparkException, Py4JJavaError, DirectorySwapped) as error:
        message = str(error) if isinstance(error, DirectorySwapped) else as_failure(error).message
        return {"proven": False, "rows": None, "rows_hash": None, "text": UNREADABLE.format(message=message)}
    rows, rows_hash = preview.get("rows_to"), preview.get("rows_hash_to")
    proven = rows is not None and (measured.rows, measured.rows_hash) == (rows, rows_hash)
    text = _words(rows, proven, measured.rows_hash).format(rows=measured.rows, version=command.version)
    return {"proven": proven, "rows": measured.rows, "rows_hash": measured.rows_hash, "text": text}


def _words(rows: int | None, proven: bool, rows_hash: str | None) -> str:
    if rows is None:
        return NOT_MEASURED
    if not proven:
        return DIFFERENT
    return PROVEN if rows_hash is not None else ROWS_ONLY


def _nothing(text: str, report: Report) -> Result:
    report.log(text)
    return Result(version=None, operation=None, no_op=True, details={"text": text})


def _on_clone(command: Restore, path: str) -> Restore:
    """On a clone, whose version 0 is the one to go back to."""
    return replace(command, path=path, version=0)


RUNNER = Runner(run_restore, preview_restore, rehearsal=Rehearsal(_on_clone, lambda command: int(command.version)))
