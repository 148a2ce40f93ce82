"""Dates and times whose calendar Spark has to guess, by footers alone."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from jobs.commands.convert.spark.old_calendar import notes_of, refusals_of
from jobs.domain import footer_times
from jobs.domain.footer_times import OldTimes, day_text, old_times, time_columns
from jobs.engine.walk import Findings, Order, Share, scan

OLD = date(1500, 1, 1)


def found(top: Path, columns: dict[str, Any], metadata: dict[bytes, bytes] | None = None, **options: Any) -> Findings:
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), top / "a.parquet", **options)
    return scan([Share(tree="")], Order(str(top), True, ()))


@pytest.mark.parametrize(
    ("values", "kind", "oldest"),
    [
        (pa.array([OLD, date(2026, 1, 1)]), "DATE", "1500-01-01"),
        (pa.array([datetime(1500, 1, 1, 12)], pa.timestamp("us")), "TIMESTAMP", "1500-01-01"),
        (pa.array([datetime(1899, 12, 31, 23)], pa.timestamp("ms", tz="UTC")), "TIMESTAMP", "1899-12-31"),
        (pa.array([datetime(1800, 1, 1)], pa.timestamp("ns")), "TIMESTAMP", "1800-01-01"),
    ],
)
def test_days_of_long_ago_are_told_with_the_oldest(tmp_path: Path, values: pa.Array, kind: str, oldest: str) -> None:
    times = found(tmp_path, {"c": values}).times[("c", kind)]
    assert times.oldest is not None
    assert day_text(times.oldest) == oldest
    assert times.example == "a.parquet"


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


def test_a_file_that_names_its_spark_is_left_to_spark_but_for_int96(tmp_path: Path) -> None:
    columns = {"day": [OLD], "at": pa.array([datetime(1500, 1, 1)], pa.timestamp("us"))}
    metadata = {footer_times.SPARK_VERSION: b"2.4.8"}
    assert found(tmp_path, columns, metadata).times == {}
    seen = found(tmp_path, columns, metadata, use_deprecated_int96_timestamps=True)
    assert {kind for _, kind in seen.times} == {"INT96"}


def test_nested_columns_are_told_by_their_path(tmp_path: Path) -> None:
    assert list(found(tmp_path, {"s": [{"day": OLD}]}).times) == [("s.day", "DATE")]


def test_what_no_footer_tells_is_unknown_and_only_said_of_writers_of_the_old_kind(tmp_path: Path) -> None:
    columns = {"day": [date(2026, 1, 1)]}
    assert found(tmp_path, columns, write_statistics=False).times == {}
    real = pq.read_metadata(tmp_path / "a.parquet")
    names = ("metadata", "schema", "num_rows", "num_row_groups", "row_group")
    mr = SimpleNamespace(created_by="parquet-mr version 1.10.1", **{name: getattr(real, name) for name in names})
    ((column, times),) = old_times(mr, time_columns(mr), "a.parquet")
    assert (column.path, times) == ("day", OldTimes(1, None, "a.parquet"))


def test_columns_of_many_files_are_one_with_the_oldest_of_all() -> None:
    first, second = OldTimes(1, None, "b"), OldTimes(2, -200_000, "a")
    assert first.merged(second) == second.merged(first) == OldTimes(3, -200_000, "a")


def test_a_day_beyond_the_calendar_is_told_as_a_number() -> None:
    assert day_text(-2_000_000) == "day -2,000,000 since 1970-01-01"


def test_notes_name_column_kind_age_and_setting_and_only_a_known_age_refuses(tmp_path: Path) -> None:
    seen = found(tmp_path, {"day": [OLD]})
    (note,) = notes_of(seen, "CORRECTED", "CORRECTED")
    assert "day (DATE, oldest known value 1500-01-01, 1 file, for example a.parquet)" in note.text
    assert "takes them as they are" in note.text
    assert refusals_of(seen, "CORRECTED") == []
    assert notes_of(seen, "EXCEPTION", "EXCEPTION") == []
    (refusal,) = refusals_of(seen, "EXCEPTION")
    assert (refusal.code, refusal.place) == ("old_calendar", "a.parquet")
    unknown = Findings()
    unknown.old(("day", "DATE"), OldTimes(1, None, "a.parquet"))
    assert refusals_of(unknown, "EXCEPTION") == []
    for setting in ("LEGACY", "EXCEPTION"):
        assert "oldest value unknown" in notes_of(unknown, setting, setting)[0].text
