"""Dates and times whose calendar Spark has to guess, by footers alone."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from jobs.commands.convert.spark.old_calendar import notes_of, refusals_of
from jobs.domain.footers.times import (
    DATE,
    INT96,
    LEGACY_DATES,
    NANOS,
    OLD,
    SETTING,
    SPARK_VERSION,
    TIMESTAMP,
    ZONE,
    Calendar,
    OldTimes,
    day_text,
    value_text,
)
from jobs.engine.walk import WalkFindings, WalkOrder, WorkShare, scan
from tables.storage.local.tree import LocalReach
from tests.jobs.corpus.footers import CREATED_BY, changed
from tests.jobs.corpus.thrift import BINARY

LONG_AGO = date(1500, 1, 1)


def found(
    top: Path, columns: dict[str, Any], metadata: dict[bytes, bytes] | None = None, **options: Any
) -> WalkFindings:
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), top / "a.parquet", **options)
    return scan([WorkShare(tree="")], WalkOrder(str(top), True, (), LocalReach()))


def calendars(findings: WalkFindings) -> list[tuple[str, str, str]]:
    return [(calendar.column, calendar.kind, calendar.by) for calendar in findings.times]


@pytest.mark.parametrize(
    ("values", "kind", "oldest"),
    [
        (pa.array([LONG_AGO, date(2026, 1, 1)]), DATE, "1500-01-01"),
        (pa.array([datetime(1500, 1, 1, 12)], pa.timestamp("us")), TIMESTAMP, "1500-01-01 12:00:00"),
        (pa.array([datetime(1899, 12, 31, 23)], pa.timestamp("ms", tz="UTC")), TIMESTAMP, "1899-12-31 23:00:00"),
        (pa.array([datetime(1800, 1, 1)], pa.timestamp("ns")), NANOS, "1800-01-01 00:00:00"),
        (pa.array([1], pa.timestamp("ns")), NANOS, "1970-01-01 00:00:00.000000001"),
    ],
)
def test_days_of_long_ago_and_nanoseconds_are_told_with_the_oldest(
    tmp_path: Path, values: pa.Array, kind: str, oldest: str
) -> None:
    ((calendar, times),) = found(tmp_path, {"c": values}).times.items()
    assert (calendar.column, calendar.kind, calendar.by) == ("c", kind, SETTING)
    assert times.least is not None
    assert value_text(kind, times.least) == oldest
    assert (times.example, times.sample) == ("a.parquet", ((tmp_path / "a.parquet").stat().st_size, "a.parquet"))


def test_the_largest_value_is_told_too(tmp_path: Path) -> None:
    (times,) = found(tmp_path, {"c": [LONG_AGO, date(2026, 1, 1), None]}, row_group_size=1).times.values()
    assert times.greatest is not None
    assert day_text(times.greatest) == "2026-01-01"


@pytest.mark.parametrize(
    "values",
    [
        pa.array([date(1582, 10, 15)]),
        pa.array([datetime(1900, 1, 1)], pa.timestamp("us")),
        pa.array([None], pa.date32()),
        pa.array([], pa.date32()),
        pa.array([-200_000], pa.int32()),
        pa.array([-1], pa.time64("us")),
    ],
)
def test_other_columns_are_told_nothing_of(tmp_path: Path, values: pa.Array) -> None:
    assert found(tmp_path, {"c": values}).times == {}


@pytest.mark.parametrize(
    ("words", "by"),
    [
        ({SPARK_VERSION: b"2.4.8"}, [("day", DATE, OLD), ("at", TIMESTAMP, OLD)]),
        ({SPARK_VERSION: b"3.5.0", LEGACY_DATES: b""}, [("day", DATE, OLD), ("at", TIMESTAMP, OLD)]),
        ({SPARK_VERSION: b"3.5.0"}, []),
    ],
)
def test_a_file_that_names_its_spark_names_its_calendar(
    tmp_path: Path, words: dict[bytes, bytes], by: list[tuple[str, str, str]]
) -> None:
    columns = {"day": [LONG_AGO], "at": pa.array([datetime(1500, 1, 1)], pa.timestamp("us"))}
    seen = found(tmp_path, columns, words)
    assert calendars(seen) == by
    assert (notes_of(seen, "EXCEPTION", "EXCEPTION"), refusals_of(seen, "EXCEPTION")) == ([], [])


def test_the_zone_of_an_old_writer_is_told(tmp_path: Path) -> None:
    seen = found(tmp_path, {"day": [LONG_AGO]}, {SPARK_VERSION: b"2.4.8", ZONE: b"America/Los_Angeles"})
    assert [calendar.zone for calendar in seen.times] == ["America/Los_Angeles"]


def test_int96_is_told_whoever_wrote_it(tmp_path: Path) -> None:
    columns = {"at": pa.array([datetime(1500, 1, 1)], pa.timestamp("us"))}
    seen = found(tmp_path, columns, {SPARK_VERSION: b"3.0.9"}, use_deprecated_int96_timestamps=True)
    assert calendars(seen) == [("at", INT96, OLD)]
    assert "at (INT96, 1 file" in notes_of(seen, "CORRECTED", "CORRECTED")[0].text


def test_nested_columns_are_told_by_their_path(tmp_path: Path) -> None:
    assert calendars(found(tmp_path, {"s": [{"day": LONG_AGO}]})) == [("s.day", DATE, SETTING)]


def test_what_no_footer_tells_is_unknown_and_only_said_of_writers_of_the_old_kind(tmp_path: Path) -> None:
    columns = {"day": [date(2026, 1, 1)]}
    assert found(tmp_path, columns, write_statistics=False).times == {}
    file = tmp_path / "a.parquet"
    writer = (BINARY, b"parquet-mr version 1.10.1")
    file.write_bytes(changed(file.read_bytes(), lambda footer: footer.update({CREATED_BY: writer})))
    seen = scan([WorkShare(tree="")], WalkOrder(str(tmp_path), True, (), LocalReach()))
    ((calendar, times),) = seen.times.items()
    assert (calendar.column, times.files, times.least) == ("day", 1, None)


def test_columns_of_many_files_are_one_with_the_oldest_of_all() -> None:
    first, second = OldTimes(1, None, None, "b", (7, "b")), OldTimes(2, -200_000, 5, "a", (9, "a"))
    assert first.merged(second) == second.merged(first) == OldTimes(3, -200_000, 5, "a", (7, "b"))


def test_a_day_beyond_the_calendar_is_told_as_a_number() -> None:
    assert day_text(-2_000_000) == "day -2,000,000 since 1970-01-01"


def test_notes_name_column_kind_age_and_setting_and_only_a_known_age_refuses(tmp_path: Path) -> None:
    seen = found(tmp_path, {"day": [LONG_AGO]})
    (note,) = notes_of(seen, "CORRECTED", "CORRECTED")
    assert "day (DATE, oldest known value 1500-01-01, 1 file, for example a.parquet)" in note.text
    assert "takes them as they are" in note.text
    assert refusals_of(seen, "CORRECTED") == []
    assert notes_of(seen, "EXCEPTION", "EXCEPTION") == []
    (refusal,) = refusals_of(seen, "EXCEPTION")
    assert (refusal.code, refusal.place) == ("old_calendar", "a.parquet")
    unknown = WalkFindings()
    unknown.old(Calendar("day", DATE), OldTimes(1, None, None, "a.parquet"))
    assert refusals_of(unknown, "EXCEPTION") == []
    recent = WalkFindings()  # of a writer of the old kind, and not every row group tells its values
    recent.old(Calendar("day", DATE), OldTimes(1, 20_000, 20_000, "a.parquet"))
    assert refusals_of(recent, "EXCEPTION") == []
    for setting in ("LEGACY", "EXCEPTION"):
        assert "oldest value unknown" in notes_of(unknown, setting, setting)[0].text
