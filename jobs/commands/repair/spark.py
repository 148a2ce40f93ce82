"""A repair of a Delta table: one commit of Delta's own transaction, with a removal of each file that storage was approved to lack.

Delta 4.4.0 has no such command, so the transaction is begun here. Its operation is named by `TestOperation`, the one of Delta's that takes
any name; it records no metrics, so what was taken out is read from the commit's own actions.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from console.base.text.counted import counted
from jobs.commands.repair.rules import AGAIN, LOOK_SECONDS, OPERATION, Repair, back_again, details_of, untold
from jobs.domain.engine import Checked, Report
from jobs.domain.errors import ANOTHER_TABLE, CommandRefused, Refusal
from jobs.domain.results import Result
from jobs.engine.commits.history import HistoryCommit, commits_after, commits_before, is_own, recorded
from jobs.engine.directory import Directory, changing, judged, keeping
from jobs.engine.inside import refuse_redirect
from jobs.engine.runner import Runner
from jobs.engine.runs.rewriting import option, seq
from jobs.engine.session import TXN_APP_ID, TXN_VERSION
from jobs.engine.table_v2 import loaded_table
from jobs.engine.versions import started
from tables.deltalog.read.paths import canonical
from tables.deltalog.replay.absent_files import Absent, LookTooLong, Named, digest_of, lacking, look, removed_by
from tables.deltalog.replay.needed_files import vector_path
from tables.storage.store import StorageError

DELTA = "org.apache.spark.sql.delta"
AT_ONCE = 5_000  # paths that one filter holds
RUN_SECONDS = 2 * LOOK_SECONDS  # for what a preview could ask for in one
OTHER = "Other files are missing now than those that were approved: {now:,} by this look, {then:,} in the preview."


def run_repair(
    session: SparkSession, command: Repair, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Takes the approved files out, and returns what the commit's actions say. If this job has already committed, returns that commit.

    Raises CommandRefused before any change: `stale` if other files are missing now, `unreadable` if storage doesn't tell, `outside_roots`;
    DirectorySwapped after one. Delta's refusals and conflicts pass through.
    """
    directory = judged(command.path)
    with keeping(directory.check):
        head = started(session, directory, checked)
        transaction = _begun(session, directory, preview)
    if commit := _committed_before(session, command.path, transaction.snapshot()):
        return _result(command.path, commit)
    report.stage("asking storage")
    missing = _approved(command.path, _named(session, transaction.snapshot()), preview, report)
    removals = _removals(session, transaction.snapshot(), missing)
    report.stage("committing")
    report.point("Spark started")
    _refuse_back(command.path, missing)
    # The last check before Delta writes: since the first one, the path may have become a link out of the root.
    directory.check()
    with changing(directory):
        transaction.commit(seq(session, [*removals, _mark(session)]), _operation(session))
        commit = next((commit for commit in commits_after(command.path, head) if is_own(session, commit)), None)
    if commit is None:
        raise RuntimeError("Delta committed, and the log holds no commit of this job")
    report.point("commit visible")
    return _result(command.path, commit)


def _begun(session: SparkSession, directory: Directory, preview: Mapping[str, Any]) -> Any:
    """Delta's transaction on the newest version. No file of the table is opened, so some may lie outside its directory."""
    log = loaded_table(session, {"path": directory.path}).deltaLog()
    refuse_redirect(log.dataPath(), directory.path)
    directory.check()
    transaction = log.startTransaction()
    if transaction.snapshot().metadata().id() != preview["table_id"]:
        raise CommandRefused(Refusal("stale", ANOTHER_TABLE, remedy=AGAIN))
    return transaction


def _committed_before(session: SparkSession, path: str, snapshot: Any) -> HistoryCommit | None:
    """The commit of an earlier attempt, whose transaction the table then has."""
    if not snapshot.transactions().contains(session.conf.get(TXN_APP_ID)):
        return None
    older = commits_before(path, int(snapshot.version()))
    return next((commit for commit in older if is_own(session, commit)), None)


def _named(session: SparkSession, snapshot: Any) -> list[Named]:
    """The paths of the snapshot's files as Delta has them, with those of their deletion vectors' files."""
    files = DataFrame(snapshot.allFiles().toDF(), session)
    rows = files.select("path", "deletionVector.storageType", "deletionVector.pathOrInlineDv").collect()
    return [(row["path"], vector_path(row["storageType"], row["pathOrInlineDv"])) for row in rows]


def _approved(path: str, files: Sequence[Named], preview: Mapping[str, Any], report: Report) -> tuple[str, ...]:
    """The missing files, which must be those that people approved. Raises CommandRefused `stale`, `unreadable`, `too_many_files`."""
    found = _looked(path, files, report)
    report.log(f"Storage lacks {len(found.missing):,} of {counted(found.asked, 'file')}.")
    if found.digest != preview["missing_sha256"]:
        live = {canonical(name) for name, _ in files}
        gone = {canonical(name) for name in found.missing}
        back = [name for name in preview["sample"] if canonical(name) in live - gone]
        raise CommandRefused(Refusal("stale", _why(back, found, preview), place=_place(path, back), remedy=AGAIN))
    return found.missing


def _looked(path: str, files: Sequence[Named], report: Report) -> Absent:
    told = [time.monotonic()]

    def tell(asked: int, of: int) -> None:
        if time.monotonic() - told[0] > 10:
            told[0] = time.monotonic()
            report.log(f"Storage has answered for {asked:,} of {counted(of, 'file')}.")

    try:
        return look(path, files, RUN_SECONDS, tell)
    except LookTooLong as error:
        text = f"Storage answered for {error.asked:,} of {counted(error.of, 'file')} in {RUN_SECONDS:,.0f} seconds."
        raise CommandRefused(
            Refusal("too_many_files", text, remedy="Request it again when storage is quicker.")
        ) from None
    except StorageError as error:
        raise untold(error) from None


def _why(back: Sequence[str], found: Absent, preview: Mapping[str, Any]) -> str:
    if back:
        return back_again(back)
    return OTHER.format(now=len(found.missing), then=preview["files"])


def _place(path: str, back: Sequence[str]) -> str:
    return f"{path.rstrip('/')}/{back[0]}" if back else path


def _refuse_back(path: str, missing: Sequence[str]) -> None:
    """The look at all files may have taken long: the missing ones are asked for once more, right before the commit."""
    try:
        still = set(lacking(path, missing, RUN_SECONDS))
    except (StorageError, LookTooLong) as error:
        raise untold(error) from None
    back = [name for name in missing if name not in still]
    if back:
        raise CommandRefused(Refusal("stale", back_again(back), place=_place(path, back), remedy=AGAIN))


def _removals(session: SparkSession, snapshot: Any, missing: Sequence[str]) -> list[Any]:
    """Delta's removals of exactly these files of the snapshot."""
    now = int(time.time() * 1000)
    files = [file for part in _parts(missing) for file in _files(snapshot, part)]
    if digest_of(file.path() for file in files) != digest_of(missing):
        raise RuntimeError("the snapshot doesn't give the files that it named")
    return [file.removeWithTimestamp(now, True) for file in files]


def _files(snapshot: Any, paths: Sequence[str]) -> list[Any]:
    named = F.col("path").isin(list(paths))
    return list(snapshot.allFiles().filter(named._jc).collectAsList())


def _parts(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(paths), AT_ONCE):
        yield paths[start : start + AT_ONCE]


def _mark(session: SparkSession) -> Any:
    """The job's transaction, which Delta's own commands add by the session's settings."""
    app, version = session.conf.get(TXN_APP_ID), int(str(session.conf.get(TXN_VERSION)))
    actions = getattr(session._jvm, f"{DELTA}.actions")
    return actions.SetTransaction(app, version, option(session, int(time.time() * 1000)))


def _operation(session: SparkSession) -> Any:
    jvm: Any = session._jvm
    return getattr(getattr(jvm, DELTA), "DeltaOperations$TestOperation")(OPERATION, option(session))


def _result(path: str, commit: HistoryCommit) -> Result:
    try:
        removed = removed_by(path, commit.version)
    except (StorageError, OSError):  # whoever ends the job reads it again
        removed = None
    if removed is None:
        return recorded(commit, {"text": "The commit’s own actions couldn’t be read."})
    details = details_of(removed.paths, removed.bytes, removed.rows)
    details["text"] = f"Took {counted(len(removed.paths), 'missing file')} out of the table."
    return recorded(commit, details, removed.rows)


RUNNER = Runner(run_repair)
