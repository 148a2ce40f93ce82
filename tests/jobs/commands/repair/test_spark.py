"""A repair on real Delta: one commit takes out what was approved and nothing else, and other engines read the rest."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
from deltalake import DeltaTable as Witness
from deltalake import QueryBuilder, write_deltalake
from py4j.protocol import Py4JError
from pyarrow import parquet
from pyspark.errors import PySparkException

from jobs.commands.repair import log
from jobs.commands.repair.comparison import compare
from jobs.commands.repair.log import asked, with_look
from jobs.commands.repair.rules import Repair
from jobs.domain.comparison import Verdict
from jobs.domain.engine import Checked
from jobs.domain.errors import CommandRefused, EngineFailed
from tests.jobs.commands.optimize.test_spark import subject_at
from tests.jobs.engine.deltas import FEED, NAMES, VECTORS, make
from tests.jobs.engine.lake import actions, commits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.fixture
def spark(runtime: Any) -> Any:
    return runtime.new_session()


@pytest.fixture(autouse=True)
def no_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """No stream reads the table: these tests have no catalog."""
    monkeypatch.setattr(log, "_read_by", lambda subject, values: dict(values))


def predicted(path: Path) -> tuple[Repair, dict[str, Any], Checked]:
    subject = subject_at(path)
    return Repair("t", str(path)), with_look(subject, asked(subject)), Checked(subject.version)


@pytest.fixture
def repair(engine: Any, marks: Any, report: Any) -> Any:
    """Previews and runs; answers prediction and result."""

    def do(path: Path) -> tuple[dict[str, Any], Any]:
        command, preview, checked = predicted(path)
        return preview, engine.run(command, preview, checked, marks, report)

    return do


def live(path: Path) -> list[str]:
    """The log's names of the live files, in order."""
    return sorted(subject_at(path).snapshot.files().column("path").to_pylist())


def lose(path: Path, *names: str) -> None:
    for name in names:
        (path / unquote(name)).unlink()


def by_delta_rs(path: Path) -> list[int]:
    answer = QueryBuilder().register("t", Witness(str(path))).execute("SELECT id FROM t ORDER BY id").read_all()
    return list(answer.column("id").to_pylist())


def by_spark(spark: Any, path: Path) -> list[int]:
    return sorted(row["id"] for row in spark.read.format("delta").load(str(path)).collect())


def ids_in(path: Path, name: str) -> set[int]:
    """The ids of a data file, those that a deletion vector hides among them."""
    return set(parquet.read_table(path / unquote(name), columns=["id"], partitioning=None).column("id").to_pylist())


def refused(run: Any) -> Any:
    with pytest.raises(CommandRefused) as found:
        run()
    return found.value.refusals[0]


def test_the_missing_files_leave_with_their_rows_and_all_engines_read_the_rest(
    spark: Any, tmp_path: Path, repair: Any, marks: Any
) -> None:
    path = make(spark, tmp_path / "t", VECTORS, files=3)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id IN (2, 38)")
    names = live(path)
    with_vector = next(name for name in names if 2 in ids_in(path, name))
    other = next(name for name in names if name != with_vector and 38 not in ids_in(path, name))
    lost = ids_in(path, with_vector) | ids_in(path, other)
    lose(path, with_vector, other)
    with pytest.raises((PySparkException, Py4JError)):
        by_spark(spark, path)
    preview, result = repair(path)
    left = sorted(set(range(40)) - lost - {38})
    assert (by_spark(spark, path), by_delta_rs(path)) == (left, left)
    assert (preview["files"], preview["rows"]) == (2, len(lost) - 1)
    assert {line.verdict for line in compare(preview, result)} == {Verdict.SAME}
    info = actions(path, "commitInfo")[-1]
    assert (result.operation, info["operation"]) == ("FSCK", "FSCK")
    assert json.loads(info["userMetadata"])["job"] == marks.job
    assert [each["appId"] for each in actions(path, "txn")] == [marks.txn_app_id]
    removed = actions(path, "remove")[-2:]
    assert sorted(each["path"] for each in removed) == sorted([with_vector, other])
    assert {each["dataChange"] for each in removed} == {True}
    assert sorted(result.details["named"]) == preview["sample"]


def test_a_run_again_by_the_same_job_returns_its_commit(
    spark: Any, tmp_path: Path, engine: Any, marks: Any, report: Any
) -> None:
    path = make(spark, tmp_path / "t", files=1)
    lose(path, live(path)[0])
    command, preview, checked = predicted(path)
    first = engine.run(command, preview, checked, marks, report)
    again = engine.run(command, preview, Checked(first.version), marks, report)
    assert (again.version, again.details, len(commits(path))) == (first.version, first.details, 2)


# What isn't as it was approved


@pytest.mark.parametrize("at", ["asking storage", "Spark started"])
def test_a_file_that_comes_back_is_refused_by_name_and_nothing_is_committed(
    spark: Any, tmp_path: Path, engine: Any, marks: Any, report: Any, at: str
) -> None:
    path = make(spark, tmp_path / "t", files=2)
    first, second, *_ = live(path)
    kept = Path(shutil.copy(path / first, tmp_path / "kept"))
    lose(path, first, second)
    command, preview, checked = predicted(path)
    report.at[at] = lambda: shutil.move(kept, path / first)
    found = refused(lambda: engine.run(command, preview, checked, marks, report))
    assert (found.code, f"Storage holds {first} again" in found.message) == ("stale", True)
    assert len(commits(path)) == 1


def test_a_file_that_is_missing_since_is_never_taken_out_with_the_others(
    spark: Any, tmp_path: Path, engine: Any, marks: Any, report: Any
) -> None:
    path = make(spark, tmp_path / "t", files=2)
    first, second, *_ = live(path)
    lose(path, first)
    command, preview, checked = predicted(path)
    lose(path, second)
    found = refused(lambda: engine.run(command, preview, checked, marks, report))
    assert (found.code, "Other files are missing now" in found.message) == ("stale", True)
    assert len(commits(path)) == 1


def test_another_table_at_the_path_is_refused(spark: Any, tmp_path: Path, engine: Any, marks: Any, report: Any) -> None:
    path = make(spark, tmp_path / "t", files=1)
    lose(path, live(path)[0])
    command, preview, checked = predicted(path)
    found = refused(lambda: engine.run(command, preview | {"table_id": "another"}, checked, marks, report))
    assert (found.code, len(commits(path))) == ("stale", 1)


def test_storage_that_does_not_tell_is_refused(
    spark: Any, tmp_path: Path, engine: Any, marks: Any, report: Any
) -> None:
    path = make(spark, tmp_path / "t", files=1)
    first = live(path)[0]
    lose(path, first)
    command, preview, checked = predicted(path)
    (path / first).mkdir()
    found = refused(lambda: engine.run(command, preview, checked, marks, report))
    assert (found.code, f"{first} is there, but is no regular file" in found.message) == ("unreadable", True)
    assert len(commits(path)) == 1


# Writers beside it


def test_another_writer_s_rows_do_not_stop_it(spark: Any, tmp_path: Path, engine: Any, marks: Any, report: Any) -> None:
    path = make(spark, tmp_path / "t", files=1)
    lose(path, live(path)[0])
    command, preview, checked = predicted(path)
    more = pa.table({"id": [100], "name": ["more"], "p": pa.array([1], pa.int32())})
    report.at["Spark started"] = lambda: write_deltalake(str(path), more, mode="append")
    result = engine.run(command, preview, checked, marks, report)
    assert (result.version, result.read_version) == (2, 0)
    assert by_spark(spark, path) == [*range(1, 40, 2), 100]


def test_another_writer_that_removes_the_same_file_fails_it_with_delta_s_condition(
    spark: Any, tmp_path: Path, engine: Any, marks: Any, report: Any
) -> None:
    path = make(spark, tmp_path / "t", files=1)
    lose(path, live(path)[0])
    command, preview, checked = predicted(path)
    report.at["Spark started"] = lambda: Witness(str(path)).delete("p = 0")
    with pytest.raises(EngineFailed) as failed:
        engine.run(command, preview, checked, marks, report)
    assert str(failed.value.failure.condition).startswith("DELTA_CONCURRENT_DELETE_DELETE")
    assert failed.value.failure.retryable
    assert [each["operation"] for each in actions(path, "commitInfo")] == ["WRITE", "DELETE"]


# Tables of other kinds


@pytest.mark.parametrize("properties", [{}, NAMES], ids=["plain", "column mapping"])
def test_encoded_paths_and_mapped_columns_are_found(
    spark: Any, tmp_path: Path, repair: Any, properties: dict[str, str]
) -> None:
    path = tmp_path / "t"
    values = ["a b", "100%", "x/y", "ü=1", None]
    rows = [(number, value) for number, value in enumerate(values)]
    frame = spark.createDataFrame(rows, "id LONG, p STRING").coalesce(1)
    frame.write.format("delta").partitionBy("p").options(**properties).save(str(path))
    files = subject_at(path).snapshot.files()
    [column] = [name for name in files.column_names if name.startswith("partition.")]
    by_value = dict(zip(files.column(column).to_pylist(), files.column("path").to_pylist(), strict=True))
    lose(path, *(by_value[value] for value in ("a b", "100%", None)))
    preview, result = repair(path)
    assert {row["values"][0][1] for row in preview["by_partition"]} == {"a b", "100%", None}
    assert {row["values"][0][0] for row in preview["by_partition"]} == {"p"}
    assert {line.verdict for line in compare(preview, result)} == {Verdict.SAME}
    assert by_spark(spark, path) == by_delta_rs(path) == [2, 3]


def test_an_append_only_table_is_refused_before_and_by_delta_itself(
    spark: Any, tmp_path: Path, engine: Any, marks: Any, report: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(spark, tmp_path / "t", {"delta.appendOnly": "true"}, files=1)
    lose(path, live(path)[0])
    ours = refused(lambda: predicted(path))
    monkeypatch.setattr(log, "refuse_append_only", lambda snapshot: None)
    command, preview, checked = predicted(path)
    with pytest.raises(EngineFailed) as delta:
        engine.run(command, preview, checked, marks, report)
    assert ours.engine.condition == delta.value.failure.condition == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    assert len(commits(path)) == 1


def test_the_change_feed_can_not_be_read_across_it_as_the_preview_says(spark: Any, tmp_path: Path, repair: Any) -> None:
    path = make(spark, tmp_path / "t", FEED, files=1)
    lose(path, live(path)[0])
    preview, result = repair(path)
    assert "change_feed" in {each["code"] for each in preview["consequences"]}

    def feed(first: int) -> int:
        read = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", first)
        return len(read.load(str(path)).collect())

    with pytest.raises((PySparkException, Py4JError)):
        feed(result.version)
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (100, 'more', 1)")
    assert feed(result.version + 1) == 1


def test_a_repaired_table_goes_on(spark: Any, tmp_path: Path, repair: Any) -> None:
    """Its checkpoint, an optimize and the next check of it know nothing of the files."""
    path = make(spark, tmp_path / "t", {"delta.checkpointInterval": "2"}, files=2)
    lose(path, live(path)[0])
    repair(path)
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (100, 'more', 1)")
    assert list((path / "_delta_log").glob("*.checkpoint.parquet"))
    spark.sql(f"OPTIMIZE delta.`{path}`")
    assert predicted(path)[1]["files"] == 0
    assert by_spark(spark, path) == by_delta_rs(path)


def test_a_shallow_clone_loses_its_own_files_alone(spark: Any, tmp_path: Path, repair: Any) -> None:
    """Those of its source aren't looked at, though they are gone as well."""
    source = make(spark, tmp_path / "source", files=1)
    path = tmp_path / "t"
    spark.sql(f"CREATE TABLE delta.`{path}` SHALLOW CLONE delta.`{source}`")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (100, 'own', 1)")
    [own] = [name for name in live(path) if name.startswith("p=")]
    lose(path, own)
    shutil.rmtree(source / "p=0")
    preview, result = repair(path)
    assert (preview["files"], preview["outside"], preview["sample"]) == (1, 2, [own])
    assert result.details["named"] == [own]
    assert len(live(path)) == 2
