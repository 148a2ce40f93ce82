"""A stream's rounds on real Delta: what each source, mode and option commits, what is told of it, and what is refused."""

import json
import os
import threading
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable as Witness
from deltalake import write_deltalake

from jobs.commands.stream_round.rules import COMPLETE, Steps, StreamRound, TableSource
from jobs.domain.engine import UNCHECKED, Marks
from jobs.domain.errors import CommandRefused, EngineCancelled, EngineFailed
from jobs.domain.predicates.schema import Field, Schema
from jobs.domain.predicates.stored import to_json
from jobs.lifecycle.endings import engine_failed
from jobs.predicates.reading import parse
from jobs.streams.failures import FILE, LINE, what_to_do
from jobs.streams.readable_schemas import stopping_changes
from tables.deltalog.rules.schema import parse_schema
from tests.jobs.commands.stream_round.landing import FIELDS, ONE_BY_ONE, Stream, table_id
from tests.jobs.engine.lake import Recorder, actions, commits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.fixture
def refused(run):
    """The refusal of a round, which changes nothing."""

    def do(definition, **given):
        with pytest.raises(CommandRefused) as caught:
            run(definition, **given)
        [refusal] = caught.value.refusals
        return refusal

    return do


def test_rows_of_json_files_are_appended_and_told(stream, run, report):
    stream.write(1, 2)
    result = run(stream.definition())
    assert stream.ids() == [1, 2]
    assert (result.version, result.operation, result.no_op) == (0, "STREAMING UPDATE", False)
    assert result.operation_parameters == {"outputMode": "Append", "queryId": stream.query_id(), "epochId": "0"}
    assert result.operation_metrics["numOutputRows"] == "2"
    details = result.details
    assert details["text"] == "1 batch: 2 rows in, 1 commit."
    assert details["query_id"] == stream.query_id()
    assert details["run_id"] != details["query_id"]
    assert details["sink"] == f"DeltaSink[{stream.target}]"
    assert details["source"] == f"FileStreamSource[file:{stream.source}]"
    assert details["end_offset"] == {"logOffset": 0}
    [batch] = details["batches"]
    [add] = actions(stream.target, "add")
    told = {"batch_id": 0, "version": 0, "input_rows": 2, "rows_out": 2, "files_added": 1, "files_removed": 0}
    assert batch.items() >= (told | {"bytes_added": add["size"], "skipped": False, "output_mode": "Append"}).items()
    assert batch["at"].endswith("Z")
    assert batch["duration_ms"]["addBatch"] > 0
    assert batch["processed_rate"] > 0
    assert report.points == ["Spark started", "commit visible"]
    assert json.loads(json.dumps(result.as_json()))["details"] == details


def test_every_batch_is_a_commit_with_the_jobs_marks(stream, run, report, marks):
    for number in range(3):
        stream.write(number)
    result = run(stream.definition(stream.files(**ONE_BY_ONE)))
    assert result.version == 2
    assert [(batch["batch_id"], batch["version"]) for batch in result.details["batches"]] == [(0, 0), (1, 1), (2, 2)]
    assert result.details["text"] == "3 batches: 3 rows in, 3 commits."
    infos = actions(stream.target, "commitInfo")
    assert [json.loads(info["userMetadata"])["job"] for info in infos] == [marks.job] * 3
    assert {txn["appId"] for txn in actions(stream.target, "txn")} == {stream.query_id()}
    told = [stage for stage in report.stages if stage.startswith("batch ")]
    assert [stage.rpartition(",")[0] for stage in told] == [f"batch {number}: 1 row" for number in range(3)]
    assert stream.ids() == [0, 1, 2]


def test_a_round_without_new_rows_commits_nothing_and_the_next_goes_on(stream, run, report):
    stream.write(1)
    run(stream.definition())
    idle = run(stream.definition(), query_id=stream.query_id(), table_id=table_id(stream.target))
    assert (idle.no_op, idle.version, idle.details["batches"]) == (True, None, [])
    assert idle.details["text"] in report.lines
    assert len(commits(stream.target)) == 1
    stream.write(2)
    assert run(stream.definition(), query_id=stream.query_id()).version == 1
    assert stream.ids() == [1, 2]


def test_a_batch_that_delta_has_is_skipped_and_told_with_its_version(stream, run):
    for number in range(2):
        stream.write(number)
    definition = stream.definition(stream.files(**ONE_BY_ONE))
    run(definition)
    write_deltalake(stream.target, Witness(stream.target).to_pyarrow_table().slice(0, 0), mode="append")
    forget_last_batch(stream.checkpoint)
    result = run(definition)
    [batch] = result.details["batches"]
    assert (batch["batch_id"], batch["version"], batch["skipped"], batch["rows_out"]) == (1, 1, True, 1)
    assert (result.version, result.no_op) == (None, True)
    assert (
        result.details["text"] == "1 batch: 0 rows in, no commit. Delta skipped 1 batch that the table holds already."
    )
    assert stream.ids() == [0, 1]


def forget_last_batch(checkpoint):
    """As if Spark had died between Delta's commit and its own."""
    last = max((checkpoint / "commits").glob("[0-9]*"), key=lambda found: int(found.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink()


def test_a_batch_without_rows_is_a_commit_too(stream, run):
    stream.write(1)
    result = run(stream.definition(steps=Steps(filter=tree("id > 5", FIELDS))))
    assert (result.version, result.details["batches"][0]["rows_out"]) == (0, 0)
    assert stream.rows() == []


def test_parquet(stream, run):
    pq.write_table(pa.table({"id": [1, 2], "name": ["a", None]}), stream.source / "a.parquet")
    run(stream.definition(stream.files("parquet")))
    assert stream.rows() == [{"id": 1, "name": "a"}, {"id": 2, "name": None}]


def test_csv_with_its_options(stream, run):
    stream.put("id;name\n1;a\n2;none\n")
    run(stream.definition(stream.files("csv", header="true", sep=";", nullValue="none")))
    assert stream.rows() == [{"id": 1, "name": "a"}, {"id": 2, "name": None}]


@pytest.mark.parametrize(
    ("form", "text", "condition"),
    [
        ("json", '{"id": 8, "name": "fits"}\n{"id": 9, "na\n', "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION"),
        ("json", '{"id": "nine"}\n', "CANNOT_PARSE_JSON_FIELD"),
        ("csv", "8,fits\n9\n", "MALFORMED_CSV_RECORD"),
    ],
    ids=["half a line", "another type", "too few columns"],
)
def test_a_damaged_line_fails_the_round_and_commits_nothing_of_its_batch(stream, run, form, text, condition):
    """Spark's own default would commit a row of NULLs, and never read the file again."""
    stream.put('{"id": 1, "name": "r1"}\n' if form == "json" else "1,r1\n")
    source = stream.files(form)
    run(stream.definition(source))
    stream.put(text)
    with pytest.raises(EngineFailed) as caught:
        run(stream.definition(source))
    failure = caught.value.failure
    assert failure.condition == condition
    assert f"{stream.source}/002" in failure.message.splitlines()[0]
    assert what_to_do(engine_failed(failure, "Nothing was committed.")) == LINE
    assert (len(commits(stream.target)), stream.ids()) == (1, [1])
    (stream.source / "002").write_text('{"id": 9}\n' if form == "json" else "9,r9\n")  # mended, the next round reads it
    run(stream.definition(source))
    assert stream.ids() == [1, 9]


@pytest.mark.parametrize(("mode", "rows"), [("PERMISSIVE", [1, None]), ("DROPMALFORMED", [1])])
def test_a_definition_may_say_what_a_damaged_line_does(stream, run, mode, rows):
    stream.put('{"id": 1}\n{"id": \n')
    run(stream.definition(stream.files("json", mode=mode)))
    assert [row["id"] for row in stream.rows()] == rows


def test_a_damaged_parquet_file_fails_the_round_and_commits_nothing_of_its_batch(stream, run):
    pq.write_table(pa.table({"id": [1], "name": ["a"]}), stream.source / "a.parquet")
    source = stream.files("parquet")
    run(stream.definition(source))
    pq.write_table(pa.table({"id": [2], "name": ["b"]}), stream.source / "b.parquet")
    (stream.source / "c.parquet").write_bytes(b"PAR1 this is no parquet file PAR1")
    with pytest.raises(EngineFailed) as caught:
        run(stream.definition(source))
    assert caught.value.failure.condition == "FAILED_READ_FILE.NO_HINT"
    assert "c.parquet" in caught.value.failure.message.splitlines()[0]
    assert what_to_do(engine_failed(caught.value.failure, "Nothing was committed.")) == FILE
    assert (len(commits(stream.target)), stream.ids()) == (1, [1])


def test_text(stream, run):
    stream.put("one\ntwo\n")
    run(stream.definition(stream.files("text", {"value": "string"})))
    assert stream.rows() == [{"value": "one"}, {"value": "two"}]


def test_a_directory_is_read_by_its_literal_name(tmp_path, run):
    (tmp_path / "g[x]").mkdir()
    (tmp_path / "gx").mkdir()
    stream, other = Stream(tmp_path / "g[x]"), Stream(tmp_path / "gx")
    stream.write(1)
    other.write(2)
    run(stream.definition())
    assert stream.ids() == [1]


@pytest.fixture
def numbers(tmp_path):
    """A Delta table of ids 0, 1 and 2, a version each."""
    for number in range(3):
        write_deltalake(tmp_path / "numbers", pa.table({"id": [number]}), mode="append")
    return tmp_path / "numbers"


def from_table(path, **given):
    return TableSource("t", str(path), table_id(path), **given)


def test_a_delta_table_is_read_from_its_start_and_then_by_its_commits(stream, run, numbers):
    definition = stream.definition(from_table(numbers))
    result = run(definition)
    assert (stream.ids(), result.details["source"]) == ([0, 1, 2], f"DeltaSource[file:{numbers}]")
    assert result.details["end_offset"]["reservoirId"] == table_id(numbers)
    write_deltalake(numbers, pa.table({"id": [3]}), mode="append")
    assert run(definition).details["text"] == "1 batch: 1 row in, 1 commit."
    assert stream.ids() == [0, 1, 2, 3]


def test_a_delta_table_is_read_from_a_version_on(stream, run, numbers):
    run(stream.definition(from_table(numbers, starting_version=1)))
    assert stream.ids() == [1, 2]


def test_a_delta_table_is_read_from_a_time_on(stream, run, numbers):
    moments = [1_760_000_000_000 + 3_600_000 * number for number in range(3)]  # from 08:53:20
    for commit, moment in zip(commits(numbers), moments, strict=True):
        date_back(commit, moment)
    run(stream.definition(from_table(numbers, starting_timestamp="2025-10-09T09:00:00Z")))
    assert stream.ids() == [1, 2]


def date_back(commit, moment):
    """Sets a commit's time; Delta goes by the file's."""
    os.utime(commit, (moment / 1000, moment / 1000))


def test_a_stream_into_its_own_source_doubles_it_once_per_round(run, stream, numbers):
    """As Delta does it: a round reads what was there when it began. The first one adds every row once more, the next the last batch's."""
    write_deltalake(stream.target, pa.table({"id": [0, 1]}))
    definition = stream.definition(from_table(stream.target))
    run(definition)
    assert stream.ids() == [0, 0, 1, 1]
    run(definition)
    assert stream.ids() == [0, 0, 0, 1, 1, 1]
    streamed = [info for info in actions(stream.target, "commitInfo") if info["operation"] == "STREAMING UPDATE"]
    assert [info["isBlindAppend"] for info in streamed] == [False, False]


def test_a_restore_to_fewer_columns_fails_a_stream_that_read_them_whatever_it_skips(stream, run, numbers):
    """What `jobs.targets.readers` names a stream for; with the columns back it goes on."""
    write_deltalake(numbers, pa.table({"id": [3], "more": ["x"]}), mode="append", schema_mode="merge")
    definition = stream.definition(from_table(numbers, skip_change_commits=True))
    run(definition)
    Witness(numbers).restore(2)
    with pytest.raises(EngineFailed) as caught:
        run(definition)
    assert caught.value.failure.condition == "DELTA_SCHEMA_CHANGED_WITH_VERSION"
    Witness(numbers).restore(3)
    run(definition)
    assert stream.ids() == [0, 1, 2, 3, 3]


def test_batches_that_a_restore_undid_come_again_only_after_a_reset(stream, run):
    """What `jobs.targets.restored_streams` says: of a source of files, and in Append mode."""
    for number in range(3):
        stream.write(number)
        run(stream.definition())
    Witness(stream.target).restore(1)
    assert run(stream.definition()).no_op
    stream.write(3)
    run(stream.definition())
    assert stream.ids() == [0, 1, 3]
    run(stream.definition(), reset=True)
    run(stream.definition())
    assert stream.ids() == [0, 0, 1, 1, 2, 3, 3]


def test_batches_of_a_delta_source_that_a_restore_undid_do_not_come_again_either(stream, run, numbers):
    definition = stream.definition(from_table(numbers))
    run(definition)
    write_deltalake(numbers, pa.table({"id": [3]}), mode="append")
    run(definition)
    Witness(stream.target).restore(0)
    assert run(definition).no_op
    assert stream.ids() == [0, 1, 2]


def test_a_count_goes_on_with_what_a_restore_of_its_table_undid(stream, run):
    stream.write(1)
    run(counting(stream))
    stream.write(1)
    run(counting(stream))
    Witness(stream.target).restore(0)
    stream.write(1)
    run(counting(stream))
    assert stream.rows() == [{"name": "r1", "n": 3}]


def test_a_restore_of_the_source_that_only_adds_files_is_read_as_new_rows(stream, run, sql, numbers):
    Witness(numbers).delete("id = 2")
    definition = stream.definition(from_table(numbers, starting_version=0, skip_change_commits=True))
    run(definition)
    assert stream.ids() == [0, 1, 2]
    sql(f"RESTORE TABLE delta.`{numbers}` TO VERSION AS OF 2")
    run(definition)
    assert stream.ids() == [0, 1, 2, 2]


MAPPED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true')"
USE_LOG = "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"


@pytest.mark.parametrize(
    ("statements", "condition"),
    [
        pytest.param(["RENAME COLUMN name TO title"], USE_LOG, id="renamed"),
        pytest.param(["DROP COLUMN name"], USE_LOG, id="dropped"),
        pytest.param(["ALTER COLUMN n TYPE BIGINT"], None, id="widened"),
        pytest.param(["RENAME COLUMN name TO title", "RENAME COLUMN title TO name"], USE_LOG, id="renamed and back"),
        pytest.param(["ADD COLUMN more STRING"], None, id="added"),
        pytest.param(["ADD COLUMN more STRING", "DROP COLUMN more"], USE_LOG, id="added and dropped"),
        pytest.param(["ALTER COLUMN name COMMENT 'a note'"], None, id="commented"),
        pytest.param(["ALTER COLUMN id DROP NOT NULL"], None, id="nullable"),
    ],
)
def test_what_a_change_of_the_sources_columns_does_to_the_next_round_is_as_predicted(
    stream, run, sql, tmp_path, statements, condition
):
    source = f"delta.`{tmp_path / 'wide'}`"
    sql(f"CREATE TABLE {source} (id BIGINT NOT NULL, n INT, name STRING) USING delta {MAPPED}")
    sql(f"INSERT INTO {source} VALUES (1, 1, 'a')")
    definition = stream.definition(from_table(tmp_path / "wide"), options={"mergeSchema": "true"})
    run(definition)
    for statement in statements:
        sql(f"ALTER TABLE {source} {statement}")
    schemas = [parse_schema(each["schemaString"]) for each in actions(tmp_path / "wide", "metaData")]
    predicted = [change for each in schemas for change in stopping_changes(each, schemas[-1], widening=True)]
    assert bool(predicted) == (condition is not None)
    if condition is None:
        run(definition)
        return
    with pytest.raises(EngineFailed) as caught:
        run(definition)
    assert caught.value.failure.condition == condition, caught.value.failure.message


@pytest.mark.parametrize(
    ("kind", "value", "condition"),
    [("BIGINT", 2, None), ("BIGINT", 1 << 40, "CAST_OVERFLOW_IN_TABLE_INSERT"), ("DOUBLE", 2.5, None)],
)
def test_a_wider_column_of_the_source_is_cast_to_the_targets(stream, run, sql, tmp_path, kind, value, condition):
    """What doesn't fit fails the batch; the fraction of 2.5 is cut off, and nothing says so."""
    source = f"delta.`{tmp_path / 'wide'}`"
    sql(f"CREATE TABLE {source} (n INT) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    sql(f"INSERT INTO {source} VALUES (1)")
    definition = stream.definition(from_table(tmp_path / "wide"))
    run(definition)
    sql(f"ALTER TABLE {source} ALTER COLUMN n TYPE {kind}")
    sql(f"INSERT INTO {source} VALUES ({value})")
    if condition is None:
        run(definition)
        assert [row["n"] for row in stream.rows()] == [1, 2]
        return
    with pytest.raises(EngineFailed) as caught:
        run(definition)
    assert caught.value.failure.condition == condition


def test_a_wider_type_without_the_feature_fails_the_next_round(stream, run, numbers):
    definition = stream.definition(from_table(numbers, skip_change_commits=True))
    run(definition)
    write_deltalake(
        numbers, pa.table({"id": pa.array([1], pa.decimal128(30, 0))}), mode="overwrite", schema_mode="overwrite"
    )
    with pytest.raises(EngineFailed) as caught:
        run(definition)
    assert caught.value.failure.condition == "DELTA_SCHEMA_CHANGED_WITH_VERSION"


@pytest.mark.parametrize("skips", [True, False])
def test_a_commit_that_deletes_rows_ends_the_query_unless_it_is_skipped(stream, run, numbers, skips):
    definition = stream.definition(from_table(numbers, skip_change_commits=skips))
    run(definition)
    Witness(numbers).delete("id = 1")
    write_deltalake(numbers, pa.table({"id": [3]}), mode="append")
    if skips:
        run(definition)
        assert stream.ids() == [0, 1, 2, 3]
        return
    with pytest.raises(EngineFailed) as caught:
        run(definition)
    assert caught.value.failure.condition == "DELTA_SOURCE_IGNORE_DELETE"
    assert stream.ids() == [0, 1, 2]


def tree(text, fields):
    sql_types = {"long": "bigint", "string": "string"}
    schema = Schema(tuple(Field(name, sql_types[kind]) for name, kind in fields.items()))
    return to_json(parse(text, schema))


def test_the_steps_come_in_their_order(stream, run):
    for number in range(6):
        stream.write(number, kind=str(number % 2))
    steps = Steps(
        rename={"kind": "odd`", "name": "text"},
        cast={"odd`": "INTEGER", "id": "string"},
        filter=tree("id > '10'", {"id": "string"}),
        select=("odd`", "id"),
        group_by=("odd`",),
        count_as="how.many",
    )
    source = stream.files("json", {**FIELDS, "kind": "string"})
    run(stream.definition(source, output_mode=COMPLETE, steps=steps))
    assert stream.rows() == [{"odd`": 0, "how.many": 2}, {"odd`": 1, "how.many": 2}]


def test_only_the_selected_columns_are_written(stream, run):
    stream.write(1)
    run(stream.definition(steps=Steps(rename={"name": "a.b"}, select=("a.b",))))
    assert stream.rows() == [{"a.b": "r1"}]


def counting(stream, **given):
    return stream.definition(output_mode=COMPLETE, steps=Steps(group_by=("name",), count_as="n"), **given)


def test_complete_replaces_every_row_by_the_new_result(stream, run):
    stream.write(1, 1)
    run(counting(stream))
    stream.write(1, 2)
    result = run(counting(stream))
    assert stream.rows() == [{"name": "r1", "n": 3}, {"name": "r2", "n": 1}]
    [batch] = result.details["batches"]
    assert (batch["files_removed"], batch["rows_out"], batch["output_mode"]) == (1, 2, "Complete")


def test_complete_replaces_the_schema_where_the_definition_says_so(stream, run):
    write_deltalake(stream.target, pa.table({"other": [1]}))
    stream.write(1)
    with pytest.raises(EngineFailed) as caught:
        run(counting(stream), replaces=True)
    assert caught.value.failure.condition == "DELTA_METADATA_MISMATCH"
    assert stream.rows() == [{"other": 1}]
    run(counting(stream, options={"overwriteSchema": "true"}), replaces=True)
    assert stream.rows() == [{"name": "r1", "n": 1}]


def test_complete_removes_no_row_of_a_table_that_it_was_to_make_itself(stream, run):
    """Between the opening of its round and the run another writer has made one there: nobody has approved its end."""
    write_deltalake(stream.target, pa.table({"name": ["theirs"], "n": pa.array([1], pa.int64())}))
    stream.write(1)
    with pytest.raises(CommandRefused) as refused:
        run(counting(stream))
    assert refused.value.refusals[0].code == "target_changed"
    assert stream.rows() == [{"name": "theirs", "n": 1}]


def test_another_schema_fails_by_deltas_class_unless_it_is_merged(stream, run, runtime):
    write_deltalake(stream.target, pa.table({"id": [0]}))
    stream.write(1)
    with pytest.raises(EngineFailed) as caught:
        run(stream.definition())
    failure = caught.value.failure
    assert (failure.condition, failure.sqlstate) == ("DELTA_METADATA_MISMATCH", "42KDG")
    assert "mergeSchema" in failure.message
    assert none_runs(runtime)
    run(stream.definition(options={"mergeSchema": "true"}))
    assert stream.rows() == [{"id": 0, "name": None}, {"id": 1, "name": "r1"}]


def test_spark_refuses_a_mode_by_its_class(stream, run):
    with pytest.raises(EngineFailed) as caught:
        run(stream.definition(output_mode=COMPLETE))
    assert caught.value.failure.condition == "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"
    with pytest.raises(EngineFailed) as caught:
        run(stream.definition(output_mode="update"))
    assert caught.value.failure.condition == "DELTA_UNSUPPORTED_OUTPUT_MODE"


def test_the_first_batch_makes_the_table_with_its_partitions(stream, run):
    stream.write(1, 2)
    run(stream.definition(partition_by=("name",)))
    assert Witness(stream.target).metadata().partition_columns == ["name"]
    assert {add["partitionValues"]["name"] for add in actions(stream.target, "add")} == {"r1", "r2"}


def test_a_note_stands_beside_the_jobs_marks(stream, run, marks):
    stream.write(1)
    run(stream.definition(options={"userMetadata": "by Olga"}))
    [info] = actions(stream.target, "commitInfo")
    told = json.loads(info["userMetadata"])
    assert (told["job"], told["note"]) == (marks.job, "by Olga")


def test_a_column_to_rename_that_is_not_there_is_refused(stream, refused):
    assert refused(stream.definition(steps=Steps(rename={"gone": "x"}))).code == "no_such_column"


def test_a_reset_moves_the_checkpoint_and_the_next_round_is_a_new_query(stream, run):
    stream.write(1)
    run(stream.definition())
    first = stream.query_id()
    (stream.checkpoint.parent / "checkpoint.reset-1").mkdir()
    result = run(stream.definition(), reset=True, query_id=first)
    moved = stream.checkpoint.parent / "checkpoint.reset-2"
    assert (result.no_op, result.version, result.details["moved_to"]) == (True, None, str(moved))
    assert json.loads((moved / "metadata").read_text())["id"] == first
    assert not stream.checkpoint.exists()
    again = run(stream.definition(), table_id=table_id(stream.target))
    assert again.details["query_id"] != first
    assert stream.ids() == [1, 1]


def test_a_reset_without_a_checkpoint_says_so(stream, run):
    details = run(stream.definition(), reset=True).details
    assert details["moved_to"] is None
    assert "nothing was moved" in details["text"]


def test_a_reset_moves_no_link(stream, refused, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    stream.checkpoint.symlink_to(tmp_path / "elsewhere")
    assert refused(stream.definition(), reset=True).code == "outside_roots"
    assert stream.checkpoint.is_symlink()


@pytest.mark.parametrize("name", ["a.parquet", "p=1/a.parquet", "part-0.parquet"])
def test_a_directory_of_files_is_no_target(stream, refused, name):
    found = stream.target / name
    found.parent.mkdir(exist_ok=True)
    found.write_bytes(b"")
    refusal = refused(stream.definition())
    assert (refusal.code, bool(refusal.remedy)) == ("not_delta", True)
    assert not stream.checkpoint.exists()


def test_what_a_killed_first_batch_left_is_no_hindrance(stream, run, refused):
    stream.write(1)
    left = stream.target / "part-00000-64ab9cb8-7a0c-4e23-8ad2-4e0e4b4d0f3d-c000.snappy.parquet"
    left.write_bytes(b"half")
    (stream.target / "_delta_log").mkdir()
    assert refused(stream.definition()).code == "not_delta"  # no round has begun: it's somebody else's
    stream.checkpoint.mkdir()
    query_id = "64ab9cb8-7a0c-4e23-8ad2-4e0e4b4d0f3d"
    (stream.checkpoint / "metadata").write_text(json.dumps({"id": query_id}))
    assert run(stream.definition()).details["query_id"] == query_id
    assert stream.ids() == [1]


def test_a_target_made_anew_or_gone_is_refused(stream, refused):
    stream.write(1)
    refusal = refused(stream.definition(), table_id="another")
    assert (refusal.code, bool(refusal.remedy)) == ("target_changed", True)
    write_deltalake(stream.target, pa.table({"id": [1], "name": ["x"]}))
    assert refused(stream.definition(), table_id="another").code == "target_changed"
    assert len(commits(stream.target)) == 1


def test_a_source_made_anew_is_refused(stream, refused, numbers):
    source = TableSource("t", str(numbers), "another")
    refusal = refused(stream.definition(source))
    assert (refusal.code, bool(refusal.remedy)) == ("source_recreated", True)


def test_another_querys_checkpoint_or_none_is_refused(stream, run, refused):
    refusal = refused(stream.definition(), query_id="another")
    assert (refusal.code, bool(refusal.remedy)) == ("checkpoint_gone", True)
    stream.write(1)
    run(stream.definition())
    refusal = refused(stream.definition(), query_id="another")
    assert (refusal.code, bool(refusal.remedy)) == ("foreign_checkpoint", True)
    (stream.checkpoint / "metadata").write_text("")
    assert refused(stream.definition(), query_id="another").code == "unreadable"


@pytest.mark.parametrize("place", ["source", "target", "checkpoint"])
def test_a_link_below_a_directory_of_the_stream_is_refused(stream, refused, tmp_path, place):
    stream.write(1)
    (tmp_path / "secret.json").write_text('{"id": 9}')
    directory = getattr(stream, place)
    directory.mkdir(exist_ok=True)
    (directory / "link.json").symlink_to(tmp_path / "secret.json")
    assert refused(stream.definition()).code == "outside_roots"
    assert commits(stream.target) == []


def test_a_pipe_among_the_files_is_refused(stream, refused):
    os.mkfifo(stream.source / "pipe.json")
    assert refused(stream.definition()).code == "not_a_file"


def test_a_link_that_comes_between_the_checks_and_the_start_is_refused(stream, refused, report, tmp_path):
    stream.write(1)
    report.at["Spark started"] = lambda: (stream.source / "link.json").symlink_to(tmp_path)
    assert refused(stream.definition()).code == "outside_roots"
    assert commits(stream.target) == []


def test_files_that_another_querys_log_names_elsewhere_are_refused(stream, refused, tmp_path):
    log = stream.source / "_spark_metadata"
    log.mkdir()
    named = {
        "path": f"file://{tmp_path}/secret.json",
        "size": 1,
        "isDir": False,
        "modificationTime": 1,
        "action": "add",
    }
    (log / "0").write_text("v1\n" + json.dumps(named))
    assert refused(stream.definition()).code == "outside_roots"


@pytest.mark.parametrize("given", [{}, {"starting_version": 0}], ids=["snapshot", "commits"])
def test_a_source_table_that_names_files_elsewhere_is_refused(stream, refused, numbers, tmp_path, given):
    add = actions(numbers, "add")[0]
    foreign = {"add": add | {"path": f"file://{tmp_path}/secret.parquet"}}
    (numbers / "_delta_log" / f"{3:020}.json").write_text(json.dumps(foreign) + "\n")
    source = from_table(numbers, **given)
    if given:  # its snapshot names the file no more, but its commits do
        remove = {"path": foreign["add"]["path"], "deletionTimestamp": 1, "dataChange": True}
        (numbers / "_delta_log" / f"{4:020}.json").write_text(json.dumps({"remove": remove}) + "\n")
    assert refused(stream.definition(source)).code == "outside_roots"


def test_a_cancel_ends_the_round(stream, run, engine, marks):
    stream.put("".join(json.dumps({"id": number, "name": "x" * 50}) + "\n" for number in range(20_000)))
    seen: list[Any] = []
    over = threading.Event()
    slow = " OR ".join(f"sha2(sha2(concat(name, '{number}'), 512), 512) = '0'" for number in range(200))
    thread = threading.Thread(target=cancel_until, args=(engine, marks, over, seen))
    thread.start()
    with pytest.raises(EngineCancelled):
        run(stream.definition(steps=Steps(filter=tree(slow, FIELDS))))
    over.set()
    thread.join()
    assert commits(stream.target) == []
    assert any(seen)  # the tasks that it counted are those of the stream
    run(stream.definition(), marks=Marks("another", 1, None))
    assert len(stream.ids()) == 20_000


def cancel_until(engine, marks, over, seen):
    """Cancels again and again once tasks of the round run, as a worker does."""
    while not over.wait(0.05):
        if engine.progress(marks.tag) is not None and engine.busy(marks.tag):
            seen.append(True)
        if seen:
            engine.cancel(marks.tag)


class Failing(Recorder):
    """A report that breaks at the first batch."""

    def stage(self, name):
        if name.startswith("batch "):
            raise ValueError(name)


def test_a_query_is_stopped_when_its_report_fails(stream, run, runtime, engine, marks):
    for number in range(6):
        stream.write(number)
    command = StreamRound("s", "orders", stream.definition(stream.files(**ONE_BY_ONE)).as_json())
    with pytest.raises(ValueError, match="batch 0"):
        engine.run(command, {}, UNCHECKED, marks, Failing())
    assert none_runs(runtime)
    assert len(commits(stream.target)) < 6
    run(stream.definition(), query_id=stream.query_id())
    assert stream.ids() == [0, 1, 2, 3, 4, 5]


def none_runs(runtime):
    return runtime.session._jsparkSession.sharedState().activeStreamingQueries().isEmpty()
