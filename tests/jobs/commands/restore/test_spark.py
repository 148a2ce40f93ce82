"""RESTORE on real Delta: what comes back, what can't, and the proof by reading."""

import dataclasses
import os
import random
import time
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest
from deltalake import DeltaTable as Witness
from deltalake import QueryBuilder, write_deltalake

from jobs.commands.restore import spark as restoring
from jobs.domain.engine import UNCHECKED, Checked, Marks
from jobs.domain.errors import CommandRefused
from tables.deltalog.replay.log import open_log
from tests.jobs.engine.deltas import FEED, NAMES, VECTORS, deletion, make, restoration
from tests.jobs.engine.lake import actions, commits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

DAY = 86_400


@pytest.fixture
def spark(runtime):
    return runtime.new_session()


@pytest.fixture
def delete(engine, report):
    return lambda path, predicate: engine.run(
        deletion(path, predicate), {}, UNCHECKED, Marks(f"delete-{len(commits(path))}", 1, None), report
    )


@pytest.fixture
def look(engine, marks, report):
    """Previews a restore; answers the measure."""
    return lambda path, version: engine.preview(restoration(path, version), None, marks, report)


@pytest.fixture
def restore(engine, marks, report, look):
    """Previews, unless told what a preview has found, and runs a restore; answers the result."""

    def do(path, version, checked=UNCHECKED, seen=None, marks=marks):
        if seen is None:
            found = look(path, version)
            seen = {"rows_to": found.rows, "rows_hash_to": found.rows_hash}
        return engine.run(restoration(path, version), seen, checked, marks, report)

    return do


@pytest.fixture
def vacuum(runtime):
    """Removes at once what no live version needs, in a session of its own that doesn't check the retention."""

    def do(path):
        session = runtime.new_session()
        session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        session.sql(f"VACUUM delta.`{path}` RETAIN 0 HOURS").collect()

    return do


def refusal(act, *args, **more):
    with pytest.raises(CommandRefused) as caught:
        act(*args, **more)
    return caught.value.refusals[0]


def by_spark(spark, path):
    return sorted(row["id"] for row in spark.read.format("delta").load(str(path)).collect())


@pytest.mark.parametrize(
    ("predicate", "properties"),
    [
        pytest.param(None, {}, id="whole"),
        pytest.param("p = 1", FEED, id="change feed"),
        pytest.param("id < 13", VECTORS, id="vectors"),
        pytest.param(None, VECTORS, id="whole with vectors", marks=pytest.mark.long),
        pytest.param("id < 13", NAMES, id="names"),
    ],
)
def test_rows_come_back_and_are_proven(spark, delete, restore, marks, tmp_path, predicate, properties):
    path = make(spark, tmp_path / "t", properties)
    delete(path, predicate)
    assert by_spark(spark, path) != list(range(40))
    result = restore(path, 0)
    assert by_spark(spark, path) == list(range(40))
    assert (result.version, result.read_version, result.operation) == (2, 1, "RESTORE")
    assert (result.details["proven"], result.details["rows"]) == (True, 40)
    assert result.operation_parameters["version"] == "0"
    assert "numRestoredFiles" in result.operation_metrics
    assert marks.job in actions(path, "commitInfo")[-1]["userMetadata"]


def test_what_a_version_held_is_read_before(spark, delete, look, tmp_path):
    path = make(spark, tmp_path / "t", VECTORS)
    delete(path, "id < 7")
    delete(path, "id < 20")
    assert [look(path, version).rows for version in (0, 1, 2)] == [40, 33, 20]
    assert len({look(path, version).rows_hash for version in (0, 1, 2)}) == 3


def test_a_path_with_a_blank_a_percent_and_a_hash_is_deleted_from_twice_and_restored(
    spark, engine, delete, look, restore, marks, report, tmp_path
):
    path = make(spark, tmp_path / "a b%20c#d", VECTORS)
    delete(path, "id = 3")
    delete(path, "id = 3 OR id = 4")
    assert by_spark(spark, path) == [n for n in range(40) if n not in (3, 4)]
    assert [look(path, version).rows for version in (0, 1, 2)] == [40, 39, 38]
    result = restore(path, 1)
    assert (result.version, result.details["proven"], result.details["rows"]) == (3, True, 39)
    assert by_spark(spark, path) == [n for n in range(40) if n != 3]
    read = engine.read("rows", {"path": str(path), "columns": ["id"], "limit": 1000}, marks, report)
    assert sorted(row[0] for row in read["rows"]) == [n for n in range(40) if n != 3]
    assert [place.name for place in tmp_path.iterdir() if place.is_dir()] == [path.name]


def test_rows_that_move_with_their_files_neither_come_nor_go(spark, delete, look, tmp_path):
    path = make(spark, tmp_path / "t")
    delete(path, "id = 3 OR id = 20")
    spark.createDataFrame([(99, 1)], "id long, p int").write.format("delta").mode("append").option(
        "mergeSchema", "true"
    ).save(str(path))
    found = look(path, 0)
    assert (found.rows_back, found.rows_gone) == (2, 1)


def test_rows_of_another_schema_are_not_compared(spark, delete, look, tmp_path):
    path = make(spark, tmp_path / "t")
    delete(path, "id = 3")
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS (more string)")
    assert (look(path, 0).rows_back, look(path, 0).rows) == (None, 40)


@pytest.mark.parametrize("properties", [{}, VECTORS], ids=["plain", "vectors"])
def test_what_vacuum_has_removed_is_refused_before_it_starts(
    spark, delete, look, restore, vacuum, tmp_path, properties
):
    path = make(spark, tmp_path / "t", properties)
    delete(path, "p = 1 AND id < 30")
    delete(path, "p = 1")
    vacuum(path)
    newest = len(commits(path))
    found = look(path, 1)
    gone = {f"{path}/{remove['path']}" for remove in actions(path, "remove")}
    needed = {file for file in gone if "p=1" in file and not Path(file).exists()}
    assert found.missing_files
    assert set(found.missing_files) <= needed
    assert (found.rows, found.rows_hash) == (None, None)
    assert found.missing_count == len(found.missing_files)
    assert refusal(restore, path, 1, seen={}).code == "version_gone"
    assert len(commits(path)) == newest


def test_a_vector_that_vacuum_has_removed_is_missing(spark, delete, look, vacuum, tmp_path):
    path = make(spark, tmp_path / "t", VECTORS, files=1)
    delete(path, "id = 3")
    delete(path, "id = 5")
    before = {str(file) for file in path.rglob("deletion_vector_*.bin")}
    vacuum(path)
    found = look(path, 1)
    assert found.missing_count == 1
    assert set(found.missing_files) == {file for file in before if not Path(file).exists()}
    assert look(path, 0).missing_count == 0


@pytest.mark.parametrize("version", [9, 0])
def test_a_version_that_is_no_more_is_refused_in_deltas_words(spark, delete, look, restore, tmp_path, version):
    path = make(spark, tmp_path / "t")
    delete(path, "id = 3")
    for commit, days in zip(commits(path), (20, 15), strict=True):
        os.utime(commit, (time.time() - days * DAY,) * 2)
    refused = refusal(look, path, version)
    expected = {
        9: "DELTA_VERSION_NOT_FOUND",
        0: "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION",
    }
    assert (refused.code, refused.engine.condition) == ("version_gone", expected[version])
    assert refusal(restore, path, version, seen={}).engine.condition == expected[version]
    assert len(commits(path)) == 2


def test_the_newest_version_needs_no_restore(spark, restore, tmp_path):
    path = make(spark, tmp_path / "t")
    result = restore(path, 0)
    assert (result.no_op, result.version, len(commits(path))) == (True, None, 1)


def test_a_table_that_has_moved_is_left_alone(spark, delete, restore, tmp_path):
    path = make(spark, tmp_path / "t")
    delete(path, "id = 3")
    write_deltalake(path, Witness(path).to_pyarrow_table().slice(0, 1), mode="append")
    assert refusal(restore, path, 0, Checked(1, strict=True)).code == "stale"
    assert len(commits(path)) == 3
    assert restore(path, 0, Checked(2, strict=True)).details["proven"]


def test_rows_that_differ_are_no_proof(spark, delete, restore, look, tmp_path):
    path = make(spark, tmp_path / "t")
    delete(path, "id = 3")
    seen = {"rows_to": 40, "rows_hash_to": look(path, 1).rows_hash}
    result = restore(path, 0, seen=seen)
    assert (result.version, result.details["proven"], result.details["rows"]) == (2, False, 40)
    assert result.details["text"] == restoring.DIFFERENT.format(version=0)


def test_rows_that_cant_be_read_afterwards_are_said_and_the_commit_stands(
    spark, delete, restore, report, look, tmp_path
):
    path = make(spark, tmp_path / "t")
    delete(path, "p = 1")
    found = look(path, 0)
    back = path / unquote(actions(path, "remove")[0]["path"])
    report.at["commit visible"] = back.unlink
    result = restore(path, 0, seen={"rows_to": found.rows, "rows_hash_to": found.rows_hash})
    assert (result.version, result.details["proven"], result.details["rows"]) == (2, False, None)
    assert "could not read the restored rows" in result.details["text"]


def test_a_table_too_large_for_a_preview_is_read_after_the_restore_alone(
    spark, delete, restore, look, monkeypatch, tmp_path
):
    path = make(spark, tmp_path / "t")
    delete(path, "id = 3")
    monkeypatch.setattr(restoring, "MOST_BYTES", 1000)
    found = look(path, 0)
    assert (found.rows, found.rows_hash, found.missing_count) == (None, None, 0)
    assert "GiB" in found.unread_because
    result = restore(path, 0)
    assert (result.details["proven"], result.details["rows"]) == (False, 40)
    assert result.details["text"] == restoring.NOT_MEASURED.format(rows=40)


def test_columns_without_a_hash_are_proven_by_their_number(spark, delete, restore, tmp_path):
    path = tmp_path / "t"
    spark.sql("SELECT id, parse_json('{}') AS v FROM range(3)").write.format("delta").save(str(path))
    delete(path, "id = 1")
    details = restore(path, 0).details
    assert (details["proven"], details["rows_hash"]) == (True, None)
    assert "no hash" in details["text"]


def test_a_commit_of_somebody_else_is_never_claimed(spark, delete, restore, report, runtime, tmp_path):
    path = make(spark, tmp_path / "t")
    delete(path, "id = 3")
    one = Witness(path).to_pyarrow_table().slice(0, 1)
    report.at["restoring"] = lambda: write_deltalake(path, one, mode="append")
    result = restore(path, 0, Checked(1))
    assert (result.version, result.read_version) == (3, 2)


def random_table(spark, path, chance):
    """Rows by chance, in a few commits, with or without partitions, vectors, a change feed and mapped names."""
    kind, properties = chance.choice([[], ["p"]]), chance.choice([{}, VECTORS, FEED, NAMES, VECTORS | FEED])
    for _ in range(chance.randint(1, 3)):
        low, files = chance.randint(0, 1000), chance.randint(1, 4)
        rows = spark.range(low, low + chance.randint(5, 60), 1, files).selectExpr(
            "id",
            f"if(id % {chance.randint(2, 5)} = 0, NULL, concat('n', id)) AS name",
            "cast(id % 3 AS int) AS p",
            "id / 7 AS d",
        )
        rows.write.format("delta").partitionBy(*kind).options(**properties).mode("append").save(str(path))
    return path


def everything(path):
    """Every row as delta-rs and DataFusion read them, in an order of their own; they know vectors and mapped names too."""
    found = QueryBuilder().register("t", Witness(str(path))).execute("SELECT * FROM t").read_all()
    return sorted(pa.table(found).to_pylist(), key=repr)


TABLES = 50 if os.environ.get("LEVEE_SOAK_SIZE") == "full" else 3


@pytest.mark.parametrize("seed", range(TABLES))
def test_rows_after_an_undo_are_those_before_for_another_engine(spark, delete, restore, tmp_path, seed):
    chance = random.Random(seed)
    path = random_table(spark, tmp_path / "t", chance)
    before, version = everything(path), Witness(str(path)).version()
    predicate = chance.choice([None, "p = 1", "id % 2 = 0", "name IS NULL", "d >= 0.5", "p <> 2 AND name LIKE 'n%'"])
    deleted = delete(path, predicate)
    assert everything(path) != before
    result = restore(path, version, Checked(deleted.version, strict=True))
    assert everything(path) == before
    assert result.details["proven"]
    assert dataclasses.asdict(result)["version"] == version + 2


def test_clustering_goes_back_with_the_version_as_the_preview_reads_it(spark, restore, tmp_path):
    path = tmp_path / "t"
    spark.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, n INT) USING delta CLUSTER BY (id)")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, 1)")
    before = open_log(str(path)).head_version()
    assert before is not None
    spark.sql(f"ALTER TABLE delta.`{path}` CLUSTER BY (n)")
    assert clustering(path) == ("n",)
    assert clustering(path, before) == ("id",)
    assert restore(path, before).version == before + 2
    assert clustering(path) == ("id",)


def clustering(path, version=None):
    return open_log(str(path)).snapshot(version).clustering_columns
