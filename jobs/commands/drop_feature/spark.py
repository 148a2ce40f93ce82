"""DROP FEATURE of a Delta table by Delta's own command. Where Delta asks to wait, the result says until when."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from console.base.text.counted import counted
from jobs.commands.drop_feature.rules import MADE_CHANGES, PROTECTION, WAITING, DropFeature
from jobs.domain.engine import Checked, Report
from jobs.domain.errors import EngineFailure
from jobs.domain.results import Result
from jobs.engine.commits.history import commits_after, is_own, recorded_together
from jobs.engine.definitions.redefined import refuse_redefined
from jobs.engine.definitions.tables import committed_parts, protocol_of, retention_ms
from jobs.engine.directory import changing, judged, keeping
from jobs.engine.errors import as_failure
from jobs.engine.runner import Runner
from jobs.engine.versions import started, table_at

COMMANDS = "org.apache.spark.sql.delta.commands"
FAST = "spark.databricks.delta.tableFeatures.fastDropFeature.enabled"
MINUTE = timedelta(minutes=1)


def run_drop(
    session: SparkSession, command: DropFeature, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Drops the feature, or takes the first of two steps; returns all commits, and in `details.ask_again_after` when to ask again.

    Raises CommandRefused (`outside_roots`, `stale`) before any change and DirectorySwapped after one; a failure without a commit passes
    through unless it asks to wait.
    """
    directory = judged(command.path)
    with keeping(directory.check):
        head = started(session, directory, checked)
        refuse_redefined(session, directory.path, checked)
    # What the prediction counts with.
    session.conf.set(FAST, "true")
    table = table_at(session, directory, None)
    report.stage("dropping the feature")
    report.point("Spark started")
    failure = None
    with changing(directory):
        try:
            _drop(session, command, table)
        except (PySparkException, Py4JError) as error:
            failure = as_failure(error)
            if not _is_handled(failure, command, head, session):
                raise
    report.stage("reading the commits")
    commits = [commit for commit in commits_after(command.path, head) if is_own(session, commit)]
    later = table_at(session, directory, None)
    details = {"commits": committed_parts(commits), "protocol_after": protocol_of(later)}
    if failure is not None and failure.condition in WAITING:
        details |= _waiting(failure, command, later, preview)
    elif failure is not None:
        details |= {"text": "Delta made some of the commits, then failed.", "failure": failure.as_json()}
    else:
        details |= {"text": f"The feature {command.feature} left the protocol in {counted(len(commits), 'commit')}."}
    if not commits:
        report.log(str(details["text"]))
        return Result(version=None, operation=None, no_op=True, details=details)
    report.point("commit visible")
    return recorded_together(commits, details)


def _drop(session: SparkSession, command: DropFeature, table: Any) -> None:
    jvm: Any = session._jvm
    drop = getattr(jvm, COMMANDS).AlterTableDropFeatureDeltaCommand(table, command.feature, command.truncate_history)
    drop.run(session._jsparkSession)


def _is_handled(failure: EngineFailure, command: DropFeature, head: int, session: SparkSession) -> bool:
    """Whether the failure asks to wait, or came after a commit of this job, which then has to be recorded."""
    if failure.condition in WAITING:
        return True
    return any(is_own(session, commit) for commit in commits_after(command.path, head))


def _waiting(failure: EngineFailure, command: DropFeature, table: Any, preview: Mapping[str, Any]) -> dict[str, Any]:
    """Until when to wait: from the first step's checkpoint on, by Delta's clock of whole minutes.

    A request that only came too early keeps the time of the first step, which its preview has; without one, it counts from now.
    """
    now = datetime.now(UTC)
    milliseconds = retention_ms(table, "TABLE_FEATURE_DROP_TRUNCATE_HISTORY_LOG_RETENTION")
    after = (now + timedelta(milliseconds=milliseconds)).replace(second=0, microsecond=0) + MINUTE
    known = preview.get("ask_again_after")
    if known and failure.condition != MADE_CHANGES and now < datetime.fromisoformat(known) < after:
        after = datetime.fromisoformat(known)
    step = (
        "The log still has versions that need it."
        if command.feature == PROTECTION
        else "The feature is no longer used, but older versions in the log still have it."
    )
    when = after.strftime("%Y-%m-%d %H:%M UTC")
    text = f"{step} Request the same again after {when}: then Delta can cut the history and drop {command.feature}."
    return {"text": text, "ask_again_after": after.isoformat(), "condition": failure.condition}


RUNNER = Runner(run_drop)
