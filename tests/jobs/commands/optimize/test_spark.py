"""OPTIMIZE on real Delta: what the log predicts is what Delta does, and no row changes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable as Witness
from deltalake import QueryBuilder
from pyspark.errors import PySparkException

from jobs.commands.optimize.comparison import compare
from jobs.commands.optimize.handling import tree_of, written_for
from jobs.commands.optimize.log import from_log
from jobs.commands.optimize.rules import Optimize
from jobs.domain.comparison import Verdict
from jobs.domain.engine import UNCHECKED
from jobs.domain.errors import CommandRefused
from jobs.engine.runs import rewriting
from jobs.predicates.table_schema import schema_of
from jobs.targets.subject import Subject
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tables.models import Table
from tests.jobs.engine.deltas import FEED, NAMES, VECTORS, make
from tests.jobs.engine.lake import actions, commits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.fixture
def spark(runtime):
    return runtime.new_session()


def subject_at(path: Path, clustering: tuple[str, ...] = ()) -> Subject:
    """The table as the catalog would hand it over."""
    snapshot = open_log(str(path)).snapshot(None, path.parent / "files.arrow")
    assert snapshot.metadata
    struct = parse_schema(snapshot.metadata.schema_json)
    table = Table(path=str(path), name=path.name, clustering_columns=list(clustering))
    return Subject(table, snapshot, snapshot.metadata, struct, schema_of(struct))


def predicted(path: Path, command: Optimize, **of: Any) -> tuple[Optimize, dict[str, Any]]:
    subject = subject_at(path, **of)
    written, node = written_for(subject, command)
    return written, from_log(subject, written, node)


@pytest.fixture
def optimize(engine, marks, report):
    """Previews and runs; answers prediction and result."""

    def do(path: Path, clustering: tuple[str, ...] = (), **asked: Any):
        written, preview = predicted(path, Optimize("t", **asked), clustering=clustering)
        return preview, engine.run(written, preview, UNCHECKED, marks, report)

    return do


def ids(path: Path) -> list[int]:
    """The rows as delta-rs reads them, deletion vectors and column mapping included."""
    answer = QueryBuilder().register("t", Witness(str(path))).execute("SELECT id FROM t ORDER BY id").read_all()
    found: list[int] = answer.column("id").to_pylist()
    return found


def verdicts(preview: Mapping[str, Any], result: Any) -> dict[str, Verdict]:
    return {line.name: line.verdict for line in compare(preview, result)}


def holds(preview: Mapping[str, Any], result: Any) -> bool:
    return Verdict.DIFFERENT not in verdicts(preview, result).values()


@pytest.mark.parametrize("properties", [{}, FEED, NAMES, VECTORS], ids=["plain", "feed", "names", "vectors"])
def test_what_the_log_predicts_is_what_delta_does(spark, tmp_path, optimize, properties):
    path = make(spark, tmp_path / "t", properties)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id IN (3, 5, 8)")
    before = ids(path)
    preview, result = optimize(path)
    assert (preview["mode"], preview["exact"], preview["partitions"]) == ("compaction", True, 2)
    assert result.operation == "OPTIMIZE"
    assert verdicts(preview, result)["numRemovedFiles"] is Verdict.SAME
    assert verdicts(preview, result)["numRemovedBytes"] is Verdict.SAME
    assert verdicts(preview, result)["numAddedFiles"] is Verdict.SAME
    assert holds(preview, result)
    assert ids(path) == before
    assert not [action for action in actions(path, result.version) if action.get("add", {}).get("dataChange")]


def test_a_second_time_there_is_nothing_to_do(spark, tmp_path, optimize):
    path = make(spark, tmp_path / "t")
    optimize(path)
    count = len(commits(path))
    preview, result = optimize(path)
    assert (preview["nothing_to_do"], preview["files_in"], preview["files_out"]) == (True, 0, 0)
    assert result.no_op
    assert len(commits(path)) == count


@pytest.mark.parametrize(
    "predicate",
    ["p = 1", "p IN (0, 7)", "p IS NULL", "p <=> 1", "cast(p AS string) = '1'", "p BETWEEN 1 AND 3"],
)
def test_a_predicate_chooses_partitions_as_in_delta_s_own_statement(spark, tmp_path, optimize, predicate):
    path, twin = make(spark, tmp_path / "t"), make(spark, tmp_path / "twin")
    preview, result = optimize(path, predicate=predicate)
    [own] = spark.sql(f"OPTIMIZE delta.`{twin}` WHERE {predicate}").collect()
    removed = int(result.operation_metrics.get("numRemovedFiles", 0))
    assert removed == own.metrics.numFilesRemoved
    assert preview["files_in"] == removed or (not preview["exact"] and preview["files_in"] > removed)


def test_texts_with_quotes_choose_their_partition_and_no_other(spark, tmp_path, optimize):
    path, odd = tmp_path / "t", "it's \\ \"odd\" ${x} -- '"
    rows = spark.createDataFrame([(1, odd), (2, "plain")], "id int, p string").repartition(1)
    for _ in range(2):
        rows.write.format("delta").partitionBy("p").mode("append").save(str(path))
    quoted = odd.replace("\\", "\\\\").replace("'", "\\'")
    preview, result = optimize(path, predicate=f"p = '{quoted}'")
    assert (preview["files_in"], preview["files_out"]) == (2, 1)
    assert holds(preview, result)
    assert result.operation_metrics["numRemovedFiles"] == "2"


def test_z_order_sorts_every_file_of_a_partition(spark, tmp_path, optimize):
    path = make(spark, tmp_path / "t")
    preview, result = optimize(path, zorder_by=["id"], predicate="p = 0")
    assert (preview["mode"], preview["partitions"]) == ("zorder", 1)
    assert holds(preview, result)
    assert verdicts(preview, result)["numRemovedFiles"] is Verdict.SAME
    assert result.operation_parameters["zOrderBy"] == '["id"]'


def test_columns_with_dots_and_fields_of_structs_are_sorted_by(spark, tmp_path, optimize):
    path = tmp_path / "t"
    rows = spark.range(20).selectExpr("id AS `a.b`", "struct(id AS x) AS s").coalesce(1)
    for _ in range(2):
        rows.write.format("delta").option("delta.columnMapping.mode", "name").mode("append").save(str(path))
    written, _ = predicted(path, Optimize("t", zorder_by=["A.b", "S.X"]))
    assert written.zorder_by == ["`a.b`", "s.x"]
    preview, result = optimize(path, zorder_by=["a.b", "s.x"])
    assert holds(preview, result)
    assert result.operation_metrics["numRemovedFiles"] == "2"
    with pytest.raises(CommandRefused, match=r"no column s\.nope"):
        predicted(path, Optimize("t", zorder_by=["s.nope"]))


def test_a_batch_size_of_the_sessions_does_not_split_the_commit(spark, tmp_path, optimize, monkeypatch):
    path = make(spark, tmp_path / "t")
    monkeypatch.setitem(rewriting.SETTINGS, rewriting.BATCH_SIZE, "1")
    preview, result = optimize(path)
    assert holds(preview, result)
    assert len(commits(path)) == 2


def test_a_clustered_table_is_clustered_and_nothing_is_predicted_that_only_delta_knows(spark, tmp_path, optimize):
    path = tmp_path / "t"
    spark.sql(f"CREATE TABLE delta.`{path}` (id INT) USING delta CLUSTER BY (id)")
    for _ in range(2):
        spark.range(20).selectExpr("cast(id AS int) AS id").coalesce(1).write.format("delta").mode("append").save(
            str(path)
        )
    preview, result = optimize(path, clustering=("id",), full=True)
    assert (preview["mode"], preview["files_in"], preview["nothing_to_do"]) == ("clustering", None, False)
    assert result.operation_metrics["numRemovedFiles"] == "2"
    assert holds(preview, result)


CLUSTERED = "CREATE TABLE delta.`{path}` (id INT) USING delta CLUSTER BY (id)"
UNCOUNTED = "CREATE TABLE delta.`{path}` (id INT, s STRUCT<a: INT, b: INT>, l ARRAY<INT>) USING delta TBLPROPERTIES ({property})"
FIRST = UNCOUNTED.replace("{property}", "'delta.dataSkippingNumIndexedCols' = '2'")
LISTED = UNCOUNTED.replace("{property}", "'delta.dataSkippingStatsColumns' = 's.b'")
PARTITIONED = "CREATE TABLE delta.`{path}` (id INT, p STRING) USING delta PARTITIONED BY (p)"


@pytest.mark.parametrize(
    ("made", "asked", "statement"),
    [
        (PARTITIONED, {"predicate": "id = 1"}, "WHERE id = 1"),
        (PARTITIONED, {"zorder_by": ["p"]}, "ZORDER BY (p)"),
        (PARTITIONED, {"zorder_by": ["nope"]}, "ZORDER BY (nope)"),
        (PARTITIONED, {"full": True}, "FULL"),
        (CLUSTERED, {"zorder_by": ["id"]}, "ZORDER BY (id)"),
        (CLUSTERED, {"predicate": "id = 1"}, "WHERE id = 1"),
        (FIRST, {"zorder_by": ["id", "s.b"]}, "ZORDER BY (id, s.b)"),
        (FIRST, {"zorder_by": ["l"]}, "ZORDER BY (l)"),
        (LISTED, {"zorder_by": ["id"]}, "ZORDER BY (id)"),
    ],
)
def test_what_delta_refuses_is_refused_before_spark_with_its_condition(spark, tmp_path, made, asked, statement):
    path = tmp_path / "t"
    spark.sql(made.format(path=path))
    with pytest.raises(PySparkException) as delta:
        spark.sql(f"OPTIMIZE delta.`{path}` {statement}").collect()
    with pytest.raises(CommandRefused) as ours:
        predicted(path, Optimize("t", **asked), clustering=("id",) if made is CLUSTERED else ())
    engine = ours.value.refusals[0].engine
    assert engine is not None
    assert (engine.condition, engine.sqlstate) == (delta.value.getCondition(), delta.value.getSqlState())


def test_the_stored_predicate_is_what_runs(spark, tmp_path):
    path = make(spark, tmp_path / "t")
    written, _ = predicted(path, Optimize("t", predicate="p=1"))
    assert written.predicate == "p = 1"
    assert tree_of(written) is not None
