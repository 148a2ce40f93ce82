from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from tables.history.queries import Day
from tables.web.charts.commits import SPARK_WIDTH, commits_by_day, spark

START = datetime(2026, 11, 1, tzinfo=UTC)


def at_day(day: float) -> datetime:
    return START + timedelta(days=day)


def test_commits_by_day_leave_room_for_days_without() -> None:
    first_day = Day(START, 1, 1, 1)
    found = commits_by_day([first_day, Day(START + timedelta(days=9), 4, 1, 1)])
    assert found is not None
    (first, _, width), (second, height, _) = re.findall(r"M([\d.]+) [\d.]+v-([\d.]+)h([\d.]+)", found.path)
    assert float(second) - float(first) > 8 * float(width)
    assert (found.first.text, found.last.text) == ("1 Nov", "10 Nov")
    assert float(height) > 100
    assert commits_by_day([first_day]) is None


def test_equal_commits_have_a_picture_of_when() -> None:
    times: list[datetime | None] = [*[at_day(0)] * 4, at_day(9.9), at_day(10)]
    path = spark(times)
    bars = re.findall(r"M([\d.]+) 20v-([\d.]+)h", path)
    assert [float(height) for _, height in bars] == [20, 10]  # four, then two
    assert (float(bars[0][0]), float(bars[1][0])) == (0, SPARK_WIDTH - 4)
    assert spark([at_day(1)] * 5) == spark([]) == spark([at_day(1), None, at_day(2)]) == ""
