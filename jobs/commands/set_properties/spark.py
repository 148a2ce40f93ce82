"""SET and UNSET TBLPROPERTIES of a Delta table: Delta's own checks and commands, given values and never SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from console.base.text.masking import masked_properties
from jobs.commands.set_properties.rules import SET, UNSET, SetProperties
from jobs.domain.engine import Checked, Report
from jobs.domain.errors import EngineFailure
from jobs.domain.results import Result, failed_afterwards, with_warnings
from jobs.engine.commits.history import HistoryCommit, commits_after, is_own, recorded_together
from jobs.engine.definitions.redefined import REDEFINED, is_redefined, refuse_redefined
from jobs.engine.definitions.tables import committed_parts, configuration_of, mapping_of, protocol_of
from jobs.engine.directory import changing, judged, keeping
from jobs.engine.errors import CANCELLED, as_failure
from jobs.engine.runner import Runner
from jobs.engine.table_v2 import loaded_table
from jobs.engine.versions import started

DELTA = "org.apache.spark.sql.delta"
RETENTIONS = ("delta.logRetentionDuration", "delta.deletedFileRetentionDuration")


def run_properties(
    session: SparkSession, command: SetProperties, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Sets and unsets, and returns the commits, the properties and the protocol that the table has then.

    If one of its commits stands and a later one fails, the result has the first ones and `details.failure`. Raises CommandRefused
    (`outside_roots`, `stale`) before any change and DirectorySwapped after one; a failure before any commit passes through.
    """
    directory = judged(command.path)
    with keeping(directory.check):
        head = started(session, directory, checked)
        refuse_redefined(session, directory.path, checked)
    report.point("Spark started")
    failure = None
    warnings: list[str] = []
    steps = [each for each in ((SET, _set, command.set), (UNSET, _unset, command.unset)) if each[2]]
    for number, (operation, step, _) in enumerate(steps):
        report.stage("setting properties" if operation == SET else "unsetting properties")
        # The last check before Delta writes. A refusal would say that nothing was changed, which is true of the first step alone.
        directory.check_after() if number else directory.check()
        own = _own(session, command, head) if number else []
        if own and is_redefined(session, directory.path, own[-1].version):
            failure = EngineFailure(None, None, REDEFINED).as_json()
            break
        # Its files aren't checked one by one as for a reader: a change of properties reads none of them.
        table = loaded_table(session, {"path": directory.path})
        with changing(directory):
            failure = _attempted(step, session, command, table, head)
        if failure is not None and operation in [commit.operation for commit in _own(session, command, head)]:
            # Delta can fail after its commit, in a hook: then the change is made, and the one after it follows.
            warnings.append(failed_afterwards(failure["message"]))
            report.log(warnings[-1])
            failure = None
        if failure is not None:
            break
    report.stage("reading the commits")
    commits = _own(session, command, head)
    report.point("commit visible")
    table = loaded_table(session, {"path": directory.path})
    names = (*command.set, *command.unset)
    configuration = configuration_of(table)
    details = {
        "text": _text(command, failure),
        "commits": committed_parts(commits),
        "after": masked_properties({name: configuration.get(name) for name in names if name in preview["after"]}),
        "protocol_after": protocol_of(table),
    }
    result = recorded_together(commits, details | ({"failure": failure} if failure else {}))
    return with_warnings(result, *warnings)


def _attempted(
    step: Callable[..., None], session: SparkSession, command: SetProperties, table: Any, head: int
) -> dict[str, Any] | None:
    """Runs one step; returns its failure if the job has committed something by then, which has to be recorded. Other failures, and
    that of work that Levee stops, pass through. Row tracking alone makes one step commit more than once."""
    try:
        step(session, command, table)
    except (PySparkException, Py4JError) as error:
        found = as_failure(error)
        if found.condition == CANCELLED or not _own(session, command, head):
            raise
        return found.as_json()
    return None


def _own(session: SparkSession, command: SetProperties, head: int) -> list[HistoryCommit]:
    """The job's own commits after a version, oldest first."""
    return [commit for commit in commits_after(command.path, head) if is_own(session, commit)]


def _set(session: SparkSession, command: SetProperties, table: Any) -> None:
    """As the catalog does it: Delta's check of every value, then its command. Delta compares the two retentions of one statement
    alone; with the table's own beside them it compares those that will hold."""
    jvm: Any = session._jvm
    configs = getattr(getattr(getattr(jvm, DELTA), "DeltaConfigs$"), "MODULE$")
    current = configuration_of(table)
    stays = {name: current[name] for name in RETENTIONS if name in current and name not in command.unset}
    checked = {**stays, **command.set}
    valid = mapping_of(configs.validateConfigurations(jvm.PythonUtils.toScalaMap(checked)))
    given = {name: value for name, value in valid.items() if name in command.set}
    commands = getattr(jvm, f"{DELTA}.commands")
    commands.AlterTableSetPropertiesDeltaCommand(table, jvm.PythonUtils.toScalaMap(given)).run(session._jsparkSession)


def _unset(session: SparkSession, command: SetProperties, table: Any) -> None:
    jvm: Any = session._jvm
    names = jvm.PythonUtils.toSeq(list(command.unset))
    commands = getattr(jvm, f"{DELTA}.commands")
    commands.AlterTableUnsetPropertiesDeltaCommand(table, names, True, False).run(session._jsparkSession)


def _text(command: SetProperties, failure: Mapping[str, Any] | None) -> str:
    if failure is not None:
        return "One of its commits failed, so the table has a part of the change."
    parts = [f"{word} {len(given):,}" for word, given in (("set", command.set), ("unset", command.unset)) if given]
    return f"Properties: {', '.join(parts)}."


RUNNER = Runner(run_properties)
