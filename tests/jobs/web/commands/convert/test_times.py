"""What an inspection tells of dates and times, on its page and over HTTP."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from jobs.domain.results import Inspection, Note, TimeReading, TimeSample
from tests import factories
from tests.clients import browser, caller

pytestmark = pytest.mark.django_db

SAME = TimeSample("2026-01-01", "2026-01-01")
TIMES = (
    TimeReading(
        "day", "DATE", "date", "the footer names the old calendar", 3, "a.parquet",
        TimeSample("1500-03-01", "1500-02-20"), SAME,
    ),
    TimeReading("at", "INT96", "timestamp", "spark.sql.parquet.int96RebaseModeInRead=CORRECTED", 1, "b.parquet", None, None),
    TimeReading(
        "n", "TIMESTAMP(NANOS)", None, "spark.sql.legacy.parquet.nanosAsLong=false", 1, "c.parquet",
        TimeSample("2026-01-01 00:00:00", None), None,
    ),
)  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> str:
    (tmp_path / "orders").mkdir()
    factories.RootFactory(name="lake", uri=str(tmp_path))
    return str(tmp_path / "orders")


def answered(person: Any, place: str, **changes: Any) -> Any:
    answer = factories.inspection(place, **changes)
    return factories.read(person, state="answered", question={"path": place}, answer=answer)


def page(person: Any, place: str) -> str:
    shown = browser(person).get("/convert/", {"path": place}).content.decode()
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", shown))


def test_the_page_shows_each_value_in_the_file_and_as_a_reader_sees_it(place: str) -> None:
    olga = factories.person_with("operator")
    answered(olga, place, times=TIMES)
    text = page(olga, place)
    assert "Dates and times" in text
    assert "1500-03-01 in the file, a reader sees 1500-02-20" in text
    assert "2026-01-01 in the file" not in text
    assert "nothing: Spark refuses it" in text
    assert "2026-01-01 00:00:00 in the file, Spark doesn’t read it" in text


def test_without_such_columns_the_page_says_nothing_of_them(place: str) -> None:
    olga = factories.person_with("operator")
    answered(olga, place)
    assert "Dates and times" not in page(olga, place)


def test_who_approves_sees_them_and_what_else_was_noticed(place: str) -> None:
    noticed = factories.inspection(place, times=TIMES, notes=(Note("old_calendar", "day: dates before 1582-10-15."),))
    policy = {"required_approvals": 1, "role": "approver", "reasons": ["asks for one"]}
    job = factories.job("awaiting_approval", preview=noticed, policy=policy)
    anna = browser(factories.person_with("approver"))
    shown = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", anna.get(f"/jobs/{job.pk}/").content.decode()))
    assert "This directory becomes a Delta table" in shown
    assert "1500-03-01 in the file, a reader sees 1500-02-20" in shown
    assert "day: dates before 1582-10-15." in shown


def test_the_api_has_them(place: str) -> None:
    viewer = caller("viewer")
    read = answered(viewer.person, place, times=TIMES)
    day, at, nanos = viewer.get(f"/reads/{read.pk}").json()["times"]
    assert day["oldest"] == {"file": "1500-03-01", "spark": "1500-02-20"}
    assert (at["stored"], at["reads_as"], at["oldest"], at["largest"]) == ("INT96", "timestamp", None, None)
    assert (nanos["reads_as"], nanos["oldest"]["spark"]) == (None, None)


def test_an_inspection_stored_before_there_were_times_is_read() -> None:
    stored = factories.inspection("/lake/t")
    del stored["times"]
    assert Inspection.from_json(stored).times == ()


def test_times_survive_json() -> None:
    stored = factories.inspection("/lake/t", times=TIMES)
    assert Inspection.from_json(stored).times == TIMES
    assert [reading.differs for reading in TIMES] == [True, False, True]
