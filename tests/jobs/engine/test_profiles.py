"""Columns told by reading all rows: exact where it is said to be, and nothing read beyond the bounds."""

import pytest

from jobs.domain import read_limits
from jobs.domain.errors import CommandRefused
from tests.jobs.engine.deltas import VECTORS, make

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

ROWS = """
  SELECT * FROM VALUES
    (1, 'a', 1.5D, CAST(1.10 AS DECIMAL(10, 2)), DATE '2026-01-02', map('k', 1), true),
    (2, 'a', CAST('NaN' AS DOUBLE), NULL, DATE '2026-01-01', map('k', 1), true),
    (3, NULL, NULL, CAST(3.30 AS DECIMAL(10, 2)), NULL, NULL, false),
    (4, repeat('z', 300), 0.5D, NULL, NULL, map('k', 2), NULL)
  AS t(id, name, x, price, day, tags, ok)
"""


@pytest.fixture
def spark(runtime):
    return runtime.new_session()


@pytest.fixture
def profile(engine, marks, report):
    return lambda path, **more: engine.read("profile", {"path": str(path), **more}, marks, report)


def code(ask, *args, **question):
    with pytest.raises(CommandRefused) as caught:
        ask(*args, **question)
    return caught.value.refusals[0].code


def test_columns_are_told_by_their_rows(spark, profile, tmp_path):
    spark.sql(ROWS).coalesce(1).write.format("delta").save(str(tmp_path / "t"))
    found = profile(tmp_path / "t")
    assert (found["version"], found["rows"], found["more_columns"], found["read"]["files"]) == (0, 4, 0, 1)
    columns = {column.pop("name"): column for column in found["columns"]}
    assert {name: value for name, value in columns["id"].items() if name != "frequent"} == {
        "type": "int", "nulls": 0, "distinct": 4, "min": "1", "max": "4", "mean": 2.5,
    }  # fmt: skip
    assert sorted(each["value"] for each in columns["id"]["frequent"]) == ["1", "2", "3", "4"]
    long = "z" * 200 + "…"
    assert (columns["name"]["nulls"], columns["name"]["min"], columns["name"]["max"], columns["name"]["mean"]) == (
        1,
        "a",
        long,
        None,
    )
    assert columns["name"]["frequent"] == [{"value": "a", "count": 2}, {"value": long, "count": 1}]
    assert (columns["x"]["nulls"], columns["x"]["min"], columns["x"]["max"], columns["x"]["mean"]) == (
        1,
        "0.5",
        "NaN",
        "NaN",
    )
    assert (columns["price"]["min"], columns["price"]["mean"], columns["day"]["max"]) == ("1.10", 2.2, "2026-01-02")
    assert (
        columns["tags"]["nulls"],
        columns["tags"]["distinct"],
        columns["tags"]["min"],
        columns["tags"]["frequent"],
    ) == (1, 2, None, None)
    assert (columns["ok"]["frequent"][0], columns["ok"]["min"]) == ({"value": "true", "count": 2}, None)


def test_long_values_that_begin_alike_are_counted_apart(spark, profile, tmp_path):
    """Cut where they are told, two texts and two binaries would be one value each."""
    ends = ("z" * 50 + "a",) * 3 + ("z" * 50 + "b",) * 2 + ("",)
    rows = ", ".join(f"('{'z' * 200 + end}')" for end in ends)
    spark.sql(f"SELECT t, CAST(t AS BINARY) AS b FROM VALUES {rows} AS v(t)").coalesce(1).write.format("delta").save(
        str(tmp_path / "t")
    )
    text, binary = profile(tmp_path / "t")["columns"]
    assert text["frequent"] == [
        {"value": "z" * 200 + "…", "count": 3}, {"value": "z" * 200 + "…", "count": 2}, {"value": "z" * 200, "count": 1},
    ]  # fmt: skip
    assert [each["count"] for each in binary["frequent"]] == [3, 2, 1]
    assert {len(each["value"]) for each in binary["frequent"]} == {201}


def test_rows_that_deletion_vectors_hide_do_not_count(spark, profile, tmp_path):
    path = make(spark, tmp_path / "t", VECTORS)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id < 4 OR id > 30").collect()
    found = profile(path, columns=["id"])
    assert (found["rows"], [column["name"] for column in found["columns"]]) == (27, ["id"])
    assert (found["columns"][0]["min"], found["columns"][0]["max"]) == ("4", "30")
    assert profile(path, version=0)["rows"] == 40


def test_the_first_columns_are_told_and_how_many_more_there_are(spark, profile, tmp_path):
    spark.range(1).selectExpr(*[f"id AS c{place}" for place in range(52)]).write.format("delta").save(
        str(tmp_path / "t")
    )
    found = profile(tmp_path / "t")
    assert (len(found["columns"]), found["more_columns"]) == (50, 2)


@pytest.mark.parametrize(
    ("bound", "said"), [("MOST_BYTES", "GiB in this version"), ("MOST_ROWS", "40 rows"), ("MOST_FILES", "8 files")]
)
def test_too_much_is_refused_before_a_row_is_read(spark, profile, tmp_path, monkeypatch, bound, said):
    path = make(spark, tmp_path / "t")
    for file in path.rglob("*.parquet"):
        file.unlink()
    monkeypatch.setattr(read_limits, bound, 3)
    with pytest.raises(CommandRefused) as caught:
        profile(path)
    assert (caught.value.refusals[0].code, said in caught.value.refusals[0].message) == ("too_much_to_read", True)


def test_an_odd_question_is_refused(spark, profile, lake, tmp_path):
    path = make(spark, tmp_path / "t")
    assert code(profile, path, columns=["nope"]) == "no_such_column"
    assert code(profile, path, limit=3) == code(profile, path, columns=["id"] * 51) == "bad_request"
    assert code(profile, lake.write("plain")) == "not_delta"
