"""Every member of the live DeltaTableV2, by path and by name, with time travel."""

import json
from datetime import UTC

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.errors import AnalysisException

from console.base.text.masking import MASK
from jobs.domain.errors import CommandRefused, EngineFailed

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

MEMBERS = {
    "name",
    "path",
    "root_path",
    "table_identifier",
    "catalog_table",
    "time_travel_opt",
    "time_travel_by_path",
    "time_travel_spec",
    "options",
    "schema",
    "partitioning",
    "properties",
    "capabilities",
    "v1_table",
    "partition_filters",
    "version",
    "read_at",
}


@pytest.fixture(scope="module")
def table(engine, runtime, tmp_path_factory):
    """A table with two versions, a comment, and a property that holds a secret."""
    path = tmp_path_factory.mktemp("v2") / "t"
    spark = runtime.new_session()
    spark.range(3).selectExpr("id", "cast(id % 2 AS int) AS p").write.format("delta").partitionBy("p").save(str(path))
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('api.token' = 'hunter2', 'team' = 'data')").collect()
    return path


@pytest.fixture
def ask(engine, marks, report):
    return lambda **question: engine.read("deltatable", question, marks, report)


@pytest.fixture
def refused(ask):
    """The condition with which Delta refuses a question."""

    def do(**question):
        with pytest.raises(EngineFailed) as caught:
            ask(**question)
        return caught.value.failure.condition

    return do


def test_every_member_is_there_and_is_json(table, ask):
    found = ask(path=str(table))
    assert set(found) == MEMBERS
    assert json.loads(json.dumps(found)) == found


def test_the_members_of_a_path(table, ask):
    found = ask(path=str(table))
    assert found["name"] == f"delta.`file:{table}`"
    assert (found["path"], found["root_path"], found["version"]) == (str(table), f"file:{table}", 1)
    assert found["partitioning"] == ["p"]
    assert [field["name"] for field in found["schema"]["fields"]] == ["id", "p"]
    assert found["capabilities"] == [
        "ACCEPT_ANY_SCHEMA",
        "BATCH_READ",
        "OVERWRITE_BY_FILTER",
        "OVERWRITE_DYNAMIC",
        "TRUNCATE",
        "V1_BATCH_WRITE",
    ]
    assert found["v1_table"]["error"]["engine"]["condition"] == "DELTA_INVALID_V1_TABLE_CALL"
    assert found["v1_table"]["error"]["engine"]["sqlstate"] == "XXKDS"
    assert (found["catalog_table"], found["table_identifier"], found["time_travel_spec"]) == (None, None, None)


def test_secrets_are_masked(table, ask, sql, tmp_path):
    given = {"db.pwd": "hunter2", "http.authorization": "Bearer hunter2", "conf": '{"password":"hunter2"}',
             "hook": "https://a/b?sig=hunter2", "from": "s3a://hunter2@bucket/x"}  # fmt: skip
    properties = ", ".join(f"'{name}' = '{value}'" for name, value in given.items())
    sql("CREATE DATABASE IF NOT EXISTS shop")
    kept = f"LOCATION '{tmp_path}/t' COMMENT 'see https://u:hunter2@host' TBLPROPERTIES ({properties})"
    sql(f"CREATE TABLE shop.masked (id INT) USING delta {kept}")
    found = ask(path=f"{tmp_path}/t", name="shop.masked")
    assert found["catalog_table"]["comment"] == f"see https://{MASK}@host"
    assert found["properties"]["db.pwd"] == MASK
    assert "hunter2" not in json.dumps(found)
    properties = ask(path=str(table))["properties"]
    assert (properties["api.token"], properties["team"]) == (MASK, "data")


@pytest.mark.parametrize(
    ("question", "opt", "by_path"),
    [({"at": "@v0"}, None, 0), ({"version": 0}, 0, None), ({"version": "0"}, 0, None)],
)
def test_time_travel_by_path_and_by_option(table, ask, question, opt, by_path):
    found = ask(path=str(table), **question)
    assert found["version"] == 0
    assert (found["time_travel_opt"] or {}).get("version") == opt
    assert (found["time_travel_by_path"] or {}).get("version") == by_path
    assert found["time_travel_spec"]["version"] == 0
    assert "team" not in found["properties"]


def test_a_time_is_told_to_the_microsecond(table, ask, sql):
    first = sql(f"DESCRIBE HISTORY delta.`{table}`")[-1].timestamp.astimezone(UTC)
    found = ask(path=str(table), timestamp=first.isoformat())
    assert found["version"] == 0
    assert found["time_travel_spec"]["version"] is None
    assert f"{first:%Y-%m-%d %H:%M:%S}" in found["time_travel_spec"]["timestamp"]


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ({"version": 0, "at": "@v0"}, "DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS"),
        ({"version": 0, "at": "@v1"}, "DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS"),
        ({"version": 0, "timestamp": "2024-01-01"}, "DELTA_ONEOF_IN_TIMETRAVEL"),
        ({"version": 7}, "DELTA_VERSION_NOT_FOUND"),
        ({"at": "@v7"}, "DELTA_VERSION_NOT_FOUND"),
        ({"timestamp": "2020-01-01T00:00:00Z"}, "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION"),
        ({"timestamp": "2120-01-01T00:00:00Z"}, "DELTA_TIMESTAMP_GREATER_THAN_COMMIT"),
    ],
)
def test_delta_refuses_time_travel_in_its_own_words(table, refused, question, condition):
    assert refused(path=str(table), **question) == condition


def test_a_partition_path_is_the_same_table(table, ask):
    found = ask(path=str(table), partition="p=1", at="@v0")
    assert (found["root_path"], found["version"], found["path"]) == (f"file:{table}", 0, f"{table}/p=1@v0")


@pytest.mark.parametrize(
    ("partition", "value"), [("p=1", "1"), ("p=9", "9"), ("P=a%2Fb", "a/b"), ("p=__HIVE_DEFAULT_PARTITION__", None)]
)
def test_a_partition_path_is_a_filter_whether_or_not_the_directory_is_there(table, ask, partition, value):
    found = ask(path=str(table), partition=partition)
    assert found["root_path"] == f"file:{table}"
    assert found["partition_filters"] == [{"column": "p", "value": value}]
    assert ask(path=str(table))["partition_filters"] == []


def test_a_partition_path_of_another_column_is_refused_as_delta_refuses_its_rows(table, ask, runtime):
    with pytest.raises(CommandRefused) as caught:
        ask(path=str(table), partition="id=1")
    said = caught.value.refusals[0].engine
    with pytest.raises(AnalysisException) as delta:
        runtime.new_session().read.format("delta").load(f"{table}/id=1").collect()
    assert said is not None
    assert (said.condition, said.sqlstate) == (delta.value.getCondition(), delta.value.getSqlState())
    assert said.message in str(delta.value)


def test_a_change_feed_has_its_own_schema(table, ask):
    found = ask(path=str(table), read_change_feed=True, starting_version=0)
    assert [field["name"] for field in found["schema"]["fields"]][2:] == [
        "_change_type",
        "_commit_version",
        "_commit_timestamp",
    ]
    assert found["options"] == {"readChangeFeed": "true", "startingVersion": "0"}


def test_a_place_without_a_table_is_not_delta(lake, ask):
    path = lake.write("t")
    for asked, code in ((path, "not_delta"), (path / "none", "not_found")):
        with pytest.raises(CommandRefused) as caught:
            ask(path=str(asked))
        assert caught.value.refusals[0].code == code


def leads_elsewhere(ask, path, **question):
    with pytest.raises(CommandRefused) as caught:
        ask(path=str(path), **question)
    return caught.value.refusals[0].code == "outside_roots"


def test_a_link_in_the_place_of_the_table_or_its_log_is_not_followed(table, ask, tmp_path):
    (tmp_path / "whole").symlink_to(table)
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "_delta_log").symlink_to(table / "_delta_log")
    (tmp_path / "commit" / "_delta_log").mkdir(parents=True)
    first = f"_delta_log/{0:020d}.json"
    (tmp_path / "commit" / first).symlink_to(table / first)
    for name in ("whole", "log", "commit"):
        assert leads_elsewhere(ask, tmp_path / name)


def test_a_metastore_that_says_another_place_is_not_followed(table, ask, tmp_path, monkeypatch):
    """Of an outside catalog Levee writes nothing: its entry may have been moved since the name was given."""
    other = tmp_path / "t"
    write_deltalake(other, pa.table({"id": [1]}))
    ask(path=str(table), name="shop.elsewhere")
    monkeypatch.setattr("jobs.engine.catalog.is_embedded", lambda session: False)
    assert ask(path=str(table), name="shop.elsewhere")["version"] == 1
    assert leads_elsewhere(ask, other, name="shop.elsewhere")


@pytest.mark.parametrize("question", [{"timestamp": "yesterday"}, {"versoin": 3}])
def test_a_question_that_makes_no_sense_is_refused(table, ask, question):
    with pytest.raises(CommandRefused) as caught:
        ask(path=str(table), **question)
    assert caught.value.refusals[0].code == "bad_request"
