"""Rows at any version and the change feed: exact values, Delta's refusals, and nothing read outside the table."""

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql.types import StringType

from jobs.domain.errors import CommandRefused, EngineFailed
from jobs.domain.storable import storable_text
from jobs.engine import cells
from jobs.engine.cells import ANSWER_CHARACTERS, CELL_CHARACTERS, cell_characters, parsed
from jobs.engine.directory import Directory

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

DAY = 86_400
EVERY_TYPE = """
  SELECT CAST(9223372036854775807 AS BIGINT) AS big, CAST(-7 AS TINYINT) AS tiny, true AS flag,
    CAST(0.1 AS FLOAT) AS small, 1e300D AS wide, CAST('NaN' AS DOUBLE) AS nan, CAST('-Infinity' AS DOUBLE) AS inf,
    CAST('12345678901234567890.123456789012345678' AS DECIMAL(38,18)) AS amount,
    DATE '0001-01-01' AS first, TIMESTAMP '2026-01-02 03:04:05.678901' AS at,
    TIMESTAMP_NTZ '2026-01-02 03:04:05' AS local, X'00FF' AS bytes, 'text' AS text, '' AS empty, CAST(NULL AS STRING) AS nothing,
    named_struct('d', CAST('1.10' AS DECIMAL(10,2)), 'n', CAST(NULL AS INT), 'b', X'00FF', 'f', CAST('NaN' AS DOUBLE)) AS struct,
    array(9007199254740993, NULL) AS list, map('k', DATE '2026-01-02') AS map, map(1, 'one') AS numbered,
    CAST(NULL AS STRUCT<a: INT>) AS no_struct
"""
EVERY_VALUE = {
    "big": 9223372036854775807, "tiny": -7, "flag": True, "small": 0.1, "wide": 1e300, "nan": "NaN", "inf": "-Infinity",
    "amount": "12345678901234567890.123456789012345678", "first": "0001-01-01", "at": "2026-01-02 03:04:05.678901",
    "local": "2026-01-02 03:04:05", "bytes": "AP8=", "text": "text", "empty": "", "nothing": None,
    "struct": {"d": "1.10", "n": None, "b": "AP8=", "f": "NaN"}, "list": [9007199254740993, None],
    "map": {"k": "2026-01-02"}, "numbered": {"1": "one"}, "no_struct": None,
}  # fmt: skip


@pytest.fixture
def spark(runtime):
    return runtime.new_session()


@pytest.fixture(scope="module")
def feed(engine, runtime, tmp_path_factory):
    """A table of four versions: rows 0 to 4; the feed turned on; row 1 gone; row 2 changed."""
    path = tmp_path_factory.mktemp("feed") / "t"
    spark = runtime.new_session()
    spark.range(5).selectExpr("id", "'old' AS note").write.format("delta").save(str(path))
    for text in (
        "ALTER TABLE delta.`{}` SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
        "DELETE FROM delta.`{}` WHERE id = 1",
        "UPDATE delta.`{}` SET note = 'new' WHERE id = 2",
    ):
        spark.sql(text.format(path)).collect()
    return path


@pytest.fixture
def rows(engine, marks, report):
    return lambda path, **more: engine.read("rows", {"path": str(path), "limit": 100, **more}, marks, report)


@pytest.fixture
def changes(engine, marks, report):
    return lambda path, first, **more: engine.read(
        "changes", {"path": str(path), "from_version": first, "limit": 100, **more}, marks, report
    )


def condition(ask, *args, **question):
    with pytest.raises(EngineFailed) as caught:
        ask(*args, **question)
    return caught.value.failure.condition


def code(ask, *args, **question):
    with pytest.raises(CommandRefused) as caught:
        ask(*args, **question)
    return caught.value.refusals[0].code


def test_every_type_is_exact_json(spark, rows, tmp_path):
    spark.sql(EVERY_TYPE).write.format("delta").save(str(tmp_path / "t"))
    found = rows(tmp_path / "t")
    names = [column["name"] for column in found["columns"]]
    assert dict(zip(names, found["rows"][0], strict=True)) == EVERY_VALUE
    assert (found["version"], found["truncated"], found["cut_cells"]) == (0, False, [])
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    types = {column["name"]: column["type"] for column in found["columns"]}
    assert (types["amount"], types["local"], types["list"]) == ("decimal(38,18)", "timestamp_ntz", "array<bigint>")


def test_any_version_is_read(feed, rows):
    assert sorted(rows(feed)["rows"]) == [[0, "old"], [2, "new"], [3, "old"], [4, "old"]]
    old = rows(feed, version=0)
    assert (old["version"], sorted(row[0] for row in old["rows"])) == (0, [0, 1, 2, 3, 4])
    first = (feed / "_delta_log" / f"{0:020d}.json").stat().st_mtime
    assert rows(feed, timestamp=datetime.fromtimestamp(first, UTC).isoformat())["version"] == 0


def test_delta_refuses_a_version_in_its_own_words(feed, rows):
    assert condition(rows, feed, version=9) == "DELTA_VERSION_NOT_FOUND"
    assert condition(rows, feed, timestamp="2020-01-01T00:00:00Z") == "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION"
    assert condition(rows, feed, version=0, timestamp="2026-01-01") == "DELTA_ONEOF_IN_TIMETRAVEL"


def test_delta_refuses_a_version_beyond_the_retention(rows, tmp_path):
    """Delta judges by the commit's own time, the file's; the newest version is always read."""
    path = tmp_path / "t"
    write_deltalake(path, pa.table({"id": [1]}))
    write_deltalake(path, pa.table({"id": [2]}), mode="append")
    for commit, days in zip(sorted((path / "_delta_log").glob("*.json")), (20, 15), strict=True):
        os.utime(commit, (time.time() - days * DAY,) * 2)
    assert condition(rows, path, version=0) == "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION"
    assert sorted(rows(path)["rows"]) == sorted(rows(path, version=1)["rows"]) == [[1], [2]]


def test_a_change_by_another_writer_is_seen_at_once(rows, tmp_path):
    path = tmp_path / "t"
    for version in range(3):
        write_deltalake(path, pa.table({"id": [version]}), mode="append")
        found = rows(path)
        assert (found["version"], sorted(found["rows"])) == (version, [[v] for v in range(version + 1)])
    DeltaTable(path).delete("id = 0")
    assert (rows(path)["version"], sorted(rows(path)["rows"])) == (3, [[1], [2]])


def test_rows_are_read_from_the_files(spark, rows, tmp_path):
    path = tmp_path / "t"
    spark.range(3).coalesce(1).write.format("delta").save(str(path))
    next(path.glob("*.parquet")).unlink()
    assert condition(rows, path) == "FAILED_READ_FILE.FILE_NOT_EXIST"


def test_columns_are_named_literally(spark, rows, tmp_path):
    """A name is no expression: dots, quotes and statements in it are a name."""
    names = ["a.b", "`", "<b>x</b>", "=cmd()", "1 + 1", "count(*)", "id"]
    spark.conf.set("spark.databricks.delta.properties.defaults.columnMapping.mode", "name")
    frame = spark.createDataFrame([tuple(range(len(names)))], [f"c{place}" for place in range(len(names))]).toDF(*names)
    frame.write.format("delta").save(str(tmp_path / "t"))
    for place, name in enumerate(names):
        found = rows(tmp_path / "t", columns=[name])
        assert (found["columns"], found["rows"]) == ([{"name": name, "type": "bigint"}], [[place]])
    assert rows(tmp_path / "t", columns=["id", "a.b"])["rows"] == [[6, 0]]
    for name in ("id + 1", "b", "*", "_metadata", "ID", "input_file_name()"):
        assert code(rows, tmp_path / "t", columns=[name]) == "no_such_column"


def test_a_limit_is_kept_and_said(feed, rows):
    found = rows(feed, version=0, limit=2)
    assert (len(found["rows"]), found["truncated"]) == (2, True)
    found = rows(feed, version=0, limit=5)
    assert (len(found["rows"]), found["truncated"]) == (5, False)
    for limit in (0, 1001):
        assert code(rows, feed, limit=limit) == "bad_request"


def test_long_values_are_cut_and_the_answer_is_bounded(spark, rows, tmp_path):
    path = tmp_path / "t"
    text = f"SELECT id, repeat('é', {CELL_CHARACTERS} + CAST(id AS INT)) AS long, array(repeat('x', 20000)) AS list"
    spark.sql(f"{text} FROM range(600)").coalesce(1).write.format("delta").save(str(path))
    found = rows(path, limit=2)
    assert found["rows"][0] == [0, "é" * CELL_CHARACTERS, '["' + "x" * (CELL_CHARACTERS - 2) + "…"]
    assert found["rows"][1][1] == "é" * CELL_CHARACTERS + "…"
    assert (found["cut_cells"], found["truncated"]) == ([[0, 2], [1, 1], [1, 2]], True)
    whole = rows(path, limit=1000)
    assert whole["truncated"]
    assert ANSWER_CHARACTERS * 0.9 < len(json.dumps(whole["rows"], ensure_ascii=False)) <= ANSWER_CHARACTERS
    assert len(whole["rows"]) < 600


def test_what_no_store_holds_is_replaced(spark, rows, tmp_path):
    """NUL in a text and in a nested one; bytes that are no UTF-8."""
    spark.sql(
        "SELECT concat('a', chr(0), 'b') AS t, array(concat('a', chr(0))) AS n, CAST(X'61FF62' AS STRING) AS broken"
    ).write.format("delta").save(str(tmp_path / "t"))
    assert rows(tmp_path / "t")["rows"] == [["a␀b", ["a␀"], "a�b"]]


def test_a_change_feed_is_told_from_its_oldest_commit_on(feed, changes):
    found = changes(feed, 1)
    assert [column["name"] for column in found["columns"]] == [
        "id", "note", "_change_type", "_commit_version", "_commit_timestamp",
    ]  # fmt: skip
    assert sorted(row[:4] for row in found["rows"]) == [
        [1, "old", "delete", 2], [2, "new", "update_postimage", 3], [2, "old", "update_preimage", 3],
    ]  # fmt: skip
    assert [row[3] for row in found["rows"]] == [2, 3, 3]
    assert (found["from_version"], found["to_version"], found["truncated"]) == (1, 3, False)
    assert [row[3] for row in changes(feed, 1, to_version=2)["rows"]] == [2]
    assert changes(feed, 1, limit=1)["truncated"]


def test_delta_refuses_a_change_feed_in_its_own_words(feed, changes):
    assert condition(changes, feed, 0) == "DELTA_MISSING_CHANGE_DATA"
    assert condition(changes, feed, 9) == "DELTA_CDC_START_VERSION_AFTER_LATEST"
    assert condition(changes, feed, 3, to_version=2) == "DELTA_INVALID_CDC_RANGE"


def rewrite(path: Path, version: int, change):
    """Changes the add actions of a commit by hand."""
    commit = path / "_delta_log" / f"{version:020d}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            change(line["add"])
    commit.write_text("\n".join(json.dumps(line) for line in lines))


@pytest.mark.parametrize("form", ["{}", "file:{}", "../{0.parent.name}/{0.name}", "%2E%2E/{0.parent.name}/{0.name}"])
def test_a_file_outside_the_table_is_not_read(rows, changes, tmp_path, form):
    for name in ("secret", "t"):
        write_deltalake(tmp_path / name, pa.table({"id": [1]}), configuration={"delta.enableChangeDataFeed": "true"})
    secret = next((tmp_path / "secret").glob("*.parquet"))
    rewrite(tmp_path / "t", 0, lambda add: add.update(path=form.format(secret)))
    assert code(rows, tmp_path / "t") == "outside_roots"
    assert code(changes, tmp_path / "t", 0) == "outside_roots"


def test_a_removed_file_outside_the_table_is_not_read_either(changes, tmp_path):
    """The feed of an old commit reads files that the newest version no longer names."""
    path = tmp_path / "t"
    for number in range(2):
        write_deltalake(
            path, pa.table({"id": [number]}), mode="append", configuration={"delta.enableChangeDataFeed": "true"}
        )
    DeltaTable(path).delete()
    rewrite(path, 0, lambda add: add.update(path="/etc/passwd"))
    assert code(changes, path, 0) == "outside_roots"


@pytest.mark.parametrize(("name", "other"), [("g[x]", "gx"), ("g*", "ga"), ("{g,h}", "g"), ("g\\[", "g[")])
def test_a_table_is_judged_by_its_own_log_though_its_name_is_a_pattern(changes, tmp_path, name, other):
    for place in ("ours", "others"):
        write_deltalake(tmp_path / place, pa.table({"id": [1]}), configuration={"delta.enableChangeDataFeed": "true"})
        DeltaTable(tmp_path / place).delete()
    (tmp_path / "others").rename(tmp_path / other)
    assert [row[0] for row in changes((tmp_path / "ours").rename(tmp_path / name), 0)["rows"]] == [1, 1]
    secret = next((tmp_path / other).glob("*.parquet"))
    rewrite(tmp_path / name, 0, lambda add: add.update(path=quote(str(secret))))
    assert code(changes, tmp_path / name, 0) == "outside_roots"
    assert [row[0] for row in changes(tmp_path / other, 0)["rows"]] == [1, 1]


def test_a_foreign_deletion_vector_is_not_read(rows, tmp_path):
    for vector in (
        {"storageType": "p", "pathOrInlineDv": "file:/etc/passwd"},
        {"storageType": "u", "pathOrInlineDv": "../x" + "a" * 20},
    ):
        path = tmp_path / vector["storageType"]
        write_deltalake(path, pa.table({"id": [1]}))
        more = {"offset": 1, "sizeInBytes": 36, "cardinality": 1}
        rewrite(path, 0, lambda add, made={**vector, **more}: add.update(deletionVector=made))
        assert code(rows, path) == "outside_roots"


def test_an_absolute_path_into_the_table_itself_is_read(rows, tmp_path):
    write_deltalake(tmp_path / "t", pa.table({"id": [1]}))
    rewrite(tmp_path / "t", 0, lambda add: add.update(path=f"file:{tmp_path}/t/{add['path']}"))
    assert rows(tmp_path / "t")["rows"] == [[1]]


def test_a_link_is_not_followed(rows, tmp_path):
    write_deltalake(tmp_path / "t", pa.table({"id": [1], "p": [1]}), partition_by=["p"])
    Directory(str(tmp_path / "t")).check()
    (tmp_path / "t" / "p=1").rename(tmp_path / "elsewhere")
    (tmp_path / "t" / "p=1").symlink_to(tmp_path / "elsewhere")
    assert code(rows, tmp_path / "t") == "outside_roots"


def test_a_place_without_a_table_is_not_delta(lake, rows, changes):
    path = lake.write("t")
    assert code(rows, path) == code(changes, path, 0) == "not_delta"
    assert code(rows, path, versoin=3) == "bad_request"


def test_a_column_without_a_form_is_refused_by_name(monkeypatch, feed, rows):
    monkeypatch.setattr(cells, "SIMPLE", tuple(kind for kind in cells.SIMPLE if kind is not StringType))
    assert code(rows, feed) == "unreadable_type"
    assert rows(feed, columns=["id"], limit=1)["columns"] == [{"name": "id", "type": "bigint"}]


def test_the_bounds_hold_whatever_the_shape():
    for columns in (1, 20, 420, 5_000):
        for count in (2, 1001):
            characters = cell_characters(columns, count)
            assert characters == 16 or columns * count * characters <= 128 << 20
            assert characters == 16 or columns * characters <= ANSWER_CHARACTERS
    assert cell_characters(10, 1001) == CELL_CHARACTERS
    assert parsed("x" * 11, StringType(), 10) == ("x" * 10 + "…", True)
    assert storable_text("a\x00\ud800") == "a␀?"
