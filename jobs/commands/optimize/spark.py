"""OPTIMIZE of a Delta table by Delta's own executor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from jobs.commands.optimize.rules import Optimize
from jobs.domain.engine import Checked, Report
from jobs.domain.results import Result
from jobs.engine.runner import Rehearsal, Runner
from jobs.engine.runs.rewriting import delta_commands, executor, option, rewritten, seq


def run_optimize(
    session: SparkSession, command: Optimize, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Rewrites the files, and returns what Delta recorded. Raises as `rewritten` does."""
    return rewritten(session, command.path, checked, report, lambda snapshot: _executor(session, command, snapshot))


def _executor(session: SparkSession, command: Optimize, snapshot: Any) -> Any:
    none = option(session)
    context = delta_commands(session).DeltaOptimizeContext(none, none, none, none, command.full)
    columns = list(command.zorder_by or ())
    _check_columns(session, snapshot, context, columns)
    return executor(session, snapshot, command.tree, columns, context)


def _check_columns(session: SparkSession, snapshot: Any, context: Any, columns: list[str]) -> None:
    """Delta's own check of columns to sort by, which its command makes before the executor: they exist and have statistics."""
    jvm: Any = session._jvm
    attributes = jvm.org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
    named = seq(session, [attributes.quotedString(name) for name in columns])
    path = jvm.scala.Some(str(snapshot.path().getParent()))
    maker = getattr(getattr(delta_commands(session), "OptimizeTableCommand$"), "MODULE$")
    command = maker.apply(path, option(session), seq(session, []), context, named)
    command.validateZorderByColumns(session._jsparkSession, snapshot, named)


RUNNER = Runner(run_optimize, rehearsal=Rehearsal())
