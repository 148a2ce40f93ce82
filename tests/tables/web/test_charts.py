from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime, timedelta

import pytest

from tables.history import growth
from tables.history.operations import Destructive
from tables.history.queries import Day
from tables.history.reachability import Span
from tables.web import charts

START = datetime(2026, 11, 1, tzinfo=UTC)


def days(*sizes: int | None) -> list[Day]:
    return [Day(START + timedelta(days=n), n + 1, value, value) for n, value in enumerate(sizes)]


@pytest.mark.parametrize(("top", "steps"), [(0, [0]), (10, [0, 5, 10]), (3544, [0, 2000]), (1, [0, 0.5, 1])])
def test_steps_are_round_and_end_below_the_top(top: float, steps: list[float]) -> None:
    assert charts.nice_steps(top) == steps


def test_counts_have_no_half_steps() -> None:
    assert charts.nice_steps(1, 2, least=1) == [0, 1]
    assert charts.nice_steps(3, 3, least=1) == [0, 1, 2, 3]


def test_a_histogram_has_a_bar_per_class_and_hatches_small_files() -> None:
    rows: list[dict[str, int | None]] = [
        {"from": 0, "to": 2**20, "files": 5, "bytes": 1},
        {"from": 2**20, "to": 2**25, "files": 10, "bytes": 1},
        {"from": 2**25, "to": None, "files": 0, "bytes": 0},
    ]
    found = charts.histogram(rows, small=2**25)
    assert [bar.quiet for bar in found.bars] == [True, True, False]
    assert [bar.label for bar in found.bars] == ["< 1 MiB", "1 – 32", "≥ 32"]
    assert found.bars[1].height == 2 * found.bars[0].height
    assert found.bars[2].height == 0
    assert all(bar.y + bar.height == pytest.approx(charts.BOTTOM) for bar in found.bars)


def test_a_line_needs_two_known_days() -> None:
    assert charts.sizes_over_time(days(None, 5)) is None
    assert charts.rows_over_time([]) is None
    line = charts.sizes_over_time(days(1024, None, 4096))
    assert line is not None
    assert line.parts[0].count("H") == line.parts[0].count("V") == 1
    assert "L" not in line.parts[0]
    assert [tick.text for tick in line.below] == ["1 Nov", "3 Nov"]


def test_a_size_holds_until_the_next_commit_and_destructive_commits_are_marked() -> None:
    gone = Destructive(3, START + timedelta(days=5, hours=7), "DELETE", True)
    before = Destructive(0, START - timedelta(days=5), "DELETE", True)
    known = [Day(START, 1, 4096, 1), Day(START + timedelta(days=10), 1, 1024, 1)]
    line = charts.sizes_over_time(known, [before, gone])
    assert line is not None
    (path,) = line.parts
    left, up, right, down = [float(number) for number in re.findall(r"[\d.]+", path)]
    assert (left, right, up < down) == (charts.LEFT, charts.WIDTH - 4, True)
    assert [mark.text[:9] for mark in line.marks] == ["v3 DELETE"]
    assert line.marks[0].at == pytest.approx((left + right) / 2, abs=1)


def test_commits_by_day_leave_room_for_days_without() -> None:
    gap = [days(1)[0], Day(START + timedelta(days=9), 4, 1, 1)]
    found = charts.commits_by_day(gap)
    assert found is not None
    (first, _, width), (second, height, _) = re.findall(r"M([\d.]+) [\d.]+v-([\d.]+)h([\d.]+)", found.path)
    assert float(second) - float(first) > 8 * float(width)
    assert (found.first.text, found.last.text) == ("1 Nov", "10 Nov")
    assert float(height) > 100
    assert charts.commits_by_day(days(1)) is None


def test_skew_of_equal_or_empty_partitions_is_drawable() -> None:
    for curve in ([5, 5], [0, 0], [10**12, 1], [7]):
        line = charts.skew(curve, len(curve), 5)
        assert all(charts.TOP - 1 <= tick.at <= charts.BOTTOM for tick in line.grid)


def test_the_strip_covers_every_version_once_per_lane() -> None:
    spans = [
        Span(0, 9, START, START, False, False, False, "gone"),
        Span(10, 99, START, START, True, True, False, None),
    ]
    found = charts.strip(spans)
    lanes = {y: sum(box.width for box in found.boxes if box.y == y) for y in (20, 44, 68, 92)}
    assert all(width == pytest.approx(charts.STRIP_RIGHT - charts.STRIP_LEFT, abs=1) for width in lanes.values())
    assert [mark.text for mark in found.marks] == ["v10 · 1 Nov"]
    assert charts.strip([]).boxes == []


def at_day(day: float) -> datetime:
    return START + timedelta(days=day)


def reach_of(name: charts.Tick) -> tuple[float, float]:
    """From where to where a name is written, at 6 a letter."""
    width = len(name.text) * 6
    left = name.at - (width if name.anchor == "end" else width / 2)
    return left, left + width


@pytest.mark.parametrize("apart", [0.2, 1.0, 2.0, 4.0, 7.0])
def test_no_name_of_a_destructive_commit_runs_into_another(apart: float) -> None:
    spans = [Span(0, 200, START, at_day(30), True, True, False, None)]
    days = [30 - apart * place for place in range(int(30 / apart))][:40][::-1]
    commits = [
        Destructive(1_000 + place, at_day(day), "REPLACE TABLE AS SELECT", place % 2 == 0)
        for place, day in enumerate(days)
    ]
    names = charts.strip(spans, commits).names
    assert names
    for older, newer in itertools.pairwise(names):
        assert reach_of(older)[1] < reach_of(newer)[0]
    assert reach_of(names[-1])[1] <= charts.STRIP_RIGHT


def test_the_strip_lies_by_time_with_round_dates_and_a_diamond_per_destructive_commit() -> None:
    spans = [
        Span(0, 99, START, at_day(15), True, False, False, "gone"),
        Span(100, 109, at_day(15), at_day(30), True, True, False, None),
    ]
    commits = [Destructive(7, at_day(1), "DELETE", True), Destructive(109, at_day(30), "RESTORE", False)]
    found = charts.strip(spans, commits)
    middle = (charts.STRIP_LEFT + charts.STRIP_RIGHT) / 2
    assert found.boxes[-1].x == pytest.approx(middle, abs=charts.NEWEST_WIDTH)
    assert [diamond.is_hollow for diamond in found.diamonds] == [False, True]
    assert found.diamonds[1].title == "v109 RESTORE, 2026-12-01 00:00 UTC, no approved job"
    assert [name.text for name in found.names] == ["v7 DELETE", "v109 RESTORE, no approved job"]
    assert 4 <= len(found.dates) <= 8
    assert found.dates[0].text.endswith("Nov")
    assert all(charts.STRIP_LEFT <= date.at <= charts.STRIP_RIGHT for date in found.dates)


def test_the_strip_without_times_lies_by_version() -> None:
    spans = [Span(0, 49, None, None, False, False, False, "gone"), Span(50, 99, START, START, True, True, False, None)]
    found = charts.strip(spans, [Destructive(25, None, "DELETE", False)])
    assert found.dates == []
    assert charts.STRIP_LEFT < found.diamonds[0].x < found.boxes[-1].x


def test_names_that_would_run_into_each_other_are_left_to_the_data_table() -> None:
    spans = [Span(0, 999, START, at_day(100), True, True, False, None)]
    commits = [Destructive(n, at_day(n / 10), "DELETE", True) for n in range(200)]
    found = charts.strip(spans, commits)
    assert len(found.diamonds) == 200
    reaches = [reach_of(name) for name in found.names]
    assert 4 <= len(reaches) <= 20
    assert all(older[1] < newer[0] for older, newer in itertools.pairwise(reaches))


def test_two_commits_of_one_hour_do_not_hide_each_other() -> None:
    spans = [Span(0, 99, START, at_day(90), True, True, False, None)]
    commits = [Destructive(97 + n, at_day(90), "DELETE", n != 1) for n in range(3)]
    places = [diamond.x for diamond in charts.strip(spans, commits).diamonds]
    assert [b - a for a, b in itertools.pairwise(places)] == [11, 11]
    many = [Destructive(n, at_day(90), "DELETE", True) for n in range(50)]
    places = [diamond.x for diamond in charts.strip(spans, many).diamonds]
    assert max(places) - min(places) == 33


@pytest.mark.parametrize("seconds", [1, 90, 4000, 86_400, 40 * 86_400, 900 * 86_400, 20_000 * 86_400])
def test_an_axis_of_any_length_has_a_few_dates(seconds: int) -> None:
    spans = [Span(0, 9, START, START + timedelta(seconds=seconds), True, True, False, None)]
    assert len(charts.strip(spans).dates) <= 9


def test_hatching_stays_inside_its_box() -> None:
    path = charts.hatch(10, 20, 30, 14)
    points = [tuple(map(float, point.split())) for part in path.split("M")[1:] for point in part.split("L")]
    assert all(9.9 <= x <= 40.1 and 19.9 <= y <= 34.1 for x, y in points)


def test_equal_commits_have_a_picture_of_when() -> None:
    times: list[datetime | None] = [*[at_day(0)] * 4, at_day(9.9), at_day(10)]
    path = charts.spark(times)
    bars = re.findall(r"M([\d.]+) 20v-([\d.]+)h", path)
    assert [float(height) for _, height in bars] == [20, 10]  # four, then two
    assert (float(bars[0][0]), float(bars[1][0])) == (0, charts.SPARK_WIDTH - 4)
    assert charts.spark([at_day(1)] * 5) == charts.spark([]) == charts.spark([at_day(1), None, at_day(2)]) == ""


def test_size_over_versions_leaves_out_what_the_log_doesnt_tell() -> None:
    points = [growth.Point(0, 1, None, 5), growth.Point(5, 5, 1024, 9), growth.Point(9, 4, 4096, 9)]
    sizes, rows = charts.sizes_over_versions(points), charts.rows_over_versions(points)
    assert sizes is not None
    assert rows is not None
    assert [tick.text for tick in sizes.below] == ["v5", "v9"]
    assert [tick.text for tick in rows.below] == ["v0", "v9"]
    assert charts.sizes_over_versions(points[:2]) is None
