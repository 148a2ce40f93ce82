"""Tables by other engines beside Spark's own reading of them: protocol, metadata, files, rows, history."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from pyspark.errors.exceptions.captured import SparkRuntimeException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tables.deltalog.read.parsing import MISMATCH
from tables.deltalog.read.paths import decoded
from tables.deltalog.replay.log import open_log
from tables.deltalog.replay.obstacles import obstacles
from tables.deltalog.state.snapshot import Snapshot
from tests.jobs.engine.test_log_witness import compare_detail, compare_history, compare_state, history
from tests.jobs.foreign.conftest import Written
from tests.jobs.foreign.writers import CASES

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

# Files of older versions are gone.
LOST = {"repaired", "vacuumed"}
# DuckDB 1.5 names a directory `p=a%20b` and the log calls it so: whoever decodes the log's path, as the protocol asks, finds no file.
UNREADABLE = {("duckdb", "by_texts")}
# deltalake up to 0.25 writes empty lists of features beside versions of the protocol that have none: no Delta in Spark opens that.
NO_PROTOCOL = {
    *(("deltalake-0.15", table) for table in ("constrained", "restored")),
    *(("deltalake-0.25", table) for table in ("constrained", "feature_added", "restored", "unconstrained")),
}
# Its metrics hold lists and objects, or its parameters NULL, over which Spark's DESCRIBE HISTORY fails as a whole; the table it reads.
UNTOLD = {("deltalake-0.15", table) for table in ("compacted", "constrained", "repaired", "restored", "zordered")}


@pytest.fixture
def spark(runtime: Any) -> SparkSession:
    session: SparkSession = runtime.new_session()
    return session


@pytest.mark.parametrize(("writer", "table"), [case for case in CASES if tuple(case.values) in NO_PROTOCOL])
def test_a_protocol_that_spark_cant_open_is_told(
    spark: SparkSession, written: Written, tmp_path: Path, writer: str, table: str
) -> None:
    path = written(writer, table)
    with pytest.raises(SparkRuntimeException, match="EXPRESSION_DECODING_FAILED"):
        spark.read.format("delta").load(str(path))
    snapshot = open_log(str(path)).sync(tmp_path / "files.arrow").snapshot()
    reasons = {each.reason for each in obstacles(str(path), snapshot, None)}
    assert reasons
    assert all(reason.startswith(MISMATCH) for reason in reasons), reasons


@pytest.mark.parametrize(("writer", "table"), [case for case in CASES if tuple(case.values) not in NO_PROTOCOL])
def test_the_log_is_read_as_by_spark(
    spark: SparkSession, written: Written, tmp_path: Path, writer: str, table: str
) -> None:
    path = written(writer, table)
    log = open_log(str(path))
    run = log.sync(tmp_path / "files.arrow")
    commits = history(log, run)
    if (writer, table) not in UNTOLD:
        compare_history(spark, path, commits)
    snapshot = run.snapshot()
    assert snapshot.complete
    assert (snapshot.problems, snapshot.understanding.needs) == ((), ())
    points = log.listing().checkpoints
    assert obstacles(str(path), snapshot, points[-1].version if points else None) == ()
    compare_state(spark, path, snapshot)
    compare_detail(spark.sql(f"DESCRIBE DETAIL delta.`{path}`").collect()[0], snapshot)
    if (writer, table) in UNREADABLE:
        return
    compare_rows(spark, path, snapshot)
    if table not in LOST and snapshot.version // 2 in commits:
        compare_rows(spark, path, log.snapshot(snapshot.version // 2, tmp_path / "at.arrow"))


def compare_rows(spark: SparkSession, path: Path, snapshot: Snapshot) -> None:
    """The files, and the rows of each; those of a file without statistics are unknown."""
    frame = spark.read.format("delta").option("versionAsOf", snapshot.version).load(str(path))
    counts = frame.groupBy(F.input_file_name().alias("file")).count().collect()
    theirs = {below(unquote(row["file"]), path): row["count"] for row in counts}
    mine = {decoded(row["path"]): row["num_records"] for row in snapshot.files().to_pylist()}
    assert {below(file, path) for file in frame.inputFiles()} == set(mine)
    assert {file for file, rows in mine.items() if rows != 0} == set(theirs)
    assert {file: rows for file, rows in mine.items() if rows} == {
        file: theirs[file] for file, rows in mine.items() if rows
    }


def below(location: str, path: Path) -> str:
    """A file's path below the table's: writers give files of several partitions one name."""
    return location.partition(f"{path}/")[2]
