"""Which rows differ between two versions: from the change feed and from files, on real Delta, beside another engine's reading."""

import json
import random
import shutil
from collections import Counter

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import functions as F

from jobs.domain import read_limits
from jobs.domain.errors import CommandRefused
from jobs.engine import inside
from jobs.engine.row_diff import by_feed, by_files
from jobs.engine.row_diff.by_feed import NO_COMMITS, NO_FEED, OTHER_TYPES
from tests.jobs.engine.deltas import FEED, NAMES, VECTORS, make
from tests.jobs.engine.swaps import laid
from tests.jobs.engine.watching import Watch

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

SEED = 20261129
VALUES = """
  id, CAST(NULL AS INT) AS nothing, CAST('NaN' AS DOUBLE) AS nan, array(1, NULL) AS list, {} AS map,
  named_struct('m', map('k', map(1, array('v'))), 'n', CAST(NULL AS STRING)) AS deep, CAST(NULL AS MAP<INT, INT>) AS no_map,
  CAST('1.10' AS DECIMAL(10, 2)) AS price, X'00FF' AS bytes, DATE '2026-01-02' AS day, TIMESTAMP_NTZ '2026-01-02 03:04:05' AS local
"""


@pytest.fixture
def spark(runtime):
    return runtime.new_session()


@pytest.fixture
def diff(engine, marks, report):
    def ask(path, first, last, **more):
        question = {"path": str(path), "from_version": first, "to_version": last, "limit": 1000, **more}
        return engine.read("row_diff", question, marks, report)

    return ask


def run(spark, path, *statements):
    for statement in statements:
        spark.sql(statement.format(t=f"delta.`{path}`")).collect()


def save(frame, path, mode="append", **options):
    frame.coalesce(1).write.format("delta").mode(mode).options(**options).save(str(path))


def code(ask, *args, **question):
    with pytest.raises(CommandRefused) as caught:
        ask(*args, **question)
    return caught.value.refusals[0].code


def totals(found):
    kinds = ("insert", "delete", "update_postimage", "update_preimage")
    return {kind: count for kind in kinds if (count := found["totals"][kind])}


def changes(found, *, width=None):
    """The lines without their columns' names: how often each row came (1, 2, …) or went (-1, -2, …)."""
    sums: Counter[str] = Counter()
    for change, count, *row in found["rows"]:
        sums[json.dumps(row[:width])] += count if change in ("insert", "update_postimage") else -count
    return {row: count for row, count in sums.items() if count}


# ------------------------------------------------------------------------------------------------ from files


def test_rows_are_compared_as_often_as_they_are_there(spark, diff, tmp_path):
    path = tmp_path / "t"
    save(spark.sql("SELECT * FROM VALUES (1, 'a'), (1, 'a'), (2, NULL), (3, 'c') AS t(id, note)"), path)
    save(
        spark.sql("SELECT * FROM VALUES (3, 'c'), (1, 'a'), (2, NULL), (2, NULL), (4, NULL) AS t(id, note)"),
        path,
        "overwrite",
    )
    found = diff(path, 0, 1)
    assert found["columns"] == [
        {"name": "_change_type", "type": "string"}, {"name": "_count", "type": "bigint"},
        {"name": "id", "type": "int"}, {"name": "note", "type": "string"},
    ]  # fmt: skip
    assert found["rows"] == [["delete", 1, 1, "a"], ["insert", 1, 2, None], ["insert", 1, 4, None]]
    assert found["totals"] == {"insert": 2, "delete": 1, "update_preimage": None, "update_postimage": None, "lines": 3}
    assert (found["read_from"], found["no_feed"], found["truncated"], found["cut_cells"]) == (
        "files",
        NO_FEED,
        False,
        [],
    )
    assert (found["from_version"], found["to_version"]) == (0, 1)
    assert found["read"] == {"files": 2, "rows": 9, "bytes": sum(f.stat().st_size for f in path.glob("*.parquet"))}


def test_files_that_both_versions_have_are_not_read(spark, diff, tmp_path):
    path = make(spark, tmp_path / "t")
    run(spark, path, "DELETE FROM {t} WHERE id = 7", "INSERT INTO {t} VALUES (100, 'new', 1)")
    table = DeltaTable(str(path))
    both = set(DeltaTable(str(path), version=0).file_uris()) & set(table.file_uris())
    assert both
    for file in both:  # read, it would be missed
        (path / file.removeprefix(str(path)).lstrip("/")).unlink()
    found = diff(path, 0, 2)
    assert found["rows"] == [["delete", 1, 7, "r7", 1], ["insert", 1, 100, "new", 1]]
    assert found["read"]["files"] == 3


def test_a_file_whose_deletion_vector_changed_counts_with_both(spark, diff, tmp_path):
    path = make(spark, tmp_path / "t", VECTORS, files=1)
    run(spark, path, "DELETE FROM {t} WHERE id = 4", "DELETE FROM {t} WHERE id IN (6, 7)")
    found = diff(path, 1, 2)
    assert [row[:3] for row in found["rows"]] == [["delete", 1, 6], ["delete", 1, 7]]
    assert found["read"]["rows"] == 19 + 18 + 20 + 19
    assert totals(diff(path, 0, 2)) == {"delete": 3}


def test_files_written_again_are_no_difference(spark, diff, tmp_path):
    path = make(spark, tmp_path / "t")
    run(spark, path, "OPTIMIZE {t}")
    found = diff(path, 0, 1)
    assert (found["rows"], totals(found), found["totals"]["lines"], found["read"]["rows"]) == ([], {}, 0, 80)


def test_versions_with_the_same_files_have_no_difference(spark, diff, tmp_path):
    path = make(spark, tmp_path / "t")
    run(spark, path, "ALTER TABLE {t} SET TBLPROPERTIES ('team' = 'a')")
    found = diff(path, 0, 1)
    assert (found["rows"], found["read"]) == ([], {"files": 0, "bytes": 0, "rows": 0})


def test_every_type_is_compared_with_its_maps_in_any_order(spark, diff, tmp_path):
    path = tmp_path / "t"
    one, other = "map('a', 1, 'b', NULL)", "map('b', NULL, 'a', 1)"
    save(spark.range(3).selectExpr(*_parts(VALUES.format(one))), path)
    save(spark.range(3).selectExpr(*_parts(VALUES.format(other))), path, "overwrite")
    assert diff(path, 0, 1)["rows"] == []
    save(spark.range(2).selectExpr(*_parts(VALUES.format("map('a', 1, 'b', 2)"))), path, "overwrite")
    found = diff(path, 1, 2)
    assert [(row[0], row[2], row[6]) for row in found["rows"]] == [
        ("delete", 0, {"a": 1, "b": None}), ("insert", 0, {"a": 1, "b": 2}),
        ("delete", 1, {"a": 1, "b": None}), ("insert", 1, {"a": 1, "b": 2}),
        ("delete", 2, {"a": 1, "b": None}),
    ]  # fmt: skip
    assert found["rows"][0][3:] == [
        None, "NaN", [1, None], {"a": 1, "b": None}, {"m": {"k": {"1": ["v"]}}, "n": None}, None, "1.10", "AP8=", "2026-01-02",
        "2026-01-02 03:04:05",
    ]  # fmt: skip


def _parts(text):
    """The expressions of a select list; a comma between brackets parts nothing."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        parts = [*parts, ""] if character == "," and not depth else [*parts[:-1], parts[-1] + character]
    return [part.strip() for part in parts]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('parse_json(\'{"a": 1, "b": [true]}\')', 'parse_json(\'{"b":[true],"a":1}\')'),
        ("map('k', parse_json('1'))", "map('k', parse_json('1'))"),
        ("0.0D", "-0.0D"),
    ],
)
def test_equal_values_are_no_difference(spark, diff, tmp_path, one, other):
    path = tmp_path / "t"
    for mode, value in (("append", one), ("overwrite", other)):
        save(spark.sql(f"SELECT {value} AS v"), path, mode)
    assert diff(path, 0, 1)["rows"] == []


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("parse_json('1')", "parse_json('\"1\"')", (1, "1")),
        ("map(array(1), 1)", "map(array(1, NULL), 1)", None),
        ("named_struct('a', CAST(NULL AS INT))", "CAST(NULL AS STRUCT<a: INT>)", ({"a": None}, None)),
        ("CAST(array() AS ARRAY<INT>)", "CAST(NULL AS ARRAY<INT>)", ([], None)),
        ("CAST('a' AS STRING COLLATE UNICODE_CI)", "CAST('A' AS STRING COLLATE UNICODE_CI)", ("a", "A")),
        ("''", "CAST(NULL AS STRING)", ("", None)),
    ],
)
def test_other_values_are_a_difference(spark, diff, tmp_path, one, other, shown):
    path = tmp_path / "t"
    spark.conf.set("spark.databricks.delta.schema.typeCheck.enabled", "false")  # as a writer that has collations
    for mode, value in (("append", one), ("overwrite", other)):
        save(spark.sql(f"SELECT {value} AS v"), path, mode)
    found = diff(path, 0, 1)
    assert totals(found) == {"insert": 1, "delete": 1}
    if shown:
        assert {row[0]: row[2] for row in found["rows"]} == {"delete": shown[0], "insert": shown[1]}


def test_a_limit_is_of_lines_and_says_how_many_there_are(spark, diff, tmp_path):
    path = tmp_path / "t"
    save(spark.range(5), path)
    save(spark.range(3, 9), path, "overwrite")
    found = diff(path, 0, 1, limit=2)
    assert found["rows"] == [["delete", 1, 0], ["delete", 1, 1]]
    assert (found["truncated"], found["totals"]["lines"], totals(found)) == (True, 7, {"delete": 3, "insert": 4})
    assert not diff(path, 0, 1, limit=7)["truncated"]


@pytest.mark.parametrize(
    ("bound", "listed", "said"),
    [
        ("MOST_BYTES", 100, "GiB"), ("MOST_ROWS", 100, "80 rows"), ("MOST_ROWS", 3, "80 rows"),
        ("MOST_FILES", 3, "10 files in the files that only one"),
    ],
)  # fmt: skip
def test_too_much_is_refused_before_a_row_is_read(spark, diff, tmp_path, monkeypatch, bound, listed, said):
    path = make(spark, tmp_path / "t")
    run(spark, path, "OPTIMIZE {t}")
    for file in path.rglob("*.parquet"):
        file.unlink()
    monkeypatch.setattr(read_limits, bound, 3)
    monkeypatch.setattr(by_files, "MOST_FILES", listed)
    with pytest.raises(CommandRefused) as caught:
        diff(path, 0, 1)
    assert caught.value.refusals[0].code == "too_much_to_read"
    assert said in caught.value.refusals[0].message


# ------------------------------------------------------------------------------------------------ from the change feed


@pytest.fixture(scope="module")
def feed(engine, runtime, tmp_path_factory):
    """Rows 0 to 4; the feed turned on; row 1 gone; row 2 changed twice; row 9 came and went; row 5 came and was changed; optimized."""
    path, spark = tmp_path_factory.mktemp("feed") / "t", runtime.new_session()
    save(spark.range(5).selectExpr("id", "'old' AS note"), path)
    for statement in (
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')", "DELETE FROM {t} WHERE id = 1",
        "UPDATE {t} SET note = 'new' WHERE id = 2", "UPDATE {t} SET note = 'newer' WHERE id = 2",
        "INSERT INTO {t} VALUES (5, 'x'), (9, 'x')", "DELETE FROM {t} WHERE id = 9", "UPDATE {t} SET note = 'y' WHERE id = 5",
        "OPTIMIZE {t}",
    ):  # fmt: skip
        run(spark, path, statement)
    return path


def test_the_feed_tells_updates_and_what_was_left_in_the_end(feed, diff):
    found = diff(feed, 1, 8)
    assert (found["read_from"], found["no_feed"]) == ("change_feed", None)
    assert found["rows"] == [
        ["delete", 1, 1, "old"], ["update_postimage", 1, 2, "newer"], ["update_preimage", 1, 2, "old"], ["update_postimage", 1, 5, "y"],
    ]  # fmt: skip
    assert totals(found) == {"delete": 1, "update_postimage": 2, "update_preimage": 1}
    assert found["read"]["rows"] == 1 + 2 + 2 + 2 + 1 + 2
    assert found["read"]["bytes"] > 0


def test_the_feed_begins_with_the_commit_that_turned_it_on(feed, diff):
    assert diff(feed, 0, 2)["read_from"] == "change_feed"


def test_the_feed_and_the_files_tell_the_same(feed, diff, monkeypatch):
    told = diff(feed, 1, 8)
    monkeypatch.setattr("jobs.engine.row_diff.by_feed.feed_between", lambda *_: NO_FEED)
    assert changes(diff(feed, 1, 8)) == changes(told) != {}


def test_without_a_feed_in_each_version_the_files_are_read(spark, diff, tmp_path):
    path = make(spark, tmp_path / "t", FEED)
    run(
        spark, path, "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')", "DELETE FROM {t} WHERE id = 1",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')", "DELETE FROM {t} WHERE id = 2",
    )  # fmt: skip
    found = diff(path, 0, 4)
    assert (found["read_from"], found["no_feed"], totals(found)) == ("files", NO_FEED, {"delete": 2})
    assert diff(path, 2, 4)["read_from"] == "change_feed"


def test_a_feed_whose_files_are_gone_is_not_read(feed, diff, tmp_path):
    path = shutil.copytree(feed, tmp_path / "t")
    shutil.rmtree(path / "_change_data")
    found = diff(path, 1, 8)
    assert (found["read_from"], totals(found)) == ("files", {"delete": 2, "insert": 2})
    assert found["no_feed"] == "Delta refuses to read it (FAILED_READ_FILE.FILE_NOT_EXIST)"


def test_a_feed_with_too_much_to_read_gives_way_to_the_files(feed, diff, monkeypatch):
    monkeypatch.setattr("jobs.engine.row_diff.by_feed.excess", lambda *_: "there is too much to read")
    assert diff(feed, 1, 8)["no_feed"] == "there is too much to read"


def test_a_feed_whose_commits_are_cleaned_up_is_not_read(spark, diff, tmp_path):
    path = make(spark, tmp_path / "t", {**FEED, "delta.checkpointInterval": "2"})
    run(spark, path, *(f"DELETE FROM {{t}} WHERE id = {number}" for number in range(4)))
    for version in (0, 1):
        (path / "_delta_log" / f"{version:020d}.json").unlink()
    assert diff(path, 2, 4)["read_from"] == "change_feed"
    (path / "_delta_log" / f"{3:020d}.json").unlink()
    found = diff(path, 2, 4)
    assert (found["read_from"], found["no_feed"], totals(found)) == ("files", NO_COMMITS, {"delete": 2})


# ------------------------------------------------------------------------------------------------ other columns


def test_a_new_column_is_null_in_the_older_version(spark, diff, tmp_path):
    path = make(spark, tmp_path / "t")
    run(spark, path, "ALTER TABLE {t} ADD COLUMN size INT", "UPDATE {t} SET size = 1 WHERE id = 3", "OPTIMIZE {t}")
    found = diff(path, 0, 3)
    assert found["rows"] == [["delete", 1, 3, "r3", 1, None], ["insert", 1, 3, "r3", 1, 1]]
    assert (found["columns_added"], found["added_as_null"]) == (["size"], True)


def test_renamed_and_dropped_columns_are_known_by_their_ids(spark, diff, tmp_path):
    path = make(spark, tmp_path / "t", NAMES)
    run(spark, path, "ALTER TABLE {t} RENAME COLUMN name TO label", "UPDATE {t} SET label = 'x' WHERE id = 3")
    found = diff(path, 0, 2)
    assert [column["name"] for column in found["columns"][2:]] == ["id", "label", "p"]
    assert found["rows"] == [["delete", 1, 3, "r3", 1], ["insert", 1, 3, "x", 1]]
    run(spark, path, "ALTER TABLE {t} DROP COLUMN label", "ALTER TABLE {t} ADD COLUMN label STRING", "OPTIMIZE {t}")
    found = diff(path, 2, 5)
    assert (found["rows"], found["columns_added"], found["columns_removed"]) == ([], ["label"], ["label"])


def test_a_widened_column_is_compared_and_one_of_another_type_is_not(spark, diff, tmp_path):
    path = tmp_path / "t"
    run(
        spark,
        path,
        "CREATE TABLE {t} (id INT, v STRING) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
    )
    run(spark, path, "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')", "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT")
    run(spark, path, "INSERT OVERWRITE {t} VALUES (1, 'a'), (4000000000, 'b')")
    assert diff(path, 1, 3)["rows"] == [["delete", 1, 2, "b"], ["insert", 1, 4000000000, "b"]]
    save(spark.sql("SELECT 1L AS id, 2 AS v"), path, "overwrite", overwriteSchema="true")
    found = diff(path, 3, 4)
    assert (found["rows"], found["columns_changed"], found["added_as_null"]) == (
        [["delete", 1, 4000000000]],
        ["v"],
        False,
    )


def test_each_column_that_is_not_compared_is_told(spark, diff, tmp_path):
    path = tmp_path / "t"
    save(spark.sql("SELECT 1 AS k, 1 AS id, '2026-01-01' AS v"), path)
    save(spark.sql("SELECT 2 AS k, 1L AS id, DATE '2026-01-01' AS v"), path, "overwrite", overwriteSchema="true")
    found = diff(path, 0, 1)
    assert (found["rows"], found["columns_changed"]) == ([["delete", 1, 1], ["insert", 1, 2]], ["v", "id"])


def test_a_column_renamed_since_column_mapping_was_turned_on_has_its_old_values(spark, diff, tmp_path):
    path = tmp_path / "t"
    save(spark.sql("SELECT id AS k, CAST(id AS STRING) AS a FROM range(3)"), path)
    run(
        spark, path,
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', "
        "'delta.minWriterVersion' = '5')",
        "ALTER TABLE {t} RENAME COLUMN a TO b", "ALTER TABLE {t} ADD COLUMN a STRING", "UPDATE {t} SET b = 'new' WHERE k = 1",
    )  # fmt: skip
    found = diff(path, 0, 4)
    assert [column["name"] for column in found["columns"][2:]] == ["k", "b", "a"]
    assert found["rows"] == [["delete", 1, 1, "1", None], ["insert", 1, 1, "new", None]]
    assert (found["columns_added"], found["columns_removed"], found["added_as_null"]) == (["a"], [], True)


def test_other_partition_columns_are_compared_by_their_values(spark, diff, tmp_path):
    path = make(spark, tmp_path / "t")
    rows = spark.read.format("delta").load(str(path)).where("id <> 5").select("id", "name", F.lit(1).alias("more"), "p")
    save(rows, path, "overwrite", overwriteSchema="true", partitionOverwriteMode="static")
    found = diff(path, 0, 1)
    assert [row[0] for row in found["rows"]] == ["delete"]
    assert found["columns_added"] == ["more"]


def test_versions_without_a_common_column_are_refused(spark, diff, tmp_path):
    path = tmp_path / "t"
    save(spark.sql("SELECT 'a' AS a"), path)
    save(spark.sql("SELECT 1 AS b"), path, "overwrite", overwriteSchema="true")
    # The newer version could read the older file, as rows of NULL: that is what Delta makes of a column that isn't there.
    assert diff(path, 0, 1)["rows"] == [["delete", 1, None], ["insert", 1, 1]]
    save(spark.sql("SELECT DATE '2026-01-01' AS b"), path, "overwrite", overwriteSchema="true")
    assert code(diff, path, 1, 2) == "no_common_columns"


def test_a_feed_with_columns_of_other_types_is_not_read(spark, diff, tmp_path):
    path = make(spark, tmp_path / "t", FEED)
    run(spark, path, "DELETE FROM {t} WHERE id = 3")
    save(spark.sql("SELECT 1 AS id, 'a' AS name, 1 AS p"), path, "overwrite", overwriteSchema="true")
    assert diff(path, 1, 2)["no_feed"] == OTHER_TYPES


# ------------------------------------------------------------------------------------------------ what is refused


def test_a_file_outside_the_table_is_not_read(diff, tmp_path):
    for name in ("secret", "t"):
        write_deltalake(tmp_path / name, pa.table({"id": [1]}))
    write_deltalake(tmp_path / "t", pa.table({"id": [2]}), mode="overwrite")
    secret = next((tmp_path / "secret").glob("*.parquet"))
    commit = tmp_path / "t" / "_delta_log" / f"{0:020d}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["path"] = str(secret)
    commit.write_text("\n".join(map(json.dumps, lines)))
    assert code(diff, tmp_path / "t", 0, 1) == "outside_roots"


def test_a_table_that_is_swapped_once_its_feed_is_loaded_is_not_read(diff, tmp_path, monkeypatch):
    write_deltalake(
        tmp_path / "template", pa.table({"id": list(range(10))}), configuration={"delta.enableChangeDataFeed": "true"}
    )
    DeltaTable(tmp_path / "template").delete("id = 9")
    lake = laid(tmp_path / "template", tmp_path / "lake")
    judge = inside.refuse_outside_commits

    def judged(*given):
        judge(*given)
        lake.swap("t")

    monkeypatch.setattr(by_feed, "refuse_outside_commits", judged)
    watch = Watch(lake.top / "outside")
    try:
        assert code(diff, lake.table, 0, 1) == "outside_roots"
        assert not watch.touched()
    finally:
        watch.close()


def test_an_odd_question_is_refused(feed, diff, lake):
    assert code(diff, feed, 3, 3) == code(diff, feed, 4, 3) == code(diff, feed, 0, 1, limit=0) == "bad_request"
    assert code(diff, feed, 0, 1, columns=["id"]) == "bad_request"
    assert code(diff, lake.write("plain"), 0, 1) == "not_delta"


# ------------------------------------------------------------------------------------------------ beside whole reads


@pytest.mark.parametrize(
    "properties", [{}, VECTORS, FEED, {**FEED, **VECTORS}, NAMES], ids=lambda found: "+".join(found) or "plain"
)
def test_random_changes_differ_as_whole_reads_of_both_versions_count_them(spark, diff, tmp_path, properties):
    chance, path = random.Random(SEED), make(spark, tmp_path / "t", properties)
    for _ in range(4):
        low = chance.randrange(60)
        run(
            spark, path, chance.choice((
                f"DELETE FROM {{t}} WHERE id BETWEEN {low} AND {low + 5}", f"UPDATE {{t}} SET name = 'u{low % 3}' WHERE id > {low}",
                f"INSERT INTO {{t}} SELECT id, 'r{low % 3}', 1 FROM range({low % 7 + 3})", "OPTIMIZE {t}",
            )),
        )  # fmt: skip
    last = DeltaTable(str(path)).version()
    for first in {0, last // 2} - {last}:
        expected = _rows(spark, path, last, properties)
        expected.subtract(_rows(spark, path, first, properties))
        assert changes(diff(path, first, last)) == {row: count for row, count in expected.items() if count}


def _rows(spark, path, version, properties):
    """All rows of a version, read by delta-rs where it can."""
    if properties in ({}, FEED):
        rows = (
            DeltaTable(str(path), version=version)
            .to_pyarrow_dataset()
            .to_table(columns=["id", "name", "p"])
            .to_pylist()
        )
        return Counter(json.dumps(list(row.values())) for row in rows)
    frame = spark.read.format("delta").option("versionAsOf", version).load(str(path)).select("id", "name", "p")
    return Counter(json.dumps(list(row)) for row in frame.collect())
