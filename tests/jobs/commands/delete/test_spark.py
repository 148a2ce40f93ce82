"""DELETE on real Delta: every branch, what it records, and what it refuses."""

import contextlib
import dataclasses
import json
import threading
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable as Witness
from deltalake import write_deltalake

from jobs.domain.engine import UNCHECKED, Checked, Marks
from jobs.domain.errors import CommandRefused, EngineCancelled, EngineFailed
from tests.jobs.engine.deltas import FEED, VECTORS, deletion, ids, make
from tests.jobs.engine.lake import actions, commits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

BRANCHES = {
    "whole table": (None, {}, "metadata_only", []),
    "partition": ("p = 1", {}, "metadata_only", list(range(0, 40, 2))),
    "rewrite": ("id IN (3, 5)", {}, "rewrite", [n for n in range(40) if n not in (3, 5)]),
    "rewrite that leaves nothing": ("id >= 0", {}, "rewrite", []),
    "vectors": ("id IN (3, 5)", VECTORS, "deletion_vectors", [n for n in range(40) if n not in (3, 5)]),
    "whole files by vectors": ("id < 20", VECTORS, "deletion_vectors", list(range(20, 40))),
    "partition of a table with vectors": ("p = 1", VECTORS, "metadata_only", list(range(0, 40, 2))),
}


@pytest.fixture
def spark(runtime):
    return runtime.new_session()


@pytest.fixture
def delete(engine, marks, report):
    """Runs a delete; answers the result."""

    def do(path, predicate, checked=UNCHECKED, marks=marks, preview=None):
        return engine.run(deletion(path, predicate), preview or {}, checked, marks, report)

    return do


@pytest.fixture
def count(engine, marks, report):
    return lambda path, predicate, version=None: engine.preview(deletion(path, predicate), version, marks, report)


@pytest.mark.parametrize("feed", [{}, FEED], ids=["plain", "change feed"])
@pytest.mark.parametrize("case", list(BRANCHES))
def test_every_branch_is_counted_run_and_told(spark, delete, count, sql, tmp_path, case, feed):
    predicate, properties, branch, left = BRANCHES[case]
    path = make(spark, tmp_path / "t", properties | feed)
    seen, result = count(path, predicate), delete(path, predicate)
    assert (seen.version, seen.rows, seen.rows_total) == (0, 40 - len(left), 40)
    assert result.details["branch"] == branch
    assert (result.version, result.read_version, result.operation) == (1, 0, "DELETE")
    assert result.num_affected_rows == 40 - len(left) == int(result.operation_metrics["numDeletedRows"])
    assert rows_by_spark(spark, path) == left
    if feed:
        changes = sql(f"SELECT id, _change_type FROM table_changes_by_path('{path}', 1)")
        assert {row["_change_type"] for row in changes} == {"delete"}
        assert sorted(row["id"] for row in changes) == [n for n in range(40) if n not in left]
    if branch == "rewrite":
        assert int(result.operation_metrics["numAddedChangeFiles"]) > 0 if feed else True


def rows_by_spark(spark, path):
    return sorted(row["id"] for row in spark.read.format("delta").load(str(path)).collect())


def test_a_second_delete_in_a_file_updates_its_vector(spark, delete, tmp_path):
    path = make(spark, tmp_path / "t", VECTORS)
    delete(path, "id = 3")
    result = delete(path, "id = 5", marks=Marks("another", 1, None))
    assert result.details["branch"] == "deletion_vectors"
    assert result.operation_metrics["numDeletionVectorsUpdated"] == "1"


@pytest.mark.parametrize("predicate", ["id = 1000", "p = 7"])
def test_nothing_that_matches_is_no_commit(spark, delete, count, report, tmp_path, predicate):
    path = make(spark, tmp_path / "t")
    assert (count(path, predicate).rows, count(path, predicate).files) == (0, {})
    result = delete(path, predicate)
    assert (result.no_op, result.version, result.details["branch"]) == (True, None, "nothing")
    assert len(commits(path)) == 1
    assert "commit visible" not in report.points


NONE_COUNTED = {"rows_matched": 0, "rows_matched_exact": True, "measured_at_version": 1}


@pytest.mark.parametrize("stats", [{"numRecords": 0}, None], ids=["counted", "uncounted"])
@pytest.mark.parametrize(
    ("preview", "rows", "text"),
    [
        (NONE_COUNTED, 0, "Deleted no row: Delta removed 1 file without rows from the log."),
        (NONE_COUNTED | {"measured_at_version": 0}, None, "Delta recorded no count"),
    ],
    ids=["of this version", "of an older one"],
)
def test_a_file_without_rows_is_removed_by_its_partition(spark, delete, count, tmp_path, stats, preview, rows, text):
    path = make(spark, tmp_path / "t")
    add_empty_file(path, stats)
    assert (count(path, "p = 7").rows, count(path, "p = 7").files) == (0, {})
    result = delete(path, "p = 7", Checked(1), preview=preview)
    assert (result.no_op, result.version, result.num_affected_rows) == (False, 2, rows)
    assert (result.details["branch"], result.operation_metrics["numRemovedFiles"]) == ("metadata_only", "1")
    assert result.details["text"].startswith(text)
    assert [remove["path"] for remove in actions(path, "remove")] == ["p=7/empty.parquet"]
    assert rows_by_spark(spark, path) == list(range(40))


def test_a_file_without_rows_stays_where_a_delete_reads_data(spark, delete, tmp_path):
    path = make(spark, tmp_path / "t")
    add_empty_file(path, {"numRecords": 0})
    assert delete(path, "p = 7 AND id = 1", Checked(1)).no_op is True


def add_empty_file(path, stats):
    """Another engine's commit of a file without rows in a partition of its own."""
    (path / "p=7").mkdir()
    file = path / "p=7" / "empty.parquet"
    pq.write_table(pa.table({"id": pa.array([], pa.int64()), "name": pa.array([], pa.string())}), file)
    add = {
        "path": "p=7/empty.parquet",
        "partitionValues": {"p": "7"},
        "size": file.stat().st_size,
        "modificationTime": 0,
    }
    add |= {"dataChange": True} if stats is None else {"dataChange": True, "stats": json.dumps(stats)}
    (path / "_delta_log" / f"{1:020d}.json").write_text(json.dumps({"add": add}))


def test_the_commit_carries_the_marks(spark, delete, marks, tmp_path):
    path = make(spark, tmp_path / "t")
    delete(path, "id = 3")
    assert actions(path, "txn")[0]["appId"] == f"levee:{marks.job}"
    assert marks.job in actions(path, "commitInfo")[-1]["userMetadata"]


def test_a_second_attempt_finds_what_the_first_has_committed(spark, delete, marks, tmp_path):
    path = make(spark, tmp_path / "t")
    first = delete(path, "id = 3", Checked(0))
    write_deltalake(path, Witness(path).to_pyarrow_table().slice(0, 1), mode="append")
    again = delete(path, "id = 3", Checked(2), dataclasses.replace(marks, attempt=2))
    assert (again.version, again.num_affected_rows, again.no_op) == (first.version, 1, False)
    assert len(commits(path)) == 3


def test_the_commit_is_told_from_others_that_came_at_once(spark, delete, report, tmp_path):
    path = make(spark, tmp_path / "t")
    one = Witness(path).to_pyarrow_table().slice(0, 1)
    report.at["reading the commit"] = lambda: write_deltalake(path, one, mode="append")
    assert delete(path, "id = 3", Checked(0)).version == 1
    report.at["deleting rows"] = lambda: write_deltalake(path, one, mode="append")
    moved = delete(path, "id = 5", Checked(2), Marks("another", 1, None))
    assert (moved.version, moved.read_version) == (4, 3)


def test_a_strict_run_refuses_a_table_that_has_moved(spark, delete, tmp_path):
    path = make(spark, tmp_path / "t")
    write_deltalake(path, Witness(path).to_pyarrow_table().slice(0, 1), mode="append")
    with pytest.raises(CommandRefused) as caught:
        delete(path, None, Checked(0, strict=True))
    assert caught.value.refusals[0].code == "stale"
    assert len(commits(path)) == 2
    assert delete(path, None, Checked(1, strict=True)).num_affected_rows == 41


def test_a_strict_run_that_is_overtaken_commits_nothing(spark, delete, overtaking, tmp_path):
    path = slow_table(spark, tmp_path / "t")
    with overtaking(path), pytest.raises(EngineFailed) as caught:
        delete(path, SLOW, Checked(0, strict=True))
    assert caught.value.failure.condition == "DELTA_MAX_COMMIT_RETRIES_EXCEEDED"
    assert len(commits(path)) == 2


def test_a_run_that_is_not_strict_commits_beside_another_that_touches_other_partitions(
    spark, delete, overtaking, tmp_path
):
    path = slow_table(spark, tmp_path / "t")
    with overtaking(path):
        result = delete(path, f"p = 0 AND ({SLOW})", Checked(0))
    assert (result.version, result.read_version, result.num_affected_rows) == (2, 0, 1)


SLOW = "sha2(sha2(sha2(concat(name, 'x'), 512), 512), 512) = '0' OR id = 7"


def slow_table(spark, path):
    """Large enough for a delete by SLOW to be overtaken while it reads."""
    rows = spark.range(0, 2_000_000, 1, 2).selectExpr("id", "concat('r', id) AS name", "0 AS p")
    rows.write.format("delta").partitionBy("p").save(str(path))
    return path


@pytest.fixture
def overtaking(engine, marks):
    """While the job's first Spark task runs, somebody else appends a row to another partition."""

    @contextlib.contextmanager
    def do(path):
        thread = threading.Thread(target=append_meanwhile, args=(engine, marks, path))
        thread.start()
        yield
        thread.join()

    return do


def append_meanwhile(engine, marks, path):
    while engine.progress(marks.tag) is None:
        time.sleep(0.005)
    row = pa.table({"id": [1], "name": ["x"], "p": pa.array([1], pa.int32())})
    write_deltalake(path, row, mode="append", partition_by=["p"])


def test_an_append_only_table_refuses_in_deltas_words(spark, delete, tmp_path):
    path = make(spark, tmp_path / "t", {"delta.appendOnly": "true"})
    with pytest.raises(EngineFailed) as caught:
        delete(path, "id = 3")
    failure = caught.value.failure
    assert (failure.condition, failure.sqlstate) == ("DELTA_CANNOT_MODIFY_APPEND_ONLY", "42809")


def test_no_table_is_refused(delete, engine, marks, report, tmp_path):
    (tmp_path / "empty").mkdir()
    command = dataclasses.replace(deletion(tmp_path / "empty", None), predicate=None)
    for act in (
        lambda: engine.run(command, {}, UNCHECKED, marks, report),
        lambda: engine.preview(command, None, marks, report),
    ):
        with pytest.raises(CommandRefused) as caught:
            act()
        assert caught.value.refusals[0].code == "not_delta"


@pytest.mark.parametrize("predicate", ["id = 3", "p = 1"])
def test_rows_are_unknown_without_statistics(spark, runtime, delete, count, tmp_path, predicate):
    spark.conf.set("spark.databricks.delta.stats.collect", "false")
    path = make(spark, tmp_path / "t")
    seen, result = count(path, predicate), delete(path, predicate)
    assert (seen.rows, seen.rows_total) == ((1, 40) if predicate == "id = 3" else (20, 40))
    assert "numDeletedRows" not in result.operation_metrics or result.num_affected_rows is not None
    if predicate == "p = 1":
        assert result.num_affected_rows is None
        assert result.details["branch"] == "metadata_only"


def test_a_table_with_mapped_names_generated_columns_and_constraints(spark, delete, count, sql, tmp_path):
    path = tmp_path / "t"
    sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, `a b` STRING, day DATE, year INT GENERATED ALWAYS AS (year(day)))"
        " USING delta PARTITIONED BY (year) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT positive CHECK (id >= 0)")
    sql(
        f"INSERT INTO delta.`{path}` (id, `a b`, day) SELECT id, 'x', date_add(DATE '2020-12-30', CAST(id AS INT)) FROM range(4)"
    )
    assert count(path, "`a b` = 'x' AND day = DATE '2020-12-30'").rows == 1
    assert delete(path, "`a b` = 'x' AND day = DATE '2020-12-30'").details["branch"] == "rewrite"
    assert delete(path, "year = 2021", marks=Marks("another", 1, None)).details["branch"] == "metadata_only"
    assert rows_by_spark(spark, path) == [1]


def test_nothing_of_a_strict_run_reaches_the_next(spark, delete, runtime, tmp_path):
    path = make(spark, tmp_path / "t")
    delete(path, None, Checked(0, strict=True))
    assert runtime.new_session().conf.get("spark.databricks.delta.maxCommitAttempts", "7") == "7"


def test_the_witness_reads_what_is_left(spark, delete, tmp_path):
    path = make(spark, tmp_path / "t")
    delete(path, "id < 10 AND name <> 'r3'")
    assert ids(path) == [3, *range(10, 40)]


@pytest.fixture
def act(engine, marks, report):
    """Previews or runs a command, by that name."""

    def do(name, command):
        if name == "preview":
            return engine.preview(command, None, marks, report)
        return engine.run(command, {}, UNCHECKED, marks, report)

    return do


@pytest.mark.parametrize("name", ["preview", "run"])
def test_a_cancel_ends_it_and_nothing_is_committed(spark, act, cancelling, tmp_path, name):
    path = slow_table(spark, tmp_path / "t")
    with cancelling(), pytest.raises(EngineCancelled):
        act(name, deletion(path, SLOW))
    assert len(commits(path)) == 1


@pytest.fixture
def cancelling(engine, marks):
    """Asks Spark to stop the job over and over, as a worker does: a cancel between two Spark jobs is lost."""

    @contextlib.contextmanager
    def do():
        over = threading.Event()
        thread = threading.Thread(target=cancel_until, args=(engine, marks, over))
        thread.start()
        yield
        over.set()
        thread.join()

    return do


def cancel_until(engine, marks, over):
    while not over.wait(0.1):
        engine.cancel(marks.tag)


@pytest.mark.parametrize("name", ["preview", "run"])
def test_a_table_that_leads_out_of_its_directory_is_left_alone(spark, act, tmp_path, name):
    path = make(spark, tmp_path / "t")
    command = deletion(path, "id < 5")
    (path / "link").symlink_to(tmp_path)
    with pytest.raises(CommandRefused) as caught:
        act(name, command)
    assert caught.value.refusals[0].code == "outside_roots"
    assert len(commits(path)) == 1


def test_a_log_that_names_a_file_elsewhere_is_not_counted(spark, count, tmp_path):
    path, outside = make(spark, tmp_path / "t"), make(spark, tmp_path / "secret")
    foreign = f"file://{outside}/{actions(outside, 'add')[0]['path']}"
    add = actions(path, "add")[0] | {"path": foreign}
    commit = path / "_delta_log" / f"{1:020}.json"
    commit.write_text(json.dumps({"add": add}) + "\n")
    with pytest.raises(CommandRefused) as caught:
        count(path, "id < 5")
    assert caught.value.refusals[0].code == "outside_roots"
    assert count(path, "id < 5", 0).rows == 5
