from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime, timedelta

import pytest

from console.base import zones
from tables.history.reachability import Span
from tables.web.charts.strip import strip
from tables.web.charts.version_axis import Scale, dates_on

START = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize("seconds", [1, 90, 4000, 86_400, 40 * 86_400, 900 * 86_400, 20_000 * 86_400])
def test_an_axis_of_any_length_has_a_few_dates(seconds: int) -> None:
    spans = [Span(0, 9, START, START + timedelta(seconds=seconds), True, True, False, None)]
    assert len(strip(spans).dates) <= 9


@pytest.mark.parametrize("month", [3, 10])
def test_each_day_has_one_date_where_clocks_are_set(month: int) -> None:
    start = datetime(2026, month, 23, 12, tzinfo=UTC)
    zones.show_in("Europe/Berlin")
    try:
        ticks = dates_on(Scale(0, start, 0.001), start + timedelta(days=7))
    finally:
        zones.show_in("UTC")
    assert [tick.text for tick in ticks] == [f"{day} {start:%b}" for day in range(24, 31)]
    hours = [round((after.at - before.at) / 3.6) for before, after in itertools.pairwise(ticks)]
    assert sorted(hours) == ([23, 24, 24, 24, 24, 24] if month == 3 else [24, 24, 24, 24, 24, 25])


def test_an_axis_ends_with_the_calendar() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    for length in (timedelta(milliseconds=5), timedelta(hours=5), timedelta(days=60)):
        assert dates_on(Scale(0, last - length, 0.01), last) is not None


def test_drawings_are_in_the_person_s_zone() -> None:
    scale = Scale(0, START, 0.01)
    end = START + timedelta(hours=8)
    zones.show_in("Asia/Kolkata")
    try:
        ticks = dates_on(scale, end)
        drawn = strip(
            [
                Span(0, 1, START, START + timedelta(hours=9), False, False, None, "cleaned"),
                Span(2, 3, START + timedelta(hours=20), START + timedelta(days=3), True, True, None, None),
            ]
        )
    finally:
        zones.show_in("UTC")
    in_utc = dates_on(scale, end)
    assert ticks
    assert all(
        re.fullmatch(r"\d\d:00", tick.text) for tick in (*ticks, *in_utc)
    )  # round hours of the zone, half of one in UTC
    assert [tick.at for tick in ticks] != [tick.at for tick in in_utc]
    assert "v2 · 2 Nov" in [mark.text for mark in drawn.marks]
