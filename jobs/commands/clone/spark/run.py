"""CLONE of a Delta table: Delta's own command for a shallow one; for a deep one, copies of the files and the same commit on them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from console.base.text.counted import counted
from jobs.commands.clone import cleanup
from jobs.commands.clone.rules import Clone
from jobs.commands.clone.spark.commit import commit_deep, commit_shallow
from jobs.commands.clone.spark.copies import copied_files
from jobs.commands.clone.spark.values import CloneTarget
from jobs.domain.comparison import number_of
from jobs.domain.engine import Checked, Report
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.domain.measures import Restorable
from jobs.domain.results import Result
from jobs.engine import progress
from jobs.engine.commits.history import HistoryCommit, commits_after, is_own, recorded
from jobs.engine.directory import Directory, changing, judged, keeping, kept
from jobs.engine.errors import as_failure
from jobs.engine.runner import Runner
from jobs.engine.session import TOKEN, USER_METADATA
from jobs.engine.stored_files import missing_files
from jobs.engine.versions import table_at
from tables.storage import stores
from tables.storage.store import StorageError
from tables.storage.trees import Unreachable

NAMED_FILES = 1_000
SETTLE_SECONDS = 10
BEFORE_ANY = -1  # the version before a table's first
GONE = frozenset(
    [
        "DELTA_VERSION_NOT_FOUND",
        "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION",
        "DELTA_TRUNCATED_TRANSACTION_LOG",
        "DELTA_LOG_FILE_NOT_FOUND",
        "DELTA_VERSIONS_NOT_CONTIGUOUS",
    ]
)
REMEDY = "Choose a newer version; the history shows which ones can still be read."


def preview_clone(session: SparkSession, command: Clone, version: int | None, report: Report) -> Restorable:
    """Which files of an older version are missing from storage; no rows are read. Raises CommandRefused `version_gone`."""
    with kept(command.source) as directory:
        report.stage("looking for files")
        then, now = _source(session, command, directory), table_at(session, directory, None)
        missing = missing_files(session, command.source, then, now)
        return Restorable(command.version or 0, tuple(missing[:NAMED_FILES]), len(missing), None, None)


def run_clone(
    session: SparkSession, command: Clone, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Makes the clone, and returns what Delta recorded.

    Raises CommandRefused before any change (`version_gone`, `not_empty`, `no_space`, `copy_failed`, `outside_roots`) and
    DirectorySwapped after one. After a failure without a commit it removes what it had put into the target. If it can't know whether
    there is a commit, it removes nothing: a table may need the copies.
    """
    source, target = judged(command.source), Directory(command.path)
    target.check()
    _refuse_content(command.path)
    claim, lost = _claim(session), False
    try:
        with keeping(source.check):
            table = _source(session, command, source)
            _refuse_missing(session, command, source, table)
            details = _made(command, source, CloneTarget(session, target, claim), table, report)
    except (Py4JError, ConnectionError) as error:
        # Without an answer of the JVM it may still commit. The dispatcher removes the copies once it has proven that it is gone.
        lost = not isinstance(error, Py4JJavaError)
        raise
    finally:
        commit = None if lost else _settled(session, command.path, claim, report)
    commit = commit or _own_commit(session, command.path)
    if commit is None:
        raise CommandRefused(Refusal("not_empty", "Delta committed nothing: another program made a table there."))
    report.point("commit visible")
    return recorded(commit, details | {"text": _text(command, commit)})


def _made(command: Clone, source: Directory, target: CloneTarget, table: Any, report: Report) -> dict[str, Any]:
    if command.depth == "deep":
        report.stage("copying files")
        report.point("Spark started")
        copies = copied_files(target.session, command, target, table, report)
        report.stage("committing")
        report.point("files copied")
        _check_both(source, target)
        with changing(target.directory):
            commit_deep(target.session, target, table, copies)
        return copies.details
    report.stage("committing")
    report.point("Spark started")
    _check_both(source, target)
    with changing(target.directory):
        commit_shallow(target.session, target, table)
    return {}


def _check_both(source: Directory, target: CloneTarget) -> None:
    """The last check before Delta writes: since the first one, either path may have become a link out of its root."""
    source.check()
    target.directory.check()


def _source(session: SparkSession, command: Clone, directory: Directory) -> Any:
    """Delta's object at the version to clone. Raises CommandRefused `version_gone` in Delta's own words."""
    try:
        return table_at(session, directory, command.version)
    except (PySparkException, Py4JJavaError) as error:
        failure = as_failure(error)
        if failure.condition not in GONE:
            raise
        raise CommandRefused(Refusal("version_gone", failure.message, remedy=REMEDY, engine=failure)) from error


def _refuse_missing(session: SparkSession, command: Clone, directory: Directory, then: Any) -> None:
    """An older version needs files that VACUUM may have removed; the newest one's are there."""
    now = table_at(session, directory, None)
    if int(now.initialSnapshot().version()) == command.version:
        return
    missing = missing_files(session, command.source, then, now)
    if missing:
        count = f"{len(missing):,} {'file' if len(missing) == 1 else 'files'}"
        text = f"Storage no longer holds {count} of version {command.version:,}, such as {missing[0]}."
        raise CommandRefused(Refusal("version_gone", text, place=missing[0], remedy=REMEDY))


def _refuse_content(path: str) -> None:
    """Raises CommandRefused `not_empty` with Delta's own condition."""
    try:
        name = next((name for name, _, _ in stores.tree_at(path).entries("")), None)
    except FileNotFoundError:  # an object store has no empty directories
        return
    if name is not None:
        table = f"delta.`{path}`"
        text = f"Cannot create table ('{table}'). The associated location ('{path}') is not empty and also not a Delta table."
        failure = EngineFailure("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", "42601", text)
        remedy = f"It holds {name[:100]}. Choose an empty or a new directory."
        raise CommandRefused(Refusal("not_empty", text, place=path, remedy=remedy, engine=failure))


def _claim(session: SparkSession) -> cleanup.CloneClaim:
    """The session's job and claim, which its copies' names carry."""
    job = json.loads(str(session.conf.get(USER_METADATA)))["job"]
    return cleanup.CloneClaim(str(job), int(str(session.conf.get(TOKEN))))


def _settled(session: SparkSession, path: str, claim: cleanup.CloneClaim, report: Report) -> HistoryCommit | None:
    """The job's commit. Without one the job's files are removed; they stay where the log doesn't tell, which is None as well."""
    try:
        commit = _own_commit(session, path)
    except (OSError, Unreachable) as error:
        report.log(f"Files of this job stay in {path}: its log can't be read ({error})")
        return None
    if commit is None:
        _wait_for_tasks(session)
        _clean(path, claim, report)
    return commit


def _own_commit(session: SparkSession, path: str) -> HistoryCommit | None:
    """The session's job's commit in the target. Raises OSError, Unreachable if its log can't be read."""
    return next((commit for commit in commits_after(path, BEFORE_ANY) if is_own(session, commit)), None)


def _wait_for_tasks(session: SparkSession) -> None:
    """A cancelled task ends only when it checks for the cancel, and could write one more file behind the cleaning up."""
    context, until = session.sparkContext, time.monotonic() + SETTLE_SECONDS
    tag = context.getLocalProperty("spark.jobGroup.id")
    try:
        while tag and progress.holds_slots(context, tag) and time.monotonic() < until:
            time.sleep(0.1)
    except (Py4JError, ConnectionError):
        return  # the JVM is gone, and its tasks with it


def _clean(path: str, claim: cleanup.CloneClaim, report: Report) -> None:
    try:
        cleanup.remove(path, claim)
    except (OSError, StorageError) as error:
        report.log(f"Files of this job stay in {path}: {error}")


def _text(command: Clone, commit: HistoryCommit) -> str:
    named, copied = (number_of(commit.operationMetrics, name) for name in ("sourceNumOfFiles", "numCopiedFiles"))
    if named is None:
        return "Delta recorded no numbers of files."
    of = f"version {commit.operationParameters.get('sourceVersion')} of {command.source_name or command.source}"
    if command.depth == "deep":
        return f"Copied {counted(copied or 0, 'file')} of {of}."
    return f"Names {counted(named, 'file')} of {of}, and copied none."


RUNNER = Runner(run_clone, preview_clone, paths=lambda command: (command.source, command.path))
