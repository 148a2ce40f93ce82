"""Delta's executor of OPTIMIZE and REORG, given the predicate as an expression, and the result read from its commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from console.base.text.counted import counted
from jobs.domain.comparison import number_of
from jobs.domain.engine import Checked, Report
from jobs.domain.packing import MAX_FILE_BYTES, MIN_FILE_BYTES, MOST_DELETED
from jobs.domain.predicates.stored import from_json
from jobs.domain.results import Result
from jobs.engine.commits.history import HistoryCommit, commits_after, is_own, recorded
from jobs.engine.directory import changing, judged, keeping
from jobs.engine.predicates import column_of
from jobs.engine.versions import started, table_at

NOTHING = "Delta found nothing to rewrite and committed nothing."
COMMANDS = "org.apache.spark.sql.delta.commands"
# What the prediction counts with.
SETTINGS = {
    "spark.databricks.delta.optimize.minFileSize": str(MIN_FILE_BYTES),
    "spark.databricks.delta.optimize.maxFileSize": str(MAX_FILE_BYTES),
    "spark.databricks.delta.optimize.maxDeletedRowsRatio": str(MOST_DELETED),
}

# With it Delta would commit in several steps.
BATCH_SIZE = "spark.databricks.delta.optimize.batchSize"


def rewritten(
    session: SparkSession, path: str, checked: Checked, report: Report, executor_of: Callable[[Any], Any]
) -> Result:
    """Runs the executor that `executor_of` makes for the newest snapshot of the table at `path`, and returns what Delta recorded.

    Raises CommandRefused (`outside_roots`) before any change and DirectorySwapped after one; Delta's refusals and conflicts pass
    through.
    """
    directory = judged(path)
    with keeping(directory.check):
        head = started(session, directory, checked)
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    session.conf.unset(BATCH_SIZE)
    report.stage("choosing files")
    executor = executor_of(table_at(session, directory, None).initialSnapshot())
    report.stage("rewriting files")
    report.point("Spark started")
    # The last check before Delta writes: since the first one, the path may have become a link out of the root.
    directory.check()
    with changing(directory):
        executor.optimize()
        report.stage("reading the commit")
        commit = next((commit for commit in commits_after(path, head) if is_own(session, commit)), None)
    if commit is None:
        report.log(NOTHING)
        return Result(version=None, operation=None, no_op=True, details={"text": NOTHING})
    report.point("commit visible")
    return recorded(commit, {"text": _text(commit)})


def executor(
    session: SparkSession, snapshot: Any, tree: Mapping[str, Any] | None, columns: list[str], context: Any
) -> Any:
    """Delta's executor on a snapshot. Delta's API takes a predicate as SQL; its executor takes the expression of `tree`."""
    package = delta_commands(session)
    none = option(session)
    predicates = [] if tree is None else [_expression(session, tree)]
    arguments = (seq(session, predicates), seq(session, columns), False, context)
    return package.OptimizeExecutor(session._jsparkSession, snapshot, none, *arguments)


def delta_commands(session: SparkSession) -> Any:
    """Delta's package of commands."""
    return getattr(session._jvm, COMMANDS)


def option(session: SparkSession, value: Any = None) -> Any:
    """Scala's Option of a value of the JVM; None is empty."""
    jvm: Any = session._jvm
    return jvm.scala.Option.apply(value)


def seq(session: SparkSession, values: list[Any]) -> Any:
    """Scala's Seq of values of the JVM."""
    jvm: Any = session._jvm
    return jvm.PythonUtils.toSeq(values)


def _expression(session: SparkSession, tree: Mapping[str, Any]) -> Any:
    return session._jsparkSession.expression(column_of(from_json(tree), session)._jc)


def _text(commit: HistoryCommit) -> str:
    removed, added = (number_of(commit.operationMetrics, name) for name in ("numRemovedFiles", "numAddedFiles"))
    if removed is None or added is None:
        return "Delta recorded no numbers of files."
    return f"Wrote {counted(removed, 'file')} again as {counted(added, 'file')}."
