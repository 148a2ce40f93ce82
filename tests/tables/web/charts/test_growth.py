from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from tables.history import growth
from tables.history.operations import Destructive
from tables.history.queries import Day
from tables.web.charts.axes import LEFT, WIDTH
from tables.web.charts.growth import rows_over_time, rows_over_versions, sizes_over_time, sizes_over_versions

START = datetime(2026, 11, 1, tzinfo=UTC)


def days(*sizes: int | None) -> list[Day]:
    return [Day(START + timedelta(days=n), n + 1, value, value) for n, value in enumerate(sizes)]


def test_a_line_needs_two_known_days() -> None:
    assert sizes_over_time(days(None, 5)) is None
    assert rows_over_time([]) is None
    line = sizes_over_time(days(1024, None, 4096))
    assert line is not None
    assert line.parts[0].count("H") == line.parts[0].count("V") == 1
    assert "L" not in line.parts[0]
    assert [tick.text for tick in line.below] == ["1 Nov", "3 Nov"]


def test_a_size_holds_until_the_next_commit_and_destructive_commits_are_marked() -> None:
    gone = Destructive(3, START + timedelta(days=5, hours=7), "DELETE", True)
    before = Destructive(0, START - timedelta(days=5), "DELETE", True)
    known = [Day(START, 1, 4096, 1), Day(START + timedelta(days=10), 1, 1024, 1)]
    line = sizes_over_time(known, [before, gone])
    assert line is not None
    (path,) = line.parts
    left, up, right, down = [float(number) for number in re.findall(r"[\d.]+", path)]
    assert (left, right, up < down) == (LEFT, WIDTH - 4, True)
    assert [mark.text[:9] for mark in line.marks] == ["v3 DELETE"]
    assert line.marks[0].at == pytest.approx((left + right) / 2, abs=1)


def test_size_over_versions_leaves_out_what_the_log_doesnt_tell() -> None:
    points = [growth.GrowthPoint(0, 1, None, 5), growth.GrowthPoint(5, 5, 1024, 9), growth.GrowthPoint(9, 4, 4096, 9)]
    sizes, rows = sizes_over_versions(points), rows_over_versions(points)
    assert sizes is not None
    assert rows is not None
    assert [tick.text for tick in sizes.below] == ["v5", "v9"]
    assert [tick.text for tick in rows.below] == ["v0", "v9"]
    assert sizes_over_versions(points[:2]) is None
