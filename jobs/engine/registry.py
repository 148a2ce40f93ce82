"""Which functions preview and run each command, and answer each read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from jobs.domain.commands import Convert, Delete, Restore
from jobs.domain.engine import Checked, Report
from jobs.domain.measures import Measure
from jobs.domain.results import Result
from jobs.engine.convert import preview_convert, run_convert
from jobs.engine.delete import preview_delete, run_delete
from jobs.engine.inspect import inspect
from jobs.engine.restore import preview_restore, run_restore
from jobs.engine.rows import read_changes, read_rows
from jobs.engine.table_v2 import read_table


@dataclass(frozen=True, slots=True)
class Runner:
    """How one command is previewed and run."""

    preview: Callable[[SparkSession, Any, int | None, Report], Measure]
    run: Callable[[SparkSession, Any, Mapping[str, Any], Checked, Report], Result]


RUNNERS: dict[str, Runner] = {
    Convert.kind: Runner(preview_convert, run_convert),
    Delete.kind: Runner(preview_delete, run_delete),
    Restore.kind: Runner(preview_restore, run_restore),
}

Question = Mapping[str, Any]


def _read_inspection(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    return inspect(session, str(question["path"]), report).as_json()


def _read_table(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    report.stage("reading the table")
    return read_table(session, question)


def _read_rows(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    report.stage("reading rows")
    return read_rows(session, question)


def _read_changes(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    report.stage("reading the change feed")
    return read_changes(session, question)


def _read_matched(session: SparkSession, question: Question, report: Report) -> dict[str, Any]:
    """The rows that a delete would remove, counted: `path`, `tree` (None: all rows), `version`."""
    command = Delete(table="", predicate=None, path=str(question["path"]), tree=question["tree"])
    found = preview_delete(session, command, int(question["version"]), report)
    return {
        "rows": found.rows,
        "rows_total": found.rows_total,
        "rows_hash": found.rows_hash,
        "files": len(found.files),
        "bytes": found.bytes,
    }


READS: Mapping[str, Callable[[SparkSession, Question, Report], dict[str, Any]]] = {
    "inspect": _read_inspection,
    "deltatable": _read_table,
    "rows": _read_rows,
    "changes": _read_changes,
    "matched": _read_matched,
}
