"""The log reader beside Delta itself: whatever Spark says of its own tables, the reader says too."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from delta.tables import DeltaTable, IdentityGenerator
from pyarrow import parquet
from pyspark.sql import Row, SparkSession

from tables.deltalog.read.commits import LogCommit
from tables.deltalog.read.filenames import LogFileKind
from tables.deltalog.read.paths import decoded
from tables.deltalog.replay.log import DeltaLog, open_log
from tables.deltalog.replay.obstacles import obstacles
from tables.deltalog.replay.sync import Sync
from tables.deltalog.rules.features import features_of
from tables.deltalog.rules.schema import Struct, parse_schema, type_text, walk
from tables.deltalog.state.snapshot import Snapshot, load
from tables.record.file_layout import partitions_of

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

HISTORY = (
    "version", "unix_millis(timestamp) ms", "operation", "operationParameters", "operationMetrics", "readVersion", "isolationLevel",
    "isBlindAppend", "userMetadata", "engineInfo",
)  # fmt: skip
ROWS = 40


@pytest.fixture
def spark(runtime) -> SparkSession:
    return runtime.new_session()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def rows(spark: SparkSession, start: int = 0, count: int = ROWS):
    return spark.range(start, start + count, 1, 1).selectExpr(
        "id", "cast(id % 4 as string) as shop", "concat('name ', id) as name", "if(id % 5 = 0, null, id / 2) as amount"
    )


def append(spark: SparkSession, path: Path, start: int, *partition: str) -> None:
    rows(spark, start).write.format("delta").partitionBy(*partition).mode("append").save(str(path))


def sql(spark: SparkSession, statement: str, path: Path) -> list[Row]:
    found: list[Row] = spark.sql(statement.replace("{t}", f"delta.`{path}`")).collect()
    return found


def set_properties(spark: SparkSession, path: Path, **properties: str) -> None:
    pairs = ", ".join(f"'{name.replace('__', '.')}' = '{value}'" for name, value in properties.items())
    sql(spark, f"ALTER TABLE {{t}} SET TBLPROPERTIES ({pairs})", path)


def compare(spark: SparkSession, path: Path, tmp_path: Path) -> Snapshot:
    log = open_log(str(path))
    run = log.sync(tmp_path / "files.arrow")
    commits = history(log, run)
    compare_history(spark, path, commits)
    snapshot = run.snapshot()
    assert snapshot.complete
    assert snapshot.problems == ()
    assert snapshot.understanding.needs == ()
    points = log.listing().checkpoints
    assert obstacles(str(path), snapshot, points[-1].version if points else None) == ()
    compare_state(spark, path, snapshot)
    compare_detail(sql(spark, "DESCRIBE DETAIL {t}", path)[0], snapshot)
    for version in (snapshot.version, snapshot.version // 2):
        if version in commits:
            compare_files(spark, path, log.snapshot(version, tmp_path / "at.arrow"))
    return snapshot


def history(log: DeltaLog, run: Sync) -> dict[int, LogCommit]:
    """Commits by version, those told anew that turned out to be mistimed."""
    commits = {commit.version: commit for commit in run.commits()}
    for version, at in log.times(run.mistimed, run.snapshot().metadata):
        commits[version] = replace(commits[version], committed_at=at)
    return commits


def compare_history(spark: SparkSession, path: Path, commits: dict[int, Any]) -> None:
    theirs = spark.sql(f"DESCRIBE HISTORY delta.`{path}`").selectExpr(*HISTORY).collect()
    assert sorted(row.version for row in theirs) == sorted(commits)
    for row in theirs:
        mine = commits[row.version]
        assert mine.problems == ()
        assert round(mine.committed_at.timestamp() * 1000) == row.ms
        assert mine.operation == row.operation
        assert mine.operation_parameters == row.operationParameters
        assert mine.operation_metrics == (row.operationMetrics or {})
        assert (mine.read_version, mine.isolation_level) == (row.readVersion, row.isolationLevel)
        assert (mine.is_blind_append, mine.user_metadata) == (row.isBlindAppend, row.userMetadata)
        assert row.engineInfo in (mine.engine_info, None)  # Spark knows nothing of `clientVersion`


def compare_state(spark: SparkSession, path: Path, snapshot: Snapshot) -> None:
    frame = spark.read.format("delta").load(str(path))
    assert snapshot.metadata is not None
    mine = parse_schema(snapshot.metadata.schema_json)
    assert said(mine) == said(parse_schema(frame.schema.json()))


def said(schema: Struct) -> list[tuple[tuple[str, ...], str, bool, str | None]]:
    """What a schema says to people; Spark hides column mapping's own metadata from them."""
    return [(where, type_text(column.type), column.nullable, column.comment) for where, column in walk(schema)]


def compare_detail(detail: Row, snapshot: Snapshot) -> None:
    metadata, protocol = snapshot.metadata, snapshot.protocol
    assert metadata is not None
    assert protocol is not None
    assert (snapshot.num_files, snapshot.size_bytes) == (detail.numFiles, detail.sizeInBytes)
    assert (metadata.id, metadata.description) == (detail.id, detail.description)
    assert list(metadata.partition_columns) == detail.partitionColumns
    assert metadata.configuration == detail.properties
    assert (protocol.min_reader_version, protocol.min_writer_version) == (
        detail.minReaderVersion,
        detail.minWriterVersion,
    )
    assert sorted(features_of(protocol)) == sorted(detail.tableFeatures)


def compare_files(spark: SparkSession, path: Path, snapshot: Snapshot) -> None:
    frame = spark.read.format("delta").option("versionAsOf", snapshot.version).load(str(path))
    mine = sorted(decoded(name).rsplit("/", 1)[-1] for name in snapshot.files().column("path").to_pylist())
    assert mine == sorted(name.rsplit("/", 1)[-1] for name in frame.inputFiles())
    assert snapshot.num_records == len(frame.collect())


def compare_partitions(spark: SparkSession, path: Path, snapshot: Snapshot, column: str) -> None:
    frame = spark.read.format("delta").load(str(path)).groupBy(column).count().collect()
    totals, (value,) = partitions_of(snapshot)
    assert {row[value]: row["rows"] for row in totals.to_pylist() if row["rows"]} == {row[0]: row[1] for row in frame}


def kinds(log: DeltaLog) -> set[LogFileKind]:
    return {point.kind for point in log.listing().checkpoints}


def test_a_plain_table_with_classic_checkpoints(spark, path, tmp_path):
    append(spark, path, 0, "shop")
    set_properties(spark, path, delta__checkpointInterval="2", delta__appendOnly="false")
    spark.conf.set("spark.databricks.delta.commitInfo.userMetadata", '{"job": "job-7"}')
    sql(spark, "DELETE FROM {t} WHERE id = 3", path)
    spark.conf.unset("spark.databricks.delta.commitInfo.userMetadata")
    sql(spark, "DELETE FROM {t} WHERE shop = '1'", path)
    sql(spark, "COMMENT ON TABLE {t} IS 'sold things'", path)
    append(spark, path, ROWS, "shop")
    sql(spark, "RESTORE {t} TO VERSION AS OF 2", path)
    snapshot = compare(spark, path, tmp_path)
    compare_partitions(spark, path, snapshot, "shop")
    log = open_log(str(path))
    assert kinds(log) == {LogFileKind.CLASSIC}
    mark = log.find_mark("job-7")
    assert mark is not None
    assert (mark.version, mark.operation) == (2, "DELETE")


def test_everything_at_once(spark, path, tmp_path):
    """V2 checkpoints with sidecars, deletion vectors, column mapping, row ids, in-commit timestamps and the change feed."""
    append(spark, path, 0, "shop")
    append(spark, path, ROWS, "shop")
    base = open_log(str(path)).sync(tmp_path / "step.arrow").snapshot()
    set_properties(
        spark, path, delta__enableDeletionVectors="true", delta__columnMapping__mode="name", delta__checkpointPolicy="v2",
        delta__checkpointInterval="2", delta__enableChangeDataFeed="true", delta__enableInCommitTimestamps="true",
    )  # fmt: skip
    sql(spark, "DELETE FROM {t} WHERE id % 7 = 1", path)
    sql(spark, "ALTER TABLE {t} RENAME COLUMN name TO title", path)
    sql(spark, "ALTER TABLE {t} RENAME COLUMN shop TO place", path)
    sql(spark, "ALTER TABLE {t} ADD COLUMN extra struct<a: int, b: array<string>> COMMENT 'more'", path)
    sql(spark, "DELETE FROM {t} WHERE id % 7 = 2", path)
    sql(spark, "UPDATE {t} SET amount = 1 WHERE id = 10", path)
    snapshot = compare(spark, path, tmp_path)
    compare_partitions(spark, path, snapshot, "place")
    log = open_log(str(path))
    assert LogFileKind.V2 in kinds(log)
    assert snapshot.files().column("deletion_vector").null_count < snapshot.files().num_rows
    assert snapshot.in_commit_timestamps.enabled
    again = log.sync(tmp_path / "step.arrow", load(base.files_path or tmp_path)).snapshot()
    assert again.files().sort_by("path").to_pylist() == snapshot.files().sort_by("path").to_pylist()
    _without_old_commits(path)
    cleaned = log.sync(tmp_path / "cleaned.arrow").snapshot()
    assert _visible(cleaned) == _visible(snapshot)
    assert cleaned.state == snapshot.state


def _visible(snapshot: Snapshot) -> list[dict[str, Any]]:
    names = [
        "path",
        "size",
        "num_records",
        "deletion_vector",
        *(n for n in snapshot.files().column_names if "partition." in n),
    ]
    return list(snapshot.files().select(names).sort_by("path").to_pylist())


def _without_old_commits(path: Path) -> None:
    newest = open_log(str(path)).listing().checkpoints[-1].version
    for file in (path / "_delta_log").glob("*.json"):
        if file.name[:20].isdigit() and len(file.name) == 25 and int(file.name[:20]) < newest:
            file.unlink()


def test_clustering_by_renamed_nested_and_dotted_columns_has_the_names_that_delta_describes(spark, path, tmp_path):
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, `a.b` INT, st STRUCT<x: INT, y: INT>) USING delta CLUSTER BY (id, `a.b`, st.x)"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN id TO customer")
    snapshot = compare(spark, path, tmp_path)
    assert snapshot.clustering_columns == ("customer", "`a.b`", "st.x")
    described = spark.sql(f"DESCRIBE DETAIL delta.`{path}`").collect()[0]["clusteringColumns"]
    assert [name.replace("`", "") for name in described] == ["customer", "a.b", "st.x"]


def test_generated_and_identity_columns_and_clustering(spark, path, tmp_path):
    (
        DeltaTable.create(spark)
        .location(str(path))
        .addColumn("id", "bigint")
        .addColumn("row", "bigint", generatedAlwaysAs=IdentityGenerator(start=10, step=5))
        .addColumn("twice", "bigint", generatedAlwaysAs="id * 2", comment="computed")
        .clusterBy("id")
        .property("delta.dataSkippingNumIndexedCols", "1")
        .execute()
    )
    spark.range(5).write.format("delta").mode("append").save(str(path))
    snapshot = compare(spark, path, tmp_path)
    assert snapshot.clustering_columns == ("id",)
    assert snapshot.metadata is not None
    column = parse_schema(snapshot.metadata.schema_json).column("twice")
    assert column is not None
    assert (column.generation_expression, column.comment) == ("id * 2", "computed")
    row = parse_schema(snapshot.metadata.schema_json).column("row")
    assert row is not None
    assert row.identity is not None
    highest = spark.read.format("delta").load(str(path)).agg({"row": "max"}).collect()[0][0]
    assert (row.identity.start, row.identity.step, row.identity.high_water_mark) == (10, 5, highest)


def test_a_multi_part_checkpoint(spark, path, tmp_path):
    append(spark, path, 0, "shop")
    set_properties(spark, path, delta__checkpointInterval="3")
    spark.conf.set("spark.databricks.delta.checkpoint.partSize", "3")
    append(spark, path, ROWS, "shop")
    sql(spark, "DELETE FROM {t} WHERE shop = '2'", path)
    append(spark, path, 2 * ROWS, "shop")
    spark.conf.unset("spark.databricks.delta.checkpoint.partSize")
    snapshot = compare(spark, path, tmp_path)
    log = open_log(str(path))
    assert kinds(log) == {LogFileKind.MULTIPART}
    assert len(log.listing().checkpoints[-1].files) > 1
    _without_old_commits(path)
    cleaned = log.sync(tmp_path / "cleaned.arrow").snapshot()
    assert _visible(cleaned) == _visible(snapshot)
    assert cleaned.problems == ()


def test_in_commit_timestamps_switched_on_later(spark, path, tmp_path):
    append(spark, path, 0)
    sql(spark, "DELETE FROM {t} WHERE id = 1", path)
    set_properties(spark, path, delta__enableInCommitTimestamps="true")
    sql(spark, "DELETE FROM {t} WHERE id = 2", path)
    snapshot = compare(spark, path, tmp_path)
    told = snapshot.in_commit_timestamps
    assert (told.enabled, told.enablement_version) == (True, 2)
    commits = list(open_log(str(path)).sync(tmp_path / "again.arrow").commits())
    assert [commit.in_commit_timestamp is not None for commit in commits] == [False, False, True, True]
    assert told.enablement_timestamp == commits[2].in_commit_timestamp


def test_in_commit_timestamps_switched_off_and_on_again(spark, path, tmp_path):
    append(spark, path, 0)
    log, start = open_log(str(path)), time.time() - 3600
    for setting in ("true", "false", "true", "false"):
        set_properties(spark, path, delta__enableInCommitTimestamps=setting)
        set_properties(spark, path, delta__logRetentionDuration="interval 60 days")
        for version, file in enumerate(sorted((path / "_delta_log").glob("*.json"))):
            os.utime(file, (start + version, start + version))
        run = log.sync(tmp_path / "files.arrow")
        compare_history(spark, path, history(log, run))
        assert run.snapshot().in_commit_timestamps.enabled is (setting == "true")


def test_widened_types(spark, path, tmp_path):
    spark.range(5).selectExpr("cast(id as int) as id", "cast(id as short) as n").write.format("delta").save(str(path))
    set_properties(spark, path, delta__enableTypeWidening="true")
    sql(spark, "ALTER TABLE {t} ALTER COLUMN id TYPE bigint", path)
    sql(spark, "ALTER TABLE {t} ALTER COLUMN n TYPE int", path)
    spark.range(2**33, 2**33 + 3).selectExpr("id", "100000 as n").write.format("delta").mode("append").save(str(path))
    snapshot = compare(spark, path, tmp_path)
    assert "typeWidening" in snapshot.features
    assert snapshot.metadata is not None
    struct = parse_schema(snapshot.metadata.schema_json)
    assert [(where[-1], type_text(column.type)) for where, column in walk(struct)] == [("id", "bigint"), ("n", "int")]


def step(spark: SparkSession, path: Path, chance: random.Random, number: int) -> None:
    """One change that Spark makes, chosen by the seed."""
    changes: list[Callable[[], object]] = [
        lambda: append(spark, path, number * ROWS, "shop"),
        lambda: append(spark, path, number * ROWS, "shop"),
        lambda: sql(spark, f"DELETE FROM {{t}} WHERE id % {chance.randint(3, 9)} = 1", path),
        lambda: sql(spark, f"DELETE FROM {{t}} WHERE shop = '{chance.randint(0, 3)}'", path),
        lambda: sql(spark, f"UPDATE {{t}} SET amount = {number} WHERE id % {chance.randint(3, 9)} = 0", path),
        lambda: sql(spark, "OPTIMIZE {t}", path),
        lambda: sql(spark, f"ALTER TABLE {{t}} ADD COLUMN extra{number} struct<a: int>", path),
        lambda: sql(spark, f"COMMENT ON TABLE {{t}} IS 'after {number}'", path),
        lambda: sql(spark, f"RESTORE {{t}} TO VERSION AS OF {chance.randint(1, number)}", path),
        lambda: set_properties(spark, path, delta__enableDeletionVectors=chance.choice(["true", "false"])),
        lambda: set_properties(spark, path, delta__checkpointPolicy=chance.choice(["classic", "v2"])),
        lambda: set_properties(spark, path, delta__enableChangeDataFeed=chance.choice(["true", "false"])),
    ]
    chance.choice(changes)()


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_random_walk_of_spark_is_read_alike(spark, path, tmp_path, seed):
    chance = random.Random(seed)
    append(spark, path, 0, "shop")
    set_properties(spark, path, delta__checkpointInterval="4")
    log, base = open_log(str(path)), None
    for number in range(1, 13):
        step(spark, path, chance, number)
        if number % 4 == 0:
            base = log.sync(tmp_path / "step.arrow", base).snapshot()
    snapshot = compare(spark, path, tmp_path)
    assert base is not None
    assert (base.version, _visible(base)) == (snapshot.version, _visible(snapshot))
    assert base.state == snapshot.state


def test_a_converted_directory(spark, path, tmp_path):
    for shop in ("a b", "50%", "x"):
        folder = path / f"shop={shop.replace('%', '%25')}"
        folder.mkdir(parents=True)
        parquet.write_table(pa.table({"id": [1, 2, 3]}), folder / "f.parquet")
    DeltaTable.convertToDelta(spark, f"parquet.`{path}`", "shop string")
    snapshot = compare(spark, path, tmp_path)
    compare_partitions(spark, path, snapshot, "shop")
    (commit,) = open_log(str(path)).sync(tmp_path / "again.arrow").commits()
    assert commit.read_version == -1
    assert json.loads(commit.operation_parameters["partitionedBy"] or "") == ["shop"]
