"""Damaged lines that a stream leaves out, on real Spark: each batch counts them, and writes the rows that DROPMALFORMED writes."""

from __future__ import annotations

import shutil
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs.commands.stream_round.rules import COMPLETE, Steps
from jobs.commands.stream_round.spark import damaged_lines, query
from jobs.domain.errors import EngineFailed
from jobs.domain.predicates.schema import Field, Schema
from jobs.domain.predicates.stored import to_json
from jobs.predicates.reading import parse
from tests.jobs.commands.stream_round.landing import FIELDS, ONE_BY_ONE, Stream, struct, table_id

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

DROPS: dict[str, Any] = {"mode": "DROPMALFORMED"}
PUSHED = "spark.sql.json.filterPushdown.enabled"
# Two files, a batch each: sound lines, and lines damaged in each way that a parser knows.
FILES = {
    "json": (
        '{"id": 1, "name": "a"}\n{"id": \nno json\n{"id": 2, "name": "b"}\n\n   \n{}\nnull\n[{"id": 3}, {"id": 4}]\n',
        '{"id": "x", "name": "c"}\n{"id": 5}\n{"id": 6, "name": {"deep": 1}}\n[]\n\x00\x00{"id": 7}\n{"id": 8, "id": 9}\n',
    ),
    "csv": (
        '1,a\nnine,b\n2,b\n\n  \n,\n3\n4,c,more\n"5,d\n',
        "6,e\n\x00\x00\x01234\n7,\n \x01,f\n99999999999999999999,g\n,h\n\ufeff8,i\n",
    ),
}
DAMAGED = {"json": [3, 2], "csv": [4, 4]}


def filtered(text: str) -> dict[str, Any]:
    fields = (Field("id", "bigint", True, ()), Field("name", "string", True, ()))
    return dict(to_json(parse(text, Schema(fields))))


def put(stream: Stream, form: str) -> None:
    for text in FILES[form]:
        stream.put(text)


def by_spark_itself(spark: Any, definition: Any) -> list[str]:
    """The rows that Spark's own DROPMALFORMED gives for the definition's files and steps."""
    source = definition.source
    schema = StructType.fromJson(source.schema)
    options = {name: value for name, value in source.read_options.items() if name != "maxFilesPerTrigger"}
    frame = spark.read.format(source.format).schema(schema).options(**options).load(source.path)
    return as_text(row.asDict(True) for row in query._stepped(spark, frame, definition.steps).collect())


def as_text(rows: Any) -> list[str]:
    return sorted(str(sorted(row.items())) for row in rows)


def counted(result: Any) -> list[int | None]:
    return [batch["damaged_lines"] for batch in result.details["batches"]]


@pytest.fixture(scope="module")
def spark(runtime):
    return runtime.new_session()


@pytest.fixture
def same(stream, run, spark):
    """Runs a definition, and checks that its table holds what Spark itself reads. Answers what each batch counted."""

    def do(form: str, steps: Steps | None = None, fields: Any = FIELDS, **options: str) -> list[int | None]:
        definition = stream.definition(
            stream.files(form, fields, **ONE_BY_ONE, **DROPS, **options), steps=steps or Steps()
        )
        result = run(definition)
        expected = by_spark_itself(spark, definition)
        assert as_text(stream.rows()) == expected
        assert expected
        for batch in result.details["batches"]:  # rows in have the damaged lines where these are counted
            assert batch["input_rows"] >= (batch["damaged_lines"] or 0) + (batch["rows_out"] if steps is None else 0)
        return counted(result)

    return do


@pytest.mark.parametrize("form", ["json", "csv"])
def test_each_batch_counts_its_damaged_lines_and_writes_what_spark_itself_keeps(stream, same, form):
    put(stream, form)
    assert same(form) == DAMAGED[form]


@pytest.mark.parametrize("text", ["id > 2", "id IS NULL OR name = 'a'", "name IS NULL"])
def test_a_filter_of_csv_is_not_applied_before_the_lines_are_counted(stream, same, text):
    put(stream, "csv")
    assert same("csv", Steps(filter=filtered(text))) == DAMAGED["csv"]


def test_a_cast_in_a_filter_meets_no_damaged_line(stream, same):
    """A damaged line's other values stay in its row until it is left out: a filter that fails on one would fail the round."""
    stream.put("1,7\nbad,seven\n2,8\n")
    assert same("csv", Steps(cast={"name": "int"}, filter=filtered_int("name > 7"))) == [1]


def filtered_int(text: str) -> dict[str, Any]:
    return dict(to_json(parse(text, Schema((Field("id", "bigint", True, ()), Field("name", "int", True, ()))))))


def test_a_filter_of_json_is_sparks_own_and_nothing_is_counted(stream, same, spark):
    """Spark applies it at a line's first value of a key, so a key that is there twice tells the two ways apart."""
    put(stream, "json")
    steps = Steps(filter=filtered("id > 8 OR id < 3"))
    assert same("json", steps) == [None, None]
    assert 9 not in stream.ids()
    spark.conf.set(PUSHED, "false")
    try:
        after = by_spark_itself(spark, stream.definition(stream.files("json", **DROPS), steps=steps))
    finally:
        spark.conf.unset(PUSHED)
    assert "('id', 9)" in str(after)


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize(("steps", "damaged"), [({"select": ["name"]}, "name"), ({"select": ["ID"]}, "id")])
def test_a_value_of_a_column_that_is_not_written_damages_no_line(stream, same, spark, form, steps, damaged):
    put(stream, form)
    counts = same(form, Steps(**steps))
    whole = sum(DAMAGED[form])
    assert None not in counts
    assert sum(counts) <= whole
    if damaged == "name":
        assert sum(counts) < whole  # the ids that are no numbers


@pytest.mark.parametrize("form", ["json", "csv"])
def test_renamed_and_cast_columns_are_parsed_as_before(stream, same, form):
    put(stream, form)
    assert same(form, Steps(rename={"name": "label"}, cast={"id": "string"}, select=["label", "id"])) == DAMAGED[form]


@pytest.mark.parametrize("form", ["json", "csv"])
def test_rows_that_are_counted_by_columns_are_those_of_sound_lines(stream, run, spark, form):
    put(stream, form)
    steps = Steps(group_by=["name"], count_as="n")
    definition = stream.definition(stream.files(form, **ONE_BY_ONE, **DROPS), steps=steps, output_mode=COMPLETE)
    first = run(definition)
    assert None not in counted(first)
    assert as_text(stream.rows()) == by_spark_itself(spark, definition)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_count_of_all_rows_is_sparks_own(stream, run, spark, form):
    put(stream, form)
    definition = stream.definition(stream.files(form, **DROPS), steps=Steps(count_as="n"), output_mode=COMPLETE)
    assert counted(run(definition)) == [None]
    assert as_text(stream.rows()) == by_spark_itself(spark, definition)


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("select", [[], ["id"]])
def test_a_schema_with_sparks_own_column_of_damaged_lines_keeps_it(stream, same, form, select):
    put(stream, form)
    counts = same(form, Steps(select=select), FIELDS | {"_corrupt_record": "string"})
    assert None not in counts
    assert sum(counts) >= 4


def test_a_column_with_the_marks_name_is_a_column_of_the_files(stream, same):
    stream.put('{"id": 1, "_levee_damaged_line": "mine"}\nno json\n')
    assert same("json", fields={"id": "long", damaged_lines.MARK.upper(): "string"}) == [1]


def test_values_over_many_lines_are_read_in_sparks_own_way(stream, same):
    stream.put('{"id":\n 1}\n')
    stream.put('[{"id": 2}, {"id": "x"}]\n')
    assert same("json", multiLine="true") == [None, None]


def test_a_header_is_no_damaged_line(stream, same):
    stream.put("id,name\n1,a\nx,b\n")
    stream.put("id,name\n2,c\n")
    assert same("csv", header="true") == [1, 0]


def test_files_below_directories_that_give_columns_are_counted_unless_a_filter_may_choose_directories(
    stream, run, spark
):
    for day, text in (("1", "1,a\nx,b\n"), ("2", "2,c\n")):
        (stream.source / f"day={day}").mkdir()
        (stream.source / f"day={day}" / "f").write_text(text)
    definition = stream.definition(stream.files("csv", **DROPS))
    assert counted(run(definition)) == [1]
    assert as_text(stream.rows()) == by_spark_itself(spark, definition)
    assert {row["day"] for row in stream.rows()} == {1, 2}
    for steps in (Steps(filter=filtered("id > 0")), Steps(select=["day"])):
        other = Stream.__new__(Stream)
        other.source = stream.source
        other.target, other.checkpoint = stream.target.parent / "others", stream.target.parent / "checkpoint2"
        shutil.rmtree(other.target, ignore_errors=True)
        shutil.rmtree(other.checkpoint, ignore_errors=True)
        other.target.mkdir()
        definition = other.definition(other.files("csv", **DROPS), steps=steps)
        assert counted(run(definition)) == [None]
        assert as_text(other.rows()) == by_spark_itself(spark, definition)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_batch_of_damaged_lines_alone_writes_no_row_and_one_of_no_line_tells_nothing(stream, run, form):
    stream.put("{no\nneither\n" if form == "json" else "x,y\nz,\n")
    stream.put("")
    stream.put('{"id": 1, "name": "a"}\n' if form == "json" else "1,a\n")
    result = run(stream.definition(stream.files(form, **ONE_BY_ONE, **DROPS)))
    assert counted(result) == [2, None, 0]
    assert stream.ids() == [1]
    assert "2 damaged lines were left out." in result.details["text"]


def test_a_batch_that_is_run_again_counts_once(stream, run):
    """Its commit is in the table, its end isn't in the checkpoint: Delta skips it, and the lines are those of its first run."""
    put(stream, "json")
    definition = stream.definition(stream.files("json", **ONE_BY_ONE, **DROPS))
    first = run(definition)
    assert counted(first) == DAMAGED["json"]
    before = stream.rows()
    (stream.checkpoint / "commits" / "1").unlink()
    (stream.checkpoint / "commits" / ".1.crc").unlink(missing_ok=True)
    again = run(definition, query_id=stream.query_id(), table_id=table_id(stream.target))
    assert [(batch["batch_id"], batch["skipped"], batch["damaged_lines"]) for batch in again.details["batches"]] == [
        (1, True, None)
    ]
    assert stream.rows() == before


def test_a_batch_that_failed_counts_in_the_round_that_writes_it(stream, run):
    stream.put("1,5\nx,6\n")
    definition = stream.definition(stream.files("csv", **DROPS), steps=Steps(cast={"name": "int"}))
    (stream.source / "002").write_text("2,no number\n")
    with pytest.raises(EngineFailed) as failed:
        run(definition)
    assert failed.value.failure.condition == "CAST_INVALID_INPUT"
    (stream.source / "002").write_text("2,7\n")
    assert counted(run(definition)) == [1]
    assert stream.ids() == [1, 2]


def test_the_next_round_of_a_stream_that_spark_dropped_for_counts_on_the_same_checkpoint(stream, run, monkeypatch):
    """Streams that began before lines were counted go on after their last batch, with or without a state."""
    steps = Steps(group_by=["id"], count_as="n")
    definition = stream.definition(stream.files("csv", **ONE_BY_ONE, **DROPS), steps=steps, output_mode=COMPLETE)
    stream.put("1,a\nx,b\n")
    with monkeypatch.context() as before:
        before.setattr(damaged_lines, "why_uncounted", lambda *_: "not yet")
        assert counted(run(definition)) == [None]
    stream.put("1,a\ny,b\n")
    result = run(definition, query_id=stream.query_id(), table_id=table_id(stream.target))
    assert counted(result) == [1]
    assert stream.rows() == [{"id": 1, "n": 2}]


def test_where_delta_plans_the_batch_anew_nothing_is_counted_rather_than_none(stream, run, spark):
    """Delta casts to the table's types in a plan of its own: the one that Spark reports on doesn't run."""
    write_deltalake(stream.target, pa.table({"id": pa.array([], pa.int32()), "name": pa.array([], pa.string())}))
    put(stream, "json")
    definition = stream.definition(stream.files("json", **DROPS))
    result = run(definition)
    assert as_text(stream.rows()) == by_spark_itself(spark, definition)
    assert counted(result) == [None]


@pytest.mark.parametrize("form", ["json", "csv"])
def test_no_damaged_line_is_without_its_text(spark, tmp_path, form):
    """The mark is the line's text, NULL for a sound one. A damaged line without a text would become a row of NULLs."""
    noise = [chr(code) for code in range(1, 0x21)] + list('\x00",;ab1{}[]:\\\ufeff')
    lines = [f"{one}{two}{end}" for one in noise for two in noise for end in ("x", '"', "1,b")]
    lines = [line for line in lines if line.strip() and not set(line) & {"\n", "\r"}]
    (tmp_path / "f").write_text("\n".join(lines) + "\n")
    reader = spark.read.format(form).schema(StructType.fromJson(struct({"id": "long", "name": "string"})))
    kept = reader.option("mode", "DROPMALFORMED").load(str(tmp_path)).select("id", "name")
    marked = spark.read.format(form).schema(
        StructType.fromJson(struct({"id": "long", "name": "string", "mark": "string"}))
    )
    marked = marked.options(mode="PERMISSIVE", columnNameOfCorruptRecord="mark").load(str(tmp_path))
    sound = marked.filter(F.col("mark").isNull()).select("id", "name")
    assert sorted(map(str, sound.collect())) == sorted(map(str, kept.collect()))
