"""The count and the hash of rows: the same for the same rows, whatever files and order they lie in; different for any other."""

from urllib.parse import unquote

import pytest
from deltalake import DeltaTable as Witness

from jobs.domain.errors import EngineFailed
from jobs.domain.results import affected_rows
from jobs.engine.measuring import measure, row_hash
from tests.jobs.engine.deltas import NAMES, VECTORS, deletion, make
from tests.jobs.engine.lake import actions

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

EVERY_TYPE = """
  CAST(id AS TINYINT) AS tiny, CAST(id AS SMALLINT) AS small, CAST(id AS INT) AS n, id % 2 = 0 AS flag, CAST(id AS FLOAT) / 3 AS f,
  CAST(id AS DOUBLE) / 3 AS d, CAST(id AS DECIMAL(38,10)) AS big, CAST(id AS DECIMAL(9,2)) AS price, concat('é', id) AS text,
  CAST(concat('b', id) AS BINARY) AS bytes, date_add(DATE '2020-01-01', CAST(id AS INT)) AS day, timestamp_seconds(id) AS at,
  CAST(timestamp_seconds(id) AS TIMESTAMP_NTZ) AS local,
  named_struct('a', id, 'deep', named_struct('list', array(id, NULL), 'by', map('k', map(id, array('v'))))) AS nested
"""
# Each pair are two rows of one schema that must not be taken for one another, or for two rows that are the same.
DIFFERENT = {
    "a value": ("1 AS a", "2 AS a"),
    "NULL in another column": ("1 AS a, CAST(NULL AS INT) AS b", "CAST(NULL AS INT) AS a, 1 AS b"),
    "NULL in a struct": (
        "named_struct('a', 1, 'b', CAST(NULL AS INT)) AS s",
        "named_struct('a', CAST(NULL AS INT), 'b', 1) AS s",
    ),
    "no struct": ("CAST(NULL AS STRUCT<a: INT>) AS s", "named_struct('a', CAST(NULL AS INT)) AS s"),
    "order of a list": ("array(1, 2) AS l", "array(2, 1) AS l"),
    "NULL in a list": ("array(1, CAST(NULL AS INT)) AS l", "array(CAST(NULL AS INT), 1) AS l"),
    "an empty list": ("CAST(array() AS ARRAY<INT>) AS l", "CAST(NULL AS ARRAY<INT>) AS l"),
    "lists in a list": ("array(array(1), array(2)) AS l", "array(array(1, 2), CAST(array() AS ARRAY<INT>)) AS l"),
    "a map's value": ("map('a', 1) AS m", "map('a', 2) AS m"),
    "values of keys": ("map('a', 1, 'b', 2) AS m", "map('a', 2, 'b', 1) AS m"),
    "a text's end": ("'a' AS t, 'b' AS u", "'ab' AS t, '' AS u"),
}
SAME = {
    "signs of zero": ("0.0D AS d, CAST(0.0 AS FLOAT) AS f", "-0.0D AS d, CAST(-0.0D AS FLOAT) AS f"),
    "NaN": ("CAST('NaN' AS DOUBLE) AS d", "0.0D / CAST('Infinity' AS DOUBLE) * CAST('Infinity' AS DOUBLE) AS d"),
    "order of a map": ("map('a', 1, 'b', 2) AS m", "map('b', 2, 'a', 1) AS m"),
    "order of a map in a map": ("map('k', map(1, 2, 3, 4)) AS m", "map('k', map(3, 4, 1, 2)) AS m"),
}  # fmt: skip


@pytest.fixture
def spark(runtime):
    return runtime.new_session()


@pytest.fixture
def count(engine, marks, report):
    return lambda path, predicate, version=None: engine.preview(deletion(path, predicate), version, marks, report)


def hashed(spark, columns):
    frame = spark.sql(f"SELECT {columns}")
    return frame.select(hash_of(frame).alias("h")).collect()[0]["h"]


def hash_of(frame):
    found = row_hash(frame.schema)
    assert found is not None
    return found


@pytest.mark.parametrize("case", list(DIFFERENT))
def test_other_rows_have_another_hash(spark, case):
    one, other = DIFFERENT[case]
    assert hashed(spark, one) != hashed(spark, other)


@pytest.mark.parametrize("case", list(SAME))
def test_equal_rows_have_one_hash(spark, case):
    one, other = SAME[case]
    assert hashed(spark, one) == hashed(spark, other)


def test_every_type_is_hashed_and_rewriting_files_changes_nothing(spark, sql, tmp_path):
    path = str(tmp_path / "t")
    spark.sql(f"SELECT id, {EVERY_TYPE} FROM range(0, 100, 1, 5)").write.format("delta").save(path)
    before = measure(spark.read.format("delta").load(path))
    sql(f"OPTIMIZE delta.`{path}`")
    after = measure(spark.read.format("delta").load(path))
    assert (len(before.files), len(after.files)) == (5, 1)
    assert (before.rows, before.rows_hash) == (after.rows, after.rows_hash)
    sql(f"UPDATE delta.`{path}` SET nested.deep.list = array(id) WHERE id = 7")
    assert measure(spark.read.format("delta").load(path)).rows_hash != before.rows_hash


def test_a_row_that_comes_twice_is_not_one_that_comes_once(spark, tmp_path):
    found = []
    for name, rows in (("a", "VALUES 1, 1, 2"), ("b", "VALUES 1, 2, 2")):
        spark.sql(f"SELECT * FROM ({rows})").write.format("delta").save(str(tmp_path / name))
        found.append(measure(spark.read.format("delta").load(str(tmp_path / name))).rows_hash)
    assert found[0] != found[1]


def test_the_sum_is_that_of_whole_decimals(spark, tmp_path):
    """Halves summed apart are the sum that the preview promises."""
    path = str(tmp_path / "t")
    spark.range(0, 1000, 1, 3).write.format("delta").save(path)
    frame = spark.read.format("delta").load(path)
    whole = frame.select(hash_of(frame).cast("decimal(38,0)").alias("h")).groupBy().sum("h").collect()[0][0]
    assert measure(frame).rows_hash == str(whole)


def test_a_type_without_a_hash_leaves_the_count(spark, count, tmp_path):
    path = tmp_path / "t"
    spark.sql("SELECT id, parse_json('{}') AS v FROM range(3)").write.format("delta").save(str(path))
    found = count(path, "id > 0")
    assert (found.rows, found.rows_total, found.rows_hash) == (2, 3, None)


def test_files_are_named_as_the_log_names_them(spark, count, tmp_path):
    path = tmp_path / "odd dir%20é"
    rows = [(1, "a b"), (2, "50%"), (3, "é/x"), (4, None), (5, "a%20b"), (6, "x:y=+&"), (7, "#?")]
    spark.createDataFrame(rows, "id int, p string").write.format("delta").partitionBy("p").save(str(path))
    found = count(path, "id > 0")
    named = {f"{path}/{unquote(add['path'])}": add["size"] for add in actions(path, "add")}
    assert found.files == dict.fromkeys(named, 1)
    assert found.bytes == sum(named.values())


def test_only_files_with_matching_rows_are_named(spark, count, tmp_path):
    path = make(spark, tmp_path / "t")
    found = count(path, "id IN (0, 2, 39)")
    assert sorted(found.files.values()) == [1, 2]
    assert (found.rows, found.rows_total) == (3, 40)


def test_an_old_version_is_counted_as_it_was(spark, count, sql, tmp_path):
    path = make(spark, tmp_path / "t", VECTORS)
    before = count(path, "id < 10")
    sql(f"DELETE FROM delta.`{path}` WHERE id = 3")
    old, new = count(path, "id < 10", 0), count(path, "id < 10")
    assert (old, (new.version, new.rows, new.rows_total)) == (before, (1, 9, 39))


def test_mapped_names_count_and_hash_the_same(spark, count, tmp_path):
    plain, mapped = make(spark, tmp_path / "a"), make(spark, tmp_path / "b", NAMES)
    assert count(plain, "id < 9").rows_hash == count(mapped, "id < 9").rows_hash


def test_a_column_that_looks_like_sparks_own_hides_nothing(spark, count, tmp_path):
    path = tmp_path / "t"
    spark.sql("SELECT id, 'x' AS _metadata FROM range(3)").write.format("delta").save(str(path))
    assert count(path, "_metadata = 'x'").rows == 3


def test_a_whole_table_is_counted_without_a_hash(spark, count, tmp_path):
    path = make(spark, tmp_path / "t")
    found = count(path, None)
    assert (found.rows, found.rows_total, found.rows_hash, len(found.files)) == (40, 40, None, 8)


def test_rows_are_read_and_not_taken_from_statistics(spark, count, tmp_path):
    """Statistics that lie make no difference to what was matched."""
    path = make(spark, tmp_path / "t")
    log = path / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace('\\"numRecords\\":5', '\\"numRecords\\":500'))
    (log.parent / f".{log.name}.crc").unlink(missing_ok=True)
    (log.parent / f"{0:020}.crc").unlink(missing_ok=True)
    assert count(path, "name LIKE 'r%'").rows == 40
    assert count(path, None).rows == 40


def test_a_predicate_that_fails_on_a_row_fails_the_preview(spark, count, tmp_path):
    path = make(spark, tmp_path / "t")
    with pytest.raises(EngineFailed) as caught:
        count(path, "CAST(name AS INT) = 1")
    assert caught.value.failure.condition == "CAST_INVALID_INPUT"


def test_unknown_rows_are_told_as_unknown():
    assert affected_rows({}) is None
    assert affected_rows({"numDeletedRows": None}) is None
    assert affected_rows({"numDeletedRows": "0"}) == 0


def test_the_witness_counts_the_same(spark, count, tmp_path):
    path = make(spark, tmp_path / "t")
    assert count(path, None).rows == Witness(path).count()
