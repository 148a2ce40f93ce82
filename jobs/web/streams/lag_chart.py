"""A stream's lag over time as a line of steps, and the same by the hour as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from console.base import zones
from console.templatetags.levee import number
from jobs.models import Stream, StreamLag
from tables.web.charts.axes import BOTTOM, LEFT, WIDTH, ChartLine, Tick, nice_steps, unit_height

SPAN = timedelta(hours=24)
LEAST_HOLD = timedelta(minutes=15)  # a value holds until the next measure; without one for longer there is a gap
Measure = tuple[datetime, int | None, bool]


@dataclass(frozen=True, slots=True)
class Hour:
    """The most that waited in an hour, None if nothing could be told in it."""

    at: datetime
    most: int | None
    exact: bool


@dataclass(frozen=True, slots=True)
class LagDrawing:
    """The line with its label, and its hours, the newest first."""

    line: ChartLine
    label: str
    unit: str
    hours: list[Hour]


def lag_drawing(stream: Stream) -> LagDrawing | None:
    """None before two measures of the last day are known."""
    since = timezone.now() - SPAN
    rows = StreamLag.objects.filter(stream=stream, at__gte=since).order_by("at")
    measures: list[Measure] = list(rows.values_list("at", "waiting", "exact"))
    known = [waiting for _, waiting, _ in measures if waiting is not None]
    if len(known) < 2:
        return None
    unit = "version" if stream.source_table_id else "file"
    return LagDrawing(_line(measures, known, _hold(stream)), _label(measures, known, unit), unit, _hours(measures))


def _hold(stream: Stream) -> timedelta:
    return max(LEAST_HOLD, 2 * timedelta(seconds=stream.interval_seconds or 0))


def _line(measures: Sequence[Measure], known: Sequence[int], hold: timedelta) -> ChartLine:
    start, end = measures[0][0], measures[-1][0]
    top = max(known)
    steps = nice_steps(top, 2, least=1) if top else [0.0]
    scale = unit_height(max(steps[-1], top, 1))
    span = max(end - start, timedelta(minutes=1))

    def x(at: datetime) -> float:
        return round(LEFT + (at - start) / span * (WIDTH - LEFT - 4), 1)

    grid = [Tick(round(BOTTOM - step * scale, 1), str(number(int(step)))) for step in steps]
    below = [Tick(x(start), _clock(start), ""), Tick(x(end), _clock(end), "end")]
    pieces = _pieces(measures, hold)
    return ChartLine(
        [_path([(x(at), round(BOTTOM - y * scale, 1)) for at, y in piece]) for piece in pieces], grid, below
    )


def _clock(at: datetime) -> str:
    return f"{zones.local(at):%-d %b %H:%M}"


def _pieces(measures: Iterable[Measure], hold: timedelta) -> list[list[tuple[datetime, int]]]:
    """The known measures in pieces without a gap."""
    pieces: list[list[tuple[datetime, int]]] = []
    before: datetime | None = None
    for at, waiting, _ in measures:
        if waiting is None:
            before = None
            continue
        if before is None or at - before > hold:
            pieces.append([])
        pieces[-1].append((at, waiting))
        before = at
    return pieces


def _path(points: Sequence[tuple[float, float]]) -> str:
    """Steps, never slopes; a measure alone is a short dash."""
    (left, top), *others = points
    return f"M{left} {top}" + ("".join(f"H{x}V{y}" for x, y in others) or "h2")


def _label(measures: Sequence[Measure], known: Sequence[int], unit: str) -> str:
    hours = max(1, round((measures[-1][0] - measures[0][0]) / timedelta(hours=1)))
    most = max(known)
    text = (
        f"{unit.capitalize()}s that waited over the last {'hour' if hours == 1 else f'{hours} hours'}: {most:,} at most"
    )
    return text if len(known) == len(measures) else f"{text}; unknown where the line has a gap"


def _hours(measures: Iterable[Measure]) -> list[Hour]:
    by_hour: dict[datetime, list[Measure]] = {}
    for measure in measures:
        by_hour.setdefault(measure[0].replace(minute=0), []).append(measure)
    return [_hour(at, inside) for at, inside in sorted(by_hour.items(), reverse=True)]


def _hour(at: datetime, inside: Sequence[Measure]) -> Hour:
    known = [(waiting, exact) for _, waiting, exact in inside if waiting is not None]
    most, exact = max(known, default=(None, True))
    return Hour(at, most, exact)
