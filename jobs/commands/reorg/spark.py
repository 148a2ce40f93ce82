"""REORG TABLE … APPLY (PURGE) of a Delta table by Delta's own executor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from jobs.commands.reorg.rules import Reorg
from jobs.domain.engine import Checked, Report
from jobs.domain.results import Result
from jobs.engine.runner import Runner
from jobs.engine.runs.rewriting import delta_commands, executor, option, rewritten


def run_reorg(
    session: SparkSession, command: Reorg, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Rewrites the files with deleted rows or dropped columns, and returns what Delta recorded. Raises as `rewritten` does."""
    return rewritten(session, command.path, checked, report, lambda snapshot: _executor(session, command, snapshot))


def _executor(session: SparkSession, command: Reorg, snapshot: Any) -> Any:
    """With the context that DeltaReorgTableCommand makes for PURGE: every file counts as large, and any deleted row as too many."""
    package, none = delta_commands(session), option(session)
    purge = option(session, package.DeltaPurgeOperation())
    context = package.DeltaOptimizeContext(purge, _zero_bytes(session), none, option(session, 0.0), False)
    return executor(session, snapshot, command.tree, [], context)


def _zero_bytes(session: SparkSession) -> Any:
    """Scala's Option of 0 as a long; py4j would make an int of a number that fits one, which Delta can't read."""
    jvm: Any = session._jvm
    return jvm.scala.jdk.javaapi.OptionConverters.toScala(jvm.java.util.OptionalLong.of(0))


RUNNER = Runner(run_reorg)
