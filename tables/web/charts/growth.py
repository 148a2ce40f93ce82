"""Bytes and rows of a table, by time and by version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from console.templatetags.levee import number, size
from tables.history.growth import GrowthPoint
from tables.history.operations import Destructive
from tables.history.queries import Day
from tables.web.charts.axes import BOTTOM, LEFT, WIDTH, ChartLine, Tick, byte_steps, nice_steps, unit_height
from tables.web.charts.commits import title_of


def sizes_over_time(days: Sequence[Day], destructive: Sequence[Destructive] = ()) -> ChartLine | None:
    """Bytes by day, with the destructive commits among them. None when fewer than two days are known."""
    known = [(day.at, day.size_bytes) for day in days if day.size_bytes is not None]
    top = max((value for _, value in known), default=0)
    return _over_time(known, byte_steps(top), size, destructive)


def rows_over_time(days: Sequence[Day]) -> ChartLine | None:
    """Rows by day. None when fewer than two days are known."""
    known = [(day.at, day.num_records) for day in days if day.num_records is not None]
    return _over_time(known, nice_steps(max((value for _, value in known), default=0), 2, least=1), number)


def _over_time(
    known: Sequence[tuple[datetime, int]],
    steps: list[float],
    text: Callable[[int], object],
    destructive: Sequence[Destructive] = (),
) -> ChartLine | None:
    """A value holds until the next commit changes it: the line is made of steps, never of slopes."""
    if len(known) < 2:
        return None
    start, end = known[0][0], known[-1][0]
    scale = unit_height(max(steps[-1], max(value for _, value in known), 1))

    def x(at: datetime) -> float:
        return round(LEFT + (at - start) / (end - start) * (WIDTH - LEFT - 4), 1)

    points = [(x(at), round(BOTTOM - value * scale, 1)) for at, value in known]
    path = f"M{points[0][0]} {points[0][1]}" + "".join(f"H{right}V{y}" for right, y in points[1:])
    grid = [Tick(round(BOTTOM - step * scale, 1), str(text(int(step)))) for step in steps]
    below = [Tick(x(start), f"{start:%-d %b}", ""), Tick(x(end), f"{end:%-d %b}", "end")]
    marks = [Tick(x(day), title_of(d)) for d in destructive if d.at and start <= (day := _day_of(d.at)) <= end]
    return ChartLine([path], grid, below, marks=marks)


def sizes_over_versions(points: Sequence[GrowthPoint]) -> ChartLine | None:
    """Bytes by version. None when fewer than two are known."""
    known = [(point.version, point.size_bytes) for point in points if point.size_bytes is not None]
    return _over_versions(known, byte_steps(max((value for _, value in known), default=0)), size)


def rows_over_versions(points: Sequence[GrowthPoint]) -> ChartLine | None:
    """Rows by version. None when fewer than two are known."""
    known = [(point.version, point.num_records) for point in points if point.num_records is not None]
    return _over_versions(known, nice_steps(max((value for _, value in known), default=0), 2, least=1), number)


def _over_versions(
    known: Sequence[tuple[int, int]], steps: list[float], text: Callable[[int], object]
) -> ChartLine | None:
    """Steps, as over time: a version is what it is until the next one."""
    if len(known) < 2:
        return None
    start, end = known[0][0], known[-1][0]
    scale = unit_height(max(steps[-1], max(value for _, value in known), 1))
    points = [
        (round(LEFT + (version - start) / (end - start) * (WIDTH - LEFT - 4), 1), round(BOTTOM - value * scale, 1))
        for version, value in known
    ]
    path = f"M{points[0][0]} {points[0][1]}" + "".join(f"H{right}V{y}" for right, y in points[1:])
    grid = [Tick(round(BOTTOM - step * scale, 1), str(text(int(step)))) for step in steps]
    return ChartLine([path], grid, [Tick(points[0][0], f"v{start:,}", ""), Tick(points[-1][0], f"v{end:,}", "end")])


def _day_of(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
