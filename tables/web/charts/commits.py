"""When a table was committed to, and what a commit that took something away is called in a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from console.base import zones
from console.templatetags.levee import number
from tables.history.operations import UNNAMED, Destructive
from tables.history.queries import Day
from tables.web.charts.axes import BOTTOM, LEFT, WIDTH, Tick, nice_steps, unit_height


@dataclass(frozen=True, slots=True)
class Days:
    """Bars of days as one path, with the grid and the texts of the first day and the last."""

    path: str
    grid: list[Tick]
    first: Tick
    last: Tick


def commits_by_day(days: Sequence[Day]) -> Days | None:
    """Commits of each day that had any, oldest first. None when fewer than two days are known."""
    if len(days) < 2:
        return None
    steps = nice_steps(max(day.commits for day in days), 2, least=1)
    scale = unit_height(max(steps[-1], max(day.commits for day in days), 1))
    start, whole = days[0].at, (days[-1].at - days[0].at).days + 1
    slot = (WIDTH - LEFT) / whole
    width = max(1.0, round(slot * 0.8, 1))
    places = [round(LEFT + (day.at - start).days * slot, 1) for day in days]
    heights = [round(day.commits * scale, 1) for day in days]
    bars = [f"M{x} {BOTTOM}v{-height}h{width}v{height}z" for x, height in zip(places, heights, strict=True)]
    grid = [Tick(round(BOTTOM - step * scale, 1), str(number(int(step)))) for step in steps]
    first, last = Tick(places[0], f"{start:%-d %b}"), Tick(WIDTH, f"{days[-1].at:%-d %b}", "end")
    return Days("".join(bars), grid, first, last)


SPARK_WIDTH, SPARK_HEIGHT, SPARK_BINS = 104, 20, 26


def spark(times: Sequence[datetime | None]) -> str:
    """When things happened, from the first to the last, as a path of bars: equal parts of the time, each as high as it has of them.

    Empty where the times aren't known or are all the same.
    """
    known = sorted(at for at in times if at is not None)
    if len(known) < len(times) or not known or known[0] == known[-1]:
        return ""
    counts = [0] * SPARK_BINS
    for at in known:
        counts[min(SPARK_BINS - 1, int((at - known[0]) / (known[-1] - known[0]) * SPARK_BINS))] += 1
    slot, top = SPARK_WIDTH / SPARK_BINS, max(counts)
    heights = [(place, max(2.0, round(count / top * SPARK_HEIGHT, 1))) for place, count in enumerate(counts) if count]
    return "".join(
        f"M{place * slot:g} {SPARK_HEIGHT}v{-height:g}h{slot - 1:g}v{height:g}z" for place, height in heights
    )


def title_of(commit: Destructive) -> str:
    """Version, operation and time of a destructive commit, and whether an approved job stands behind it."""
    when = f", {zones.in_full(commit.at)}" if commit.at else ""
    return f"v{commit.version:,} {commit.operation or UNNAMED}{when}" + (
        "" if commit.is_approved else ", no approved job"
    )
