"""The table of Spark runners: the functions that preview and run each command, and those that answer each kind of read.

Separate from `jobs.commands.registry`, so that the web never loads Spark and an engine never loads Django.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from jobs.commands.alter_schema import spark as alter_schema
from jobs.commands.clone.spark import run as clone
from jobs.commands.convert.spark import run as convert
from jobs.commands.delete import spark as delete
from jobs.commands.drop_feature import spark as drop_feature
from jobs.commands.optimize import spark as optimize
from jobs.commands.reorg import spark as reorg
from jobs.commands.repair import spark as repair
from jobs.commands.restore import spark as restore
from jobs.commands.set_properties import spark as set_properties
from jobs.commands.stream_round.spark import run as stream_round
from jobs.commands.vacuum.spark import run as vacuum
from jobs.domain.engine import Report
from jobs.engine.constraints import read_constraints
from jobs.engine.metastore.names import read_metastore
from jobs.engine.profiles.reading import read_profile
from jobs.engine.row_diff.reading import read_row_diff
from jobs.engine.rows import read_changes, read_rows
from jobs.engine.runner import Question, Read, Runner
from jobs.engine.table_v2 import read_table

RUNNERS: dict[str, Runner] = {
    "alter_schema": alter_schema.RUNNER,
    "clone": clone.RUNNER,
    "convert": convert.RUNNER,
    "delete": delete.RUNNER,
    "drop_feature": drop_feature.RUNNER,
    "optimize": optimize.RUNNER,
    "reorg": reorg.RUNNER,
    "repair": repair.RUNNER,
    "restore": restore.RUNNER,
    "set_properties": set_properties.RUNNER,
    "stream_round": stream_round.RUNNER,
    "vacuum": vacuum.RUNNER,
}


def _read_table(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    report.stage("reading the table")
    return read_table(session, question)


def _read_rows(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    report.stage("reading rows")
    return read_rows(session, question)


def _read_changes(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    report.stage("reading the change feed")
    return read_changes(session, question)


def _read_row_diff(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    report.stage("comparing rows")
    return read_row_diff(session, question)


def _read_profile(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    report.stage("profiling columns")
    return read_profile(session, question)


def _read_metastore(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    report.stage("asking the metastore")
    return read_metastore(session, question)


READS: dict[str, Read] = {
    "deltatable": _read_table,
    "rows": _read_rows,
    "changes": _read_changes,
    "row_diff": _read_row_diff,
    "profile": _read_profile,
    "metastore": _read_metastore,
    "constraints": read_constraints,
    **{kind: read for runner in RUNNERS.values() for kind, read in runner.reads.items()},
}
