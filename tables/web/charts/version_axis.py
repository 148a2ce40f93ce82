"""Where versions lie on an axis that all of a table's versions share: by their times, else by their numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from console.base import zones
from tables.history.reachability import Span
from tables.web.charts.axes import Tick

STRIP_LEFT, STRIP_RIGHT = 150.0, 1226.0
NEWEST_WIDTH = 12.0  # of the newest version, which lasts until now


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a version lies: by its time from `start` on, else by its number from `first` on."""

    first: int
    start: datetime | None
    per_unit: float

    def x(self, version: int, at: datetime | None) -> float:
        unit = (at - self.start).total_seconds() if at and self.start else version - self.first
        return round(min(max(STRIP_LEFT + unit * self.per_unit, STRIP_LEFT), STRIP_RIGHT - NEWEST_WIDTH), 1)


def scale_of(spans: Sequence[Span]) -> Scale:
    """From the first version of the spans to the last; `spans` aren't empty."""
    first, last = spans[0], spans[-1]
    width = STRIP_RIGHT - NEWEST_WIDTH - STRIP_LEFT
    times = [at for span in spans for at in (span.first_at, span.last_at)]
    if all(times) and first.first_at and last.last_at and last.last_at > first.first_at:
        return Scale(first.first, first.first_at, width / (last.last_at - first.first_at).total_seconds())
    return Scale(first.first, None, width / max(1, last.last - first.first))


_STEPS = (60, 300, 900, 3_600, 10_800, 43_200, *(86_400 * days for days in (1, 2, 5, 10, 30, 90, 180, 365, 1_825)))

# A log may name the end of the calendar: no date is drawn in its last two days.
_LAST_DATED = datetime(9999, 12, 30, tzinfo=UTC).timestamp()


def dates_on(scale: Scale, end: datetime | None) -> list[Tick]:
    """Up to eight round times on the axis, in the zone in which times are shown."""
    if scale.start is None or end is None:
        return []
    length = (end - scale.start).total_seconds()
    step = next((step for step in _STEPS if length / step <= 8), _STEPS[-1])
    ahead = (zones.local(scale.start).utcoffset() or timedelta(0)).total_seconds()
    first = math.ceil((scale.start.timestamp() + ahead) / step) * step - ahead
    last = min(end.timestamp(), _LAST_DATED)
    times = [_on_the_clock(at, ahead, step) for n in range(9) if (at := first + n * step) < last]
    shape = "%H:%M" if step < 86_400 else "%-d %b" if length < 300 * 86_400 else "%b %Y"
    return [Tick(scale.x(0, at), f"{at:{shape}}", "mid") for at in times if at <= end]


def _on_the_clock(at: float, ahead: float, step: int) -> datetime:
    """The time in the zone; of steps of days the midnight there, which lies elsewhere once clocks were set."""
    there = zones.local(datetime.fromtimestamp(at, UTC))
    if step < 86_400:
        return there
    return zones.local(there.astimezone(UTC) + timedelta(seconds=ahead) - (there.utcoffset() or timedelta(0)))
