from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from tables.history.operations import Destructive
from tables.history.reachability import Span
from tables.web.charts.axes import Tick
from tables.web.charts.strip import strip
from tables.web.charts.version_axis import NEWEST_WIDTH, STRIP_LEFT, STRIP_RIGHT

START = datetime(2026, 11, 1, tzinfo=UTC)


def at_day(day: float) -> datetime:
    return START + timedelta(days=day)


def reach_of(name: Tick) -> tuple[float, float]:
    """From where to where a name is written, at 6 a letter."""
    width = len(name.text) * 6
    left = name.at - (width if name.anchor == "end" else width / 2)
    return left, left + width


def test_the_strip_covers_every_version_once_per_lane() -> None:
    spans = [
        Span(0, 9, START, START, False, False, False, "gone"),
        Span(10, 99, START, START, True, True, False, None),
    ]
    found = strip(spans)
    lanes = {y: sum(box.width for box in found.boxes if box.y == y) for y in (20, 44, 68, 92)}
    assert all(width == pytest.approx(STRIP_RIGHT - STRIP_LEFT, abs=1) for width in lanes.values())
    assert [mark.text for mark in found.marks] == ["v10 · 1 Nov"]
    assert strip([]).boxes == []


def test_no_box_is_narrower_than_nothing_where_times_go_back() -> None:
    """The first commits by their files' times, which are those of a copy, the later ones by their own, which are older."""
    times = [(0, 20), (20, 21), (3, 3), (24, 30)]
    spans = [
        Span(n * 10, n * 10 + 9, at_day(first), at_day(last), True, n % 2 == 0, False, None)
        for n, (first, last) in enumerate(times)
    ]
    found = strip(spans)
    assert min(box.width for box in found.boxes) >= 0
    assert all(
        sum(box.width for box in found.boxes if box.y == y) == pytest.approx(STRIP_RIGHT - STRIP_LEFT, abs=1)
        for y in (44, 68, 92)
    )


@pytest.mark.parametrize("apart", [0.2, 1.0, 2.0, 4.0, 7.0])
def test_no_name_of_a_destructive_commit_runs_into_another(apart: float) -> None:
    spans = [Span(0, 200, START, at_day(30), True, True, False, None)]
    days = [30 - apart * place for place in range(int(30 / apart))][:40][::-1]
    commits = [
        Destructive(1_000 + place, at_day(day), "REPLACE TABLE AS SELECT", place % 2 == 0)
        for place, day in enumerate(days)
    ]
    names = strip(spans, commits).names
    assert names
    for older, newer in itertools.pairwise(names):
        assert reach_of(older)[1] < reach_of(newer)[0]
    assert reach_of(names[-1])[1] <= STRIP_RIGHT


def test_the_strip_lies_by_time_with_round_dates_and_a_diamond_per_destructive_commit() -> None:
    spans = [
        Span(0, 99, START, at_day(15), True, False, False, "gone"),
        Span(100, 109, at_day(15), at_day(30), True, True, False, None),
    ]
    commits = [Destructive(7, at_day(1), "DELETE", True), Destructive(109, at_day(30), "RESTORE", False)]
    found = strip(spans, commits)
    middle = (STRIP_LEFT + STRIP_RIGHT) / 2
    assert found.boxes[-1].x == pytest.approx(middle, abs=NEWEST_WIDTH)
    assert [diamond.is_hollow for diamond in found.diamonds] == [False, True]
    assert found.diamonds[1].title == "v109 RESTORE, 2026-12-01 00:00:00 UTC, no approved job"
    assert [name.text for name in found.names] == ["v7 DELETE", "v109 RESTORE, no approved job"]
    assert 4 <= len(found.dates) <= 8
    assert found.dates[0].text.endswith("Nov")
    assert all(STRIP_LEFT <= date.at <= STRIP_RIGHT for date in found.dates)


def test_the_strip_without_times_lies_by_version() -> None:
    spans = [Span(0, 49, None, None, False, False, False, "gone"), Span(50, 99, START, START, True, True, False, None)]
    found = strip(spans, [Destructive(25, None, "DELETE", False)])
    assert found.dates == []
    assert STRIP_LEFT < found.diamonds[0].x < found.boxes[-1].x


def test_names_that_would_run_into_each_other_are_left_to_the_data_table() -> None:
    spans = [Span(0, 999, START, at_day(100), True, True, False, None)]
    commits = [Destructive(n, at_day(n / 10), "DELETE", True) for n in range(200)]
    found = strip(spans, commits)
    assert len(found.diamonds) == 200
    reaches = [reach_of(name) for name in found.names]
    assert 4 <= len(reaches) <= 20
    assert all(older[1] < newer[0] for older, newer in itertools.pairwise(reaches))


def test_two_commits_of_one_hour_do_not_hide_each_other() -> None:
    spans = [Span(0, 99, START, at_day(90), True, True, False, None)]
    commits = [Destructive(97 + n, at_day(90), "DELETE", n != 1) for n in range(3)]
    places = [diamond.x for diamond in strip(spans, commits).diamonds]
    assert [b - a for a, b in itertools.pairwise(places)] == [11, 11]
    many = [Destructive(n, at_day(90), "DELETE", True) for n in range(50)]
    places = [diamond.x for diamond in strip(spans, many).diamonds]
    assert max(places) - min(places) == 33
