"""Samples of dates and times, before and after, as Spark really reads them."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from jobs.commands.convert.spark.old_calendar import DATES, INT96_TIMES
from jobs.commands.convert.spark.time_readings import AS_NUMBERS
from jobs.domain.engine import Marks
from jobs.domain.footers.times import LEGACY_DATES, LEGACY_INT96, SPARK_VERSION, ZONE
from tests.factories.lakes import Lake
from tests.jobs.corpus.collection import FILES

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

DAYS = [date(1500, 3, 1), date(2026, 1, 1)]
MOMENTS = pa.array([datetime(1500, 3, 1, 12), datetime(2026, 1, 1)], pa.timestamp("us", "UTC"))
OLD_WORDS = {SPARK_VERSION: b"3.5.0", LEGACY_DATES: b"", LEGACY_INT96: b"", ZONE: b"America/Los_Angeles"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture
def conf(runtime: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets a setting in all sessions to come: `conf(name, value)`."""
    shared = runtime.session.sparkContext._jsc.sc().conf()
    changed: list[str] = []

    def set_to(name: str, value: str) -> None:
        shared.set(name, value)
        changed.append(name)

    yield set_to
    for name in changed:
        shared.remove(name)


def written(lake: Lake, columns: dict[str, Any], words: dict[bytes, bytes] | None = None, **options: Any) -> Path:
    place = lake.top / "t"
    place.mkdir()
    pq.write_table(pa.table(columns).replace_schema_metadata(words), place / "a.parquet", **options)
    return place


def samples(inspect: Any, place: Path) -> dict[str, Any]:
    return {
        each["column"]: (
            each["reads_as"],
            *((each[part]["file"], each[part]["spark"]) if each[part] else None for part in ("oldest", "largest")),
        )
        for each in inspect(place)["times"]
    }


def read(runtime: Any, place: Path, column: str) -> list[str]:
    """What Spark reads in fact, oldest first."""
    frame = runtime.new_session().read.parquet(str(place)).selectExpr(f"cast({column} as string) c").orderBy("c")
    return [row.c for row in frame.collect()]


def test_a_footer_of_the_old_calendar_shows_both_values_as_spark_reads_them(lake, inspect, runtime):
    place = written(lake, {"day": DAYS, "at": MOMENTS}, OLD_WORDS)
    seen = samples(inspect, place)
    oldest, largest = read(runtime, place, "day")
    assert seen["day"] == ("date", ("1500-03-01", oldest), ("2026-01-01", largest))
    oldest, largest = read(runtime, place, "at")
    assert seen["at"] == (
        "timestamp",
        ("1500-03-01 12:00:00 UTC", f"{oldest} UTC"),
        ("2026-01-01 00:00:00 UTC", f"{largest} UTC"),
    )
    assert oldest == "1500-02-20 11:52:58"


def test_int96_is_read_for_its_values(lake, inspect, runtime):
    columns = {"at": MOMENTS, "s": pa.array([{"a.b": datetime(2020, 1, 1)}, None]), "l": [[datetime(2020, 1, 1)], []]}
    place = written(lake, columns, OLD_WORDS, use_deprecated_int96_timestamps=True)
    seen = samples(inspect, place)
    oldest, largest = read(runtime, place, "at")
    assert seen["at"] == (
        "timestamp",
        ("1500-03-01 12:00:00 UTC", f"{oldest} UTC"),
        ("2026-01-01 00:00:00 UTC", f"{largest} UTC"),
    )
    assert oldest == "1500-02-20 11:52:58"
    assert seen["l.list.element"] == ("timestamp", None, None)


def test_a_setting_decides_where_no_footer_does(lake, inspect, runtime, conf):
    place = written(lake, {"day": DAYS, "at": MOMENTS, "local": MOMENTS.cast(pa.timestamp("us"))})
    assert samples(inspect, place)["day"] == ("date", ("1500-03-01", "1500-03-01"), ("2026-01-01", "2026-01-01"))
    conf(DATES, "LEGACY")
    seen = samples(inspect, place)
    assert seen["day"][1] == ("1500-03-01", read(runtime, place, "day")[0]) == ("1500-03-01", "1500-02-20")
    assert seen["at"][1][1] == f"{read(runtime, place, 'at')[0]} UTC"
    assert seen["local"] == ("timestamp_ntz", *[(text, text) for text in read(runtime, place, "local")])
    conf(DATES, "EXCEPTION")
    found = inspect(place)
    assert [each["oldest"]["spark"] for each in found["times"] if each["column"] == "day"] == [None]
    assert "old_calendar" in [refusal["code"] for refusal in found["refusals"]]


def test_old_int96_by_the_setting(lake, inspect, runtime, conf):
    place = written(lake, {"at": MOMENTS}, use_deprecated_int96_timestamps=True)
    assert samples(inspect, place)["at"][1] == ("1500-03-01 12:00:00 UTC", "1500-03-01 12:00:00 UTC")
    conf(INT96_TIMES, "LEGACY")
    assert samples(inspect, place)["at"][1][1] == f"{read(runtime, place, 'at')[0]} UTC"


def test_nanoseconds_are_refused_or_numbers(lake, inspect, runtime, conf):
    place = written(lake, {"n": pa.array([1_577_836_800_000_000_001], pa.timestamp("ns"))})
    assert samples(inspect, place)["n"] == (None, *[("2020-01-01 00:00:00.000000001", None)] * 2)
    conf(AS_NUMBERS, "true")
    (number,) = read(runtime, place, "n")
    assert samples(inspect, place)["n"] == ("bigint", *[("2020-01-01 00:00:00.000000001", number)] * 2)
    assert inspect(place)["refusals"] == []


@pytest.mark.parametrize("name", ["pages-zeros", "int96"])
def test_int96_whose_pages_are_damaged_has_no_sample_and_no_harm(lake, inspect, name):
    place = lake.top / "t"
    place.mkdir()
    data = FILES["int96"]
    damaged = data[:4] + bytes(24) + data[28:] if name == "pages-zeros" else data
    (place / "[a]*.parquet").write_bytes(damaged)
    (reading,) = inspect(place)["times"]
    assert (reading["oldest"] is None) == (name == "pages-zeros")


def test_what_comes_after_the_preview_is_refused_by_name_too(lake, engine, report, convert):
    from jobs.commands.convert.rules import Convert
    from jobs.domain.engine import UNCHECKED
    from jobs.domain.errors import CommandRefused

    place = lake.write("t")
    command, marks = Convert(str(place), None, "parquet", None), Marks(job="late", attempt=1, digest="d" * 64)
    seen = engine.preview(command, None, marks, report)
    (place / "b.parquet").write_bytes(FILES["encrypted-column"])
    with pytest.raises(CommandRefused) as caught:
        engine.run(command, seen.as_json(), UNCHECKED, marks, report)
    assert "encrypted_files" in {refusal.code for refusal in caught.value.refusals}
    assert not (place / "_delta_log").exists()
