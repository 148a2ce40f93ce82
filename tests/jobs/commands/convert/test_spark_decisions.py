"""Decisions on real Delta: what Spark makes of escaped names and of footers that describe other columns, and what it can't read at all."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from jobs.commands.convert.rules import Convert
from jobs.domain.engine import UNCHECKED
from jobs.domain.errors import CommandRefused, EngineFailed
from tests.factories.lakes import Lake

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

ROW_METADATA = b"org.apache.spark.sql.parquet.row.metadata"


@pytest.fixture
def lake(tmp_path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture
def preview(engine, marks, report):
    def find(path, partition_schema=None, accept=()):
        command = Convert(str(path), None, "parquet", partition_schema, accept=accept)
        return command, engine.preview(command, None, marks, report)

    return find


@pytest.fixture
def run(engine, marks, report):
    def go(command, seen):
        return engine.run(command, seen.as_json(), UNCHECKED, marks, report)

    return go


def codes(seen) -> list[str]:
    return [refusal.code for refusal in seen.refusals]


def test_an_escaped_name_is_refused_and_once_accepted_spark_stores_what_the_reading_said(lake, preview, run, sql):
    lake.write("t/city=M%C3%BCnchen")
    path = lake.write("t/city=a%20b")
    _, seen = preview(path, "city string")
    assert codes(seen) == ["partition_encoding"]
    command, seen = preview(path, "city string", accept=("partition_encoding",))
    assert codes(seen) == []
    run(command, seen)
    spark = seen.readings[0].spark.removeprefix("city=")
    assert (
        {row.city for row in sql(f"SELECT DISTINCT city FROM delta.`{path}`")} == {spark, "a b"} == {"MÃ¼nchen", "a b"}
    )


def test_another_escaped_name_that_came_after_the_decision_ends_the_run(lake, preview, run):
    path = lake.write("t/city=M%C3%BCnchen")
    command, seen = preview(path, "city string", accept=("partition_encoding",))
    lake.write("t/city=K%C3%B6ln")
    with pytest.raises(CommandRefused) as caught:
        run(command, seen)
    assert [refusal.code for refusal in caught.value.refusals] == ["partition_encoding"]
    assert "Köln" in caught.value.refusals[0].message


def written_by_spark(runtime, path):
    """Writes a file with Spark, removes it, and answers its text."""
    columns = "id bigint, name string, at timestamp"
    runtime.new_session().createDataFrame([(1, "a", datetime(2026, 1, 1))], columns).coalesce(1).write.parquet(
        str(path)
    )
    (file,) = path.glob("*.parquet")
    text = pq.read_metadata(file).metadata[ROW_METADATA]
    for each in path.iterdir():
        each.unlink()
    return text


def test_a_stale_text_is_named_by_its_columns_and_is_what_spark_reads(lake, preview, run, sql, runtime):
    path = lake.top / "t"
    text = written_by_spark(runtime, path)
    columns = {"id": [1.5], "name": ["a"], "extra": ["x"]}
    pq.write_table(pa.table(columns).replace_schema_metadata({ROW_METADATA: text}), path / "a.parquet")
    _, seen = preview(path)
    assert codes(seen) == ["footer_schema"]
    (found,) = seen.footers
    assert (found.only_in_file, found.only_in_text, found.types) == (("extra",), ("at",), (("id", "long", "double"),))
    columns = {"id": [1], "name": ["a"], "extra": ["x"]}
    pq.write_table(pa.table(columns).replace_schema_metadata({ROW_METADATA: text}), path / "a.parquet")
    command, seen = preview(path, accept=("footer_schema",))
    run(command, seen)
    (row,) = sql(f"SELECT * FROM delta.`{path}`")
    assert row.asDict() == {"id": 1, "name": "a", "at": None}


KINDS = """
    cast(1 as tinyint) b, cast(1 as smallint) s, 1 i, 1L l, 1.5f f, 1.5d d, cast(1.5 as decimal(9,2)) small,
    cast(1.5 as decimal(18,2)) middle, cast(1.5 as decimal(38,10)) large, 'x' str, cast('x' as binary) bin, true bool,
    date'2026-01-01' day, timestamp'2026-01-01 10:00:00' at, timestamp_ntz'2026-01-01 10:00:00' ntz,
    array(1, 2) list, map('k', named_struct('a', 1)) dict,
    array(named_struct('A', 1, 'b', array('x'))) deep, named_struct('x', named_struct('y', 1L)) Nested,
    parse_json('{"a": 1}') as var
"""


@pytest.mark.parametrize("stored", ["TIMESTAMP_MICROS", "INT96", "TIMESTAMP_MILLIS"])
@pytest.mark.parametrize("legacy", ["true", "false"])
def test_no_file_of_spark_itself_is_called_different(lake, preview, runtime, stored, legacy):
    session, path = runtime.new_session(), lake.top / "t"
    session.conf.set("spark.sql.parquet.outputTimestampType", stored)
    session.conf.set("spark.sql.parquet.writeLegacyFormat", legacy)
    session.sql(f"SELECT {KINDS}").write.parquet(str(path))
    _, seen = preview(path)
    assert (seen.footers, codes(seen)) == ((), [])


def test_intervals_are_refused_as_delta_would(lake, preview, runtime, sql):
    from jobs.engine.errors import translate

    session, path = runtime.new_session(), lake.top / "t"
    session.sql("SELECT 1 id, interval '1' day days, struct(interval '1' month AS months) s").write.parquet(str(path))
    _, seen = preview(path)
    (refusal,) = seen.refusals
    assert (seen.footers, refusal.code, refusal.place) == ((), "schema_conflict", "days")
    assert "s.months" in refusal.message
    with pytest.raises(EngineFailed) as caught, translate():
        sql(f"CONVERT TO DELTA parquet.`{path}`")
    assert (refusal.engine.condition, refusal.engine.sqlstate) == (
        caught.value.failure.condition,
        caught.value.failure.sqlstate,
    )


def test_no_file_of_delta_itself_is_called_different(lake, preview, sql, tmp_path):
    path = lake.top / "t"
    sql(
        f"CREATE TABLE delta.`{path}` USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name') AS"
        " SELECT 1 id, named_struct('a', 'x') s, cast('x' as varchar(3)) v"
    )
    for log in sorted((path / "_delta_log").rglob("*"), reverse=True):
        log.unlink() if log.is_file() else log.rmdir()
    (path / "_delta_log").rmdir()
    assert preview(path)[1].footers == ()


@pytest.mark.parametrize("text", [False, True])
def test_nanoseconds_are_refused_by_the_name_of_their_column(lake, preview, runtime, text):
    path = lake.top / "t"
    metadata = {ROW_METADATA: written_by_spark(runtime, path)} if text else {}
    path.mkdir(exist_ok=True)
    at = pa.array([1], pa.timestamp("ns"))
    table = pa.table({"id": [1], "name": ["a"], "at": at}).replace_schema_metadata(metadata)
    pq.write_table(table, path / "a.parquet")
    (refusal,) = preview(path)[1].refusals
    assert refusal.code == "schema_conflict"
    assert "at (" in refusal.message
    assert "NANOS" in refusal.message


def test_types_that_pyarrow_writes_by_default_otherwise_convert(lake, preview, run, sql):
    columns = {
        "i": [1],
        "d": [date(1500, 1, 1)],
        "t": pa.array([1], pa.timestamp("us")),
        "dec": [Decimal("1.50")],
        "l": [[1]],
        "s": [{"a": 1}],
    }
    path = lake.write("t", columns)
    command, seen = preview(path)
    assert (seen.footers, codes(seen)) == ((), [])
    run(command, seen)
    assert str(sql(f"SELECT d FROM delta.`{path}`")[0].d) == "1500-01-01"


def test_int96_and_old_dates_are_told_with_the_setting_that_decides(lake, preview, run, sql):
    path = lake.top / "t"
    path.mkdir()
    table = pa.table({"at": pa.array([datetime(2026, 1, 1)]), "day": [date(1500, 1, 1)]})
    pq.write_table(table, path / "a.parquet", use_deprecated_int96_timestamps=True)
    command, seen = preview(path)
    texts = {note.code: note.text for note in seen.notes}
    assert "at (INT96" in texts["int96"]
    assert "int96RebaseModeInRead=CORRECTED" in texts["int96"]
    assert "oldest known value 1500-01-01" in texts["old_calendar"]
    assert "datetimeRebaseModeInRead=CORRECTED" in texts["old_calendar"]
    run(command, seen)
    assert str(sql(f"SELECT day FROM delta.`{path}`")[0].day) == "1500-01-01"
