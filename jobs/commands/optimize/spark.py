"""OPTIMIZE of a Delta table: Delta's own executor, given the predicate as an expression, and the result read from its commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from pyspark.sql import SparkSession

from jobs.commands.optimize.rules import MAX_FILE_BYTES, MIN_FILE_BYTES, MOST_DELETED, Optimize
from jobs.domain.comparison import number_of
from jobs.domain.engine import Checked, Report
from jobs.domain.predicates.stored import from_json
from jobs.domain.results import Result
from jobs.engine.directory import Directory, changing, judged, keeping
from jobs.engine.history import Commit, commits_after, is_own, recorded
from jobs.engine.predicates import column_of
from jobs.engine.runner import Runner
from jobs.engine.versions import started, table_at

NO_PREVIEW = "an optimize has no preview by Spark: the log tells which files Delta rewrites"
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


def preview_optimize(session: SparkSession, command: Optimize, version: int | None, report: Report) -> NoReturn:
    """Raises TypeError: nobody asks for one."""
    raise TypeError(NO_PREVIEW)


def run_optimize(
    session: SparkSession, command: Optimize, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Rewrites the files, and returns what Delta recorded.

    Raises CommandRefused (`outside_roots`) before any change and DirectorySwapped after one; Delta's refusals and conflicts pass
    through.
    """
    directory = judged(command.path)
    with keeping(directory.check):
        head = started(session, directory, checked)
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    session.conf.unset(BATCH_SIZE)
    report.stage("choosing files")
    executor = _executor(session, command, directory)
    report.stage("rewriting files")
    report.point("Spark started")
    # The last check before Delta writes: since the first one, the path may have become a link out of the root.
    directory.check()
    with changing(directory):
        executor.optimize()
        report.stage("reading the commit")
        commit = next((commit for commit in commits_after(command.path, head) if is_own(session, commit)), None)
    if commit is None:
        report.log(NOTHING)
        return Result(version=None, operation=None, no_op=True, details={"text": NOTHING})
    report.point("commit visible")
    return recorded(commit, {"text": _text(commit)})


def _executor(session: SparkSession, command: Optimize, directory: Directory) -> Any:
    """Delta's executor on the newest snapshot. Delta's API takes a predicate as SQL; its executor takes the expression."""
    jvm: Any = session._jvm
    package = getattr(jvm, COMMANDS)
    snapshot = table_at(session, directory, None).initialSnapshot()
    none = jvm.scala.Option.empty()
    context = package.DeltaOptimizeContext(none, none, none, none, command.full)
    columns = list(command.zorder_by or ())
    _check_columns(session, snapshot, context, columns)
    return package.OptimizeExecutor(
        session._jsparkSession,
        snapshot,
        none,
        _seq(session, _expressions(session, command)),
        _seq(session, columns),
        False,
        context,
    )


def _expressions(session: SparkSession, command: Optimize) -> list[Any]:
    if command.tree is None:
        return []
    column = column_of(from_json(command.tree), session)
    return [session._jsparkSession.expression(column._jc)]


def _check_columns(session: SparkSession, snapshot: Any, context: Any, columns: list[str]) -> None:
    """Delta's own check of columns to sort by, which its command makes before the executor: they exist and have statistics."""
    jvm: Any = session._jvm
    attributes = jvm.org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
    named = _seq(session, [attributes.quotedString(name) for name in columns])
    none = jvm.scala.Option.empty()
    path = jvm.scala.Some(str(snapshot.path().getParent()))
    maker = getattr(getattr(getattr(jvm, COMMANDS), "OptimizeTableCommand$"), "MODULE$")
    command = maker.apply(path, none, _seq(session, []), context, named)
    command.validateZorderByColumns(session._jsparkSession, snapshot, named)


def _seq(session: SparkSession, values: list[Any]) -> Any:
    jvm: Any = session._jvm
    return jvm.PythonUtils.toSeq(values)


def _text(commit: Commit) -> str:
    removed, added = (number_of(commit.operationMetrics, name) for name in ("numRemovedFiles", "numAddedFiles"))
    if removed is None or added is None:
        return "Delta recorded no numbers of files."
    return f"Wrote {_files(removed)} again as {_files(added)}."


def _files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"


RUNNER = Runner(preview_optimize, run_optimize)
