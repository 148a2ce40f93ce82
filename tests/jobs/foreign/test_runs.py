"""One run of each command on a table by each other engine: the log's prediction, what Delta did, and the rows that Spark reads then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.commands.alter_schema.comparison import compare as compare_alter
from jobs.commands.delete.comparison import compare as compare_delete
from jobs.commands.delete.log import from_log, with_count
from jobs.commands.optimize.comparison import compare as compare_optimize
from jobs.commands.reorg.comparison import compare as compare_reorg
from jobs.commands.set_properties.comparison import compare as compare_properties
from jobs.domain.comparison import Verdict
from jobs.domain.engine import UNCHECKED
from jobs.domain.errors import CommandRefused
from jobs.domain.predicates.stored import from_json
from tables.deltalog.replay.log import open_log
from tests.jobs.commands.alter_schema.test_spark import alter
from tests.jobs.commands.optimize.test_spark import optimize, subject_at
from tests.jobs.commands.reorg.test_spark import reorg
from tests.jobs.commands.restore.test_spark import look, restore
from tests.jobs.commands.set_properties.test_spark import change
from tests.jobs.commands.vacuum.test_spark import vacuum
from tests.jobs.engine.deltas import deletion
from tests.jobs.foreign.conftest import Written
from tests.jobs.foreign.writers import WRITERS

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
__all__ = ["alter", "change", "look", "optimize", "reorg", "restore", "vacuum"]  # the fixtures

# Of each writer, a table that had changes of many kinds before.
TABLES = {"polars": ("merged", "partitioned"), "duckdb": ("several", "checkpointed")}
OTHERWISE = ("deleted", "checkpointed", "merged")
CASES = [
    pytest.param(writer, table, id=f"{writer}-{table}") for writer in WRITERS for table in TABLES.get(writer, OTHERWISE)
]


@pytest.fixture
def spark(runtime: Any) -> SparkSession:
    session: SparkSession = runtime.new_session()
    return session


def rows(spark: SparkSession, path: Path, **travel: Any) -> Counter[Any]:
    reader = spark.read.format("delta")
    for name, value in travel.items():
        reader = reader.option(name, value)
    return Counter(row["id"] for row in reader.load(str(path)).select("id").collect())


def is_read(path: Path, operation: str) -> None:
    """The log reader takes what Spark has added to the other engine's log."""
    run = open_log(str(path)).sync(path.parent / "after.arrow")
    assert list(run.commits())[-1].operation == operation
    assert (run.snapshot().complete, run.snapshot().problems) == (True, ())


def verdicts(compared: Callable[[Any, Any], Any], preview: Any, result: Any) -> dict[str, Any]:
    return {line.name: line for line in compared(preview, result) if line.verdict is Verdict.DIFFERENT}


@pytest.mark.parametrize(("writer", "table"), CASES)
def test_a_delete(spark, engine, marks, report, written: Written, writer: str, table: str) -> None:
    path = written(writer, table)
    before = rows(spark, path)
    gone = {min(before), max(before)}
    command = deletion(path, f"id IN ({min(gone)}, {max(gone)})")
    assert command.tree
    matched = engine.preview(command, None, marks, report)
    preview = with_count(from_log(subject_at(path), from_json(command.tree)), subject_at(path), matched)
    result = engine.run(command, preview, UNCHECKED, marks, report)
    assert verdicts(compare_delete, preview, result) == {}
    assert rows(spark, path) == Counter({number: count for number, count in before.items() if number not in gone})
    is_read(path, "DELETE")


@pytest.mark.parametrize(("writer", "table"), CASES)
def test_an_optimize_and_a_vacuum(spark, optimize, vacuum, written: Written, writer: str, table: str) -> None:
    path = written(writer, table)
    before = rows(spark, path)
    preview, result = optimize(path)
    assert verdicts(compare_optimize, preview, result) == {}
    assert result.no_op is (preview["files_in"] == 0)
    assert rows(spark, path) == before
    preview, result = vacuum(path, None)
    assert preview["files"] == 0
    assert rows(spark, path) == before
    if not result.no_op:
        is_read(path, "VACUUM END")


@pytest.mark.parametrize(("writer", "table"), CASES)
def test_a_restore(spark, restore, written: Written, writer: str, table: str) -> None:
    path = written(writer, table)
    before = rows(spark, path, versionAsOf=0)
    restore(path, 0)
    assert rows(spark, path) == before
    is_read(path, "RESTORE")


@pytest.mark.parametrize(("writer", "table"), CASES)
def test_a_property_a_column_and_a_reorg(
    spark, change, alter, reorg, written: Written, writer: str, table: str
) -> None:
    path = written(writer, table)
    before = rows(spark, path)
    preview, result = change(path, set={"delta.checkpointInterval": "50"})
    assert verdicts(compare_properties, preview, result) == {}
    preview, result = alter(
        path, {"add": {"path": "later", "type": "date"}}, {"comment": {"path": "name", "text": "it's"}}
    )
    assert verdicts(compare_alter, preview, result) == {}
    is_read(path, "CHANGE COLUMN")
    preview, result = reorg(path)
    assert verdicts(compare_reorg, preview, result) == {}
    assert rows(spark, path) == before


def test_a_vacuum_of_files_that_are_not_where_the_log_says_is_refused(vacuum, written: Written) -> None:
    """DuckDB's own files would be taken for leftovers: they are the only copy of its rows."""
    path = written("duckdb", "by_texts")
    with pytest.raises(CommandRefused, match="undecoded text"):
        vacuum(path, 0)
    assert list(path.glob("*/duckdb*"))
