"""CONVERT of paths on real Delta: what is committed, and what the result says about it."""

import json

import pytest
from deltalake import DeltaTable as Witness

from jobs.commands.convert.rules import Convert
from jobs.domain.engine import UNCHECKED
from jobs.domain.errors import CommandRefused
from tests.factories.lakes import Lake
from tests.jobs.engine.lake import actions, commits, names

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

TYPES = [
    ("boolean", ["true", "false"]),
    ("tinyint", ["-128", "127"]),
    ("smallint", ["-32768", "1"]),
    ("int", ["0", "2147483647"]),
    ("bigint", ["-9223372036854775808", "3000000000"]),
    ("float", ["1.5", "-2"]),
    ("double", ["1.5e10", "0.1"]),
    ("decimal(10,2)", ["1.50", "-99999999.99"]),
    ("date", ["2024-02-29", "1969-12-31"]),
    ("timestamp", ["2024-01-01 10%3A30%3A00", "2024-01-01 00%3A00%3A00.123456"]),
    ("string", ["a b%20c%2Fd%3De", "x%3Ay", "Ünï"]),
]


@pytest.fixture
def lake(tmp_path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.mark.parametrize(("kind", "values"), TYPES, ids=[kind for kind, _ in TYPES])
def test_every_partition_type_works_and_null_with_it(lake, convert, sql, kind, values):
    for value in [*values, "__HIVE_DEFAULT_PARTITION__"]:
        path = lake.write(f"t/p={value}", {"id": [1]})
    result = convert(path, f"p {kind}")
    assert (result.version, result.operation, result.details["files_in_table"]) == (0, "CONVERT", len(values) + 1)
    rows = sql(f"SELECT p FROM delta.`{path}`")
    assert len({row.p for row in rows}) == len(values) + 1
    assert [row.p for row in rows].count(None) == 1
    assert sql(f"SELECT typeof(p) AS kind FROM delta.`{path}` LIMIT 1")[0].kind == kind


def test_several_columns_in_order_and_without_regard_to_case(lake, convert, sql):
    lake.write("t/Day=2024-01-01/_c=FR")
    path = lake.write("t/Day=2024-01-02/_c=DE")
    result = convert(path, "day date, `_c` string")
    assert json.loads(result.operation_parameters["partitionedBy"]) == ["day", "_c"]
    assert {(str(row.day), row["_c"]) for row in sql(f"SELECT DISTINCT day, `_c` FROM delta.`{path}`")} == {
        ("2024-01-01", "FR"),
        ("2024-01-02", "DE"),
    }


def test_an_unpartitioned_directory_with_subdirectories(lake, convert):
    lake.write("t")
    path = lake.write("t/2024/01")
    assert convert(path).details["files_in_table"] == 2


@pytest.mark.parametrize(
    "name", ["50% off", "a`b", "${env:HOME}", "it's; -- x", "a*b[c]{d}?", "q@v0", "größe", 'say "hi"', "a\\b"]
)
def test_a_path_is_literal_whatever_it_holds(lake, convert, engine, marks, report, name):
    path = lake.write(name)
    lake.write("a1b")  # what a glob would find
    result = convert(path)
    assert (result.version, result.details["files_in_table"]) == (0, 1)
    assert len(commits(path)) == 1
    live = engine.read("deltatable", {"path": str(path)}, marks, report)
    assert live["version"] == 0


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("configured", [True, False])
def test_both_statistics_flags_decide_together(lake, engine, runtime, marks, report, asked, configured):
    path = lake.write("t")
    command = Convert(str(path), None, "parquet", None, asked)
    preview = engine.preview(command, None, marks, report)
    # The instance's own setting, as LEVEE_SPARK_CONF gives it, is what sessions begin with.
    conf = runtime.session.sparkContext._jsc.sc().conf()
    conf.set("spark.databricks.delta.stats.collect", str(configured).lower())
    try:
        result = engine.run(command, preview.as_json(), UNCHECKED, marks, report)
    finally:
        conf.remove("spark.databricks.delta.stats.collect")
    effective = asked and configured
    assert result.details["collect_stats"] is effective
    assert result.operation_parameters["collectStats"] == str(effective).lower()
    assert f"collect_stats = {effective}" in report.lines
    assert ("stats" in actions(path, "add")[0]) is effective


def test_the_batch_sizes_are_told_the_dead_one_as_dead(lake, convert, report):
    result = convert(lake.write("t"))
    assert result.details["statistics_batch_size"] == 50000
    assert result.details["schema_inference_batch_size (inert)"] == 1000000
    assert "statistics_batch_size = 50000" in report.lines


def test_the_result_is_what_delta_recorded(lake, convert, marks):
    path = lake.write("t/p=1")
    result = convert(path, "p int")
    assert dict(result.operation_parameters) == {
        "numFiles": "1",
        "partitionedBy": '["p"]',
        "collectStats": "true",
        "sourceFormat": "parquet",
    }
    assert dict(result.operation_metrics) == {"numConvertedFiles": "1"}
    assert result.read_version is None
    assert result.no_op is False
    assert "VACUUM" in result.details["text"]
    assert type(result).from_json(json.loads(json.dumps(result.as_json()))) == result
    (info,) = actions(path, "commitInfo")
    assert json.loads(info["userMetadata"]) == {"job": marks.job, "attempt": 1, "digest": marks.digest}


def test_another_engine_reads_the_same_rows(lake, convert):
    for value in range(3):
        path = lake.write(f"t/p={value}", {"id": list(range(value + 1)), "name": ["x"] * (value + 1)})
    convert(path, "p int")
    rows = Witness(str(path)).to_pyarrow_table().to_pylist()
    assert sorted((row["p"], row["id"]) for row in rows) == [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]


def test_zero_row_files_vanish_with_statistics_and_the_result_says_so(lake, convert, inspect):
    lake.write("t", {"id": [1]})
    path = lake.write("t", {"id": []}, name="empty.parquet", schema=lake_schema())
    found = inspect(path)
    assert found["empty_files"] == 1
    assert "empty_files" in [note["code"] for note in found["notes"]]
    result = convert(path)
    assert (result.details["files_converted"], result.details["files_in_table"]) == (2, 1)


def lake_schema():
    import pyarrow as pa

    return pa.schema([("id", pa.int64())])


def test_a_delta_table_is_a_no_op_that_says_so(lake, convert, report):
    path = lake.write("t")
    convert(path)
    before = names(path)
    again = convert(path)
    assert (again.no_op, again.version) == (True, None)
    assert "already" in again.details["text"]
    assert any("already" in line for line in report.lines)
    assert names(path) == before


def test_the_provider_delta_is_a_no_op(lake, convert):
    path = lake.write("t")
    convert(path)
    assert convert(path, source_format="delta").no_op is True


def test_a_delta_provider_on_a_parquet_directory_leaves_it_alone(lake, convert):
    path = lake.write("t")
    before = names(path)
    assert convert(path, source_format="delta").no_op is True
    assert names(path) == before


@pytest.mark.parametrize("provider", ["json", "csv", "orc", "iceberg"])
def test_other_providers_get_deltas_refusal(lake, convert, provider):
    path = lake.write("t")
    with pytest.raises(CommandRefused) as caught:
        convert(path, source_format=provider)
    (found,) = caught.value.refusals
    assert found.engine is not None
    assert found.engine.condition == "DELTA_CONVERT_NON_PARQUET_TABLE"
    assert f"you are trying to convert a {provider} source" in found.message


def test_only_the_files_of_a_streams_log_count(lake, convert, runtime, inspect, tmp_path):
    source, target = tmp_path / "source", lake.top / "50% t"
    lake.write("src", {"id": [1, 2], "p": ["a b", "c/d"]})
    spark = runtime.new_session()
    stream = (
        spark.readStream.schema("id bigint, p string")
        .parquet(str(lake.top / "src"))
        .writeStream.partitionBy("p")
        .option("checkpointLocation", str(source))
        .trigger(availableNow=True)
        .start(str(target))
    )
    assert stream.awaitTermination(120)
    lake.write("50% t/p=extra")
    found = inspect(target)
    assert (found["from_metadata_log"], found["num_files"]) == (True, 2)
    result = convert(target, "p string")
    assert result.details["files_in_table"] == 2
    assert {row.p for row in spark.read.format("delta").load(str(target)).collect()} == {"a b", "c/d"}


def test_a_data_column_with_a_partition_columns_name_is_overridden_and_said(lake, convert, inspect, sql):
    path = lake.write("t/p=7", {"id": [1], "P": ["data"]})
    found = inspect(path)
    assert "overridden_column" in [note["code"] for note in found["notes"]]
    assert [field["name"] for field in found["schema"]["fields"]] == ["id"]
    convert(path, "p int")
    assert [row.p for row in sql(f"SELECT p FROM delta.`{path}`")] == [7]


def test_files_that_come_and_go_in_the_same_layout_are_named(lake, engine, marks, report):
    lake.write("t/p=1")
    path = lake.write("t/p=2", name="gone.parquet")
    command = Convert(str(path), None, "parquet", "p int")
    preview = engine.preview(command, None, marks, report)
    (path / "p=2" / "gone.parquet").unlink()
    lake.write("t/p=3", name="come.parquet")
    result = engine.run(command, preview.as_json(), UNCHECKED, marks, report)
    assert result.details["files_come"] == ["p=3/come.parquet"]
    assert result.details["files_gone"] == ["p=2/gone.parquet"]
    assert result.details["files_in_table"] == 2


@pytest.mark.parametrize("is_listed", [True, False], ids=["few files", "too many for a list"])
def test_a_file_that_came_since_the_inspection_is_judged_as_the_others_were(lake, engine, marks, report, is_listed):
    """Beyond 10,000 files the inspection keeps no list of them, and a digest tells that some differ."""
    path = lake.write("t/p=1")
    command = Convert(str(path), None, "parquet", "p int")
    preview = engine.preview(command, None, marks, report).as_json()
    seen = preview if is_listed else preview | {"manifest": None}
    (path / "p=2").mkdir()
    (path / "p=2" / "come.parquet").write_bytes(b"no parquet")
    with pytest.raises(CommandRefused) as refused:
        engine.run(command, seen, UNCHECKED, marks, report)
    assert "come.parquet" in str(refused.value)
    assert not (path / "_delta_log").exists()
    (path / "p=2" / "come.parquet").unlink()
    (path / "p=2").rmdir()
    assert engine.run(command, seen, UNCHECKED, marks, report).version == 0


def test_two_converts_at_once_never_make_two_first_commits(lake, engine, marks, report):
    """What happens without Levee's lease: Delta itself must not commit twice (the lease is tested with the jobs)."""
    path = lake.write("t")
    command = Convert(str(path), None, "parquet", None)
    preview = engine.preview(command, None, marks, report)
    first = engine.run(command, preview.as_json(), UNCHECKED, marks, report)
    second = engine.run(command, preview.as_json(), UNCHECKED, marks, report)
    assert (first.version, second.no_op) == (0, True)
    assert len(commits(path)) == 1


def test_the_result_agrees_with_deltas_history_and_detail(lake, convert, sql):
    for value in range(3):
        path = lake.write(f"t/p={value}")
    result = convert(path, "p int")
    (row,) = sql(f"DESCRIBE HISTORY delta.`{path}`")
    assert (result.version, result.operation) == (row.version, row.operation)
    assert dict(result.operation_parameters) == row.operationParameters
    assert dict(result.operation_metrics) == row.operationMetrics
    assert result.details["files_in_table"] == sql(f"DESCRIBE DETAIL delta.`{path}`")[0].numFiles == 3


def test_someone_elses_first_commit_is_never_claimed(lake, engine, runtime, marks, report):
    path = lake.write("t")
    command = Convert(str(path), None, "parquet", None)
    preview = engine.preview(command, None, marks, report)
    report.at["Spark started"] = lambda: runtime.new_session().sql(f"CONVERT TO DELTA parquet.`{path}`").collect()
    result = engine.run(command, preview.as_json(), UNCHECKED, marks, report)
    assert (result.no_op, result.version) == (True, None)
    assert len(commits(path)) == 1
