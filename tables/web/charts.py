"""Drawings as coordinates: numbers in, positions for inline SVG out. Templates know classes and elements, this knows scales."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from console.templatetags.levee import number, size
from tables.history.growth import Point
from tables.history.operations import Destructive
from tables.history.queries import Day
from tables.history.reachability import Span

WIDTH = 884
LEFT = 56
TOP, BOTTOM = 24.0, 154.0


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the grid or a mark below the axis, with its text."""

    at: float
    text: str
    anchor: str = "end"


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar with the text above and below it. `quiet` ones are hatched as well as paler."""

    x: float
    y: float
    width: float
    height: float
    value: str
    label: str
    quiet: bool = False

    @property
    def middle(self) -> float:
        return round(self.x + self.width / 2, 1)

    @property
    def above(self) -> float:
        return round(self.y - 6, 1)

    @property
    def hatch(self) -> str:
        return hatch(self.x, self.y, self.width, self.height)


@dataclass(frozen=True, slots=True)
class Bars:
    bars: list[Bar]
    grid: list[Tick]


@dataclass(frozen=True, slots=True)
class Days:
    """Bars of days as one path, with the grid and the texts of the first day and the last."""

    path: str
    grid: list[Tick]
    first: Tick
    last: Tick


@dataclass(frozen=True, slots=True)
class Line:
    """A path with its grid. `parts` are drawn one by one: a gap lies where a value is unknown. `marks` are places with their texts."""

    parts: list[str]
    grid: list[Tick]
    below: list[Tick]
    reference: float | None = None
    reference_text: str = ""
    marks: Sequence[Tick] = ()


def hatch(x: float, y: float, width: float, height: float, step: int = 7) -> str:
    """Diagonal lines inside a rectangle, as a path."""
    parts = []
    offset = float(step)
    while offset < width + height:
        x1, y1 = (x + offset, y) if offset <= width else (x + width, y + offset - width)
        x2, y2 = (x, y + offset) if offset <= height else (x + offset - height, y + height)
        parts.append(f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}")
        offset += step
    return "".join(parts)


def nice_steps(top: float, count: int = 3, least: float = 0) -> list[float]:
    """Round values from 0 up to about `top`: 1, 2 or 5 times a power of ten apart, at least `least`."""
    if top <= 0:
        return [0.0]
    raw = max(top / count, least)
    power = 10 ** math.floor(math.log10(raw))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= raw)
    return [step * i for i in range(int(top / step) + 1)]


def byte_steps(top: float, count: int = 2) -> list[float]:
    """As nice_steps, in the binary unit that fits."""
    unit = 1024 ** min(6, int(math.log(top, 1024))) if top >= 1 else 1
    return [step * unit for step in nice_steps(top / unit, count)]


def histogram(rows: Sequence[dict[str, int | None]], small: int) -> Bars:
    """Files by size, one bar per class; classes below `small` bytes are quiet."""
    counts = [row["files"] or 0 for row in rows]
    steps = nice_steps(max(counts, default=0), least=1)
    scale = _scale(max(steps[-1], max(counts, default=0), 1))
    slot = (WIDTH - 44) / len(rows)
    bars = []
    for place, row in enumerate(rows):
        height = (row["files"] or 0) * scale
        quiet = row["to"] is not None and row["to"] <= small
        bars.append(
            Bar(
                round(50 + place * slot, 1),
                round(BOTTOM - height, 1),
                round(slot - 12, 1),
                round(height, 1),
                str(number(row["files"])),
                class_text(row, short=True),
                quiet,
            )
        )
    return Bars(bars, [Tick(round(BOTTOM - step * scale, 1), str(number(int(step)))) for step in steps])


def class_text(row: dict[str, int | None], *, short: bool = False) -> str:
    """A class of sizes in MiB: `< 1 MiB`, `8 – 32 MiB`, `≥ 1,024 MiB`."""
    low, high = (row["from"] or 0) // 2**20, row["to"]
    if low == 0 and high is not None:
        return f"< {high // 2**20} MiB"
    if high is None:
        return f"≥ {low:,}" if short else f"≥ {low:,} MiB"
    return f"{low:,} – {high // 2**20:,}" + ("" if short else " MiB")


def _scale(top: float) -> float:
    return (BOTTOM - TOP) / top


def skew(curve: Sequence[int], count: int, median: int | None) -> Line:
    """Partition sizes, largest first, on a logarithmic scale from a power of 16 below the smallest."""
    return _logarithmic(curve, count, median, 16, size)


def row_skew(curve: Sequence[int], count: int, median: int | None) -> Line:
    """Rows per partition, most first, on a logarithmic scale from a power of 10 below the fewest."""
    return _logarithmic(curve, count, median, 10, number)


def _logarithmic(
    curve: Sequence[int], count: int, median: int | None, base: int, text: Callable[[int], object]
) -> Line:
    known = [max(value, 1) for value in curve]
    low, high = (math.floor(math.log(min(known), base)), math.log(max(known), base)) if known else (0, 1)
    top = max(high, low + 1)

    def y(value: float) -> float:
        return round(BOTTOM - (math.log(max(value, 1), base) - low) / (top - low) * (BOTTOM - TOP), 1)

    step = (WIDTH - 64) / max(1, len(known) - 1)
    points = [f"{64 + place * step:.1f} {y(value)}" for place, value in enumerate(known)]
    grid = [Tick(y(base**power), str(text(base**power))) for power in range(low, math.floor(top) + 1)]
    below = [Tick(64.0, "1", ""), Tick(float(WIDTH), str(number(count)), "end")]
    parts = ["M" + "L".join(points)] if len(points) > 1 else []
    return Line(parts, grid, below, y(median) if median else None, f"median {text(median)}" if median else "")


def sizes_over_time(days: Sequence[Day], destructive: Sequence[Destructive] = ()) -> Line | None:
    """Bytes by day, with the destructive commits among them. None when fewer than two days are known."""
    known = [(day.at, day.size_bytes) for day in days if day.size_bytes is not None]
    top = max((value for _, value in known), default=0)
    return _over_time(known, byte_steps(top), size, destructive)


def rows_over_time(days: Sequence[Day]) -> Line | None:
    """Rows by day. None when fewer than two days are known."""
    known = [(day.at, day.num_records) for day in days if day.num_records is not None]
    return _over_time(known, nice_steps(max((value for _, value in known), default=0), 2, least=1), number)


def _over_time(
    known: Sequence[tuple[datetime, int]],
    steps: list[float],
    text: Callable[[int], object],
    destructive: Sequence[Destructive] = (),
) -> Line | None:
    """A value holds until the next commit changes it: the line is made of steps, never of slopes."""
    if len(known) < 2:
        return None
    start, end = known[0][0], known[-1][0]
    scale = _scale(max(steps[-1], max(value for _, value in known), 1))

    def x(at: datetime) -> float:
        return round(LEFT + (at - start) / (end - start) * (WIDTH - LEFT - 4), 1)

    points = [(x(at), round(BOTTOM - value * scale, 1)) for at, value in known]
    path = f"M{points[0][0]} {points[0][1]}" + "".join(f"H{right}V{y}" for right, y in points[1:])
    grid = [Tick(round(BOTTOM - step * scale, 1), str(text(int(step)))) for step in steps]
    below = [Tick(x(start), f"{start:%-d %b}", ""), Tick(x(end), f"{end:%-d %b}", "end")]
    marks = [Tick(x(day), _named(d)) for d in destructive if d.at and start <= (day := _day_of(d.at)) <= end]
    return Line([path], grid, below, marks=marks)


def sizes_over_versions(points: Sequence[Point]) -> Line | None:
    """Bytes by version. None when fewer than two are known."""
    known = [(point.version, point.size_bytes) for point in points if point.size_bytes is not None]
    return _over_versions(known, byte_steps(max((value for _, value in known), default=0)), size)


def rows_over_versions(points: Sequence[Point]) -> Line | None:
    """Rows by version. None when fewer than two are known."""
    known = [(point.version, point.num_records) for point in points if point.num_records is not None]
    return _over_versions(known, nice_steps(max((value for _, value in known), default=0), 2, least=1), number)


def _over_versions(known: Sequence[tuple[int, int]], steps: list[float], text: Callable[[int], object]) -> Line | None:
    """Steps, as over time: a version is what it is until the next one."""
    if len(known) < 2:
        return None
    start, end = known[0][0], known[-1][0]
    scale = _scale(max(steps[-1], max(value for _, value in known), 1))
    points = [
        (round(LEFT + (version - start) / (end - start) * (WIDTH - LEFT - 4), 1), round(BOTTOM - value * scale, 1))
        for version, value in known
    ]
    path = f"M{points[0][0]} {points[0][1]}" + "".join(f"H{right}V{y}" for right, y in points[1:])
    grid = [Tick(round(BOTTOM - step * scale, 1), str(text(int(step)))) for step in steps]
    return Line([path], grid, [Tick(points[0][0], f"v{start:,}", ""), Tick(points[-1][0], f"v{end:,}", "end")])


def _day_of(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def commits_by_day(days: Sequence[Day]) -> Days | None:
    """Commits of each day that had any, oldest first. None when fewer than two days are known."""
    if len(days) < 2:
        return None
    steps = nice_steps(max(day.commits for day in days), 2, least=1)
    scale = _scale(max(steps[-1], max(day.commits for day in days), 1))
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


STRIP_LEFT, STRIP_RIGHT = 150.0, 1226.0


@dataclass(frozen=True, slots=True)
class Box:
    """A part of a lane: `kind` is a class of box (known, log, works, gone)."""

    x: float
    y: float
    width: float
    kind: str

    @property
    def hatch(self) -> str:
        return hatch(self.x, self.y, self.width, 14)


@dataclass(frozen=True, slots=True)
class Diamond:
    """A destructive commit on its lane; hollow unless an approved job stands behind it."""

    x: float
    title: str
    is_hollow: bool

    @property
    def path(self) -> str:
        return f"M{self.x} {DIAMONDS - 6}l6 6-6 6-6-6z"


@dataclass(frozen=True, slots=True)
class Strip:
    """Which versions can be reached, and which took something away, from the oldest known to the newest.

    Lanes of boxes, `marks` where one span of versions begins, `diamonds` with `names` for as many as have room, `dates` on the axis: none
    where the times aren't known, and the versions lie at even distances instead.
    """

    boxes: list[Box]
    marks: list[Tick]
    diamonds: list[Diamond]
    names: list[Tick]
    dates: list[Tick]


DIAMONDS = 127.5  # the height of their lane
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


def _scale_of(spans: Sequence[Span]) -> Scale:
    first, last = spans[0], spans[-1]
    width = STRIP_RIGHT - NEWEST_WIDTH - STRIP_LEFT
    times = [at for span in spans for at in (span.first_at, span.last_at)]
    if all(times) and first.first_at and last.last_at and last.last_at > first.first_at:
        return Scale(first.first, first.first_at, width / (last.last_at - first.first_at).total_seconds())
    return Scale(first.first, None, width / max(1, last.last - first.first))


def strip(spans: Sequence[Span], destructive: Sequence[Destructive] = ()) -> Strip:
    """One box per span and lane: known to Levee, in the log, restorable, change feed; below them the destructive commits."""
    if not spans:
        return Strip([], [], [], [], [])
    scale = _scale_of(spans)
    lefts = [STRIP_LEFT, *(scale.x(span.first, span.first_at) for span in spans[1:])]
    boxes = [Box(STRIP_LEFT, 20, STRIP_RIGHT - STRIP_LEFT, "known")]
    for span, left, right in zip(spans, lefts, [*lefts[1:], STRIP_RIGHT], strict=True):
        width = round(right - left, 1)
        boxes.append(Box(left, 44, width, "log" if span.in_log else "gone"))
        boxes.append(Box(left, 68, width, "works" if span.restorable else "gone"))
        boxes.append(Box(left, 92, width, "works" if span.change_feed else "gone"))
    marks = [Tick(left, _begins(span), "") for span, left in zip(spans[1:], lefts[1:], strict=True)]
    places = _beside([scale.x(d.version, d.at) for d in destructive])
    diamonds = [Diamond(x, _named(d), not d.is_approved) for x, d in zip(places, destructive, strict=True)]
    names = _named_apart(diamonds, destructive)
    return Strip(boxes, _apart(marks, 110), diamonds, names, dates_on(scale, spans[-1].last_at))


def _begins(span: Span) -> str:
    return f"v{span.first:,}" + (f" · {span.first_at:%-d %b}" if span.first_at else "")


def _named(commit: Destructive) -> str:
    when = f", {commit.at:%Y-%m-%d %H:%M} UTC" if commit.at else ""
    return f"v{commit.version:,} {commit.operation}{when}" + ("" if commit.is_approved else ", no approved job")


APART, FARTHEST = 11.0, 33.0  # between two diamonds, and of one from its own place


def _beside(places: Sequence[float]) -> list[float]:
    """Places that would hide each other moved to the left, the newest first in line for its own."""
    moved: list[float] = []
    for place in reversed(places):
        free = moved[-1] - APART if moved else place
        moved.append(round(max(min(place, free), place - FARTHEST, STRIP_LEFT), 1))
    return moved[::-1]


LETTER = 6.0  # the width of one at most, on average


def _named_apart(diamonds: Sequence[Diamond], commits: Sequence[Destructive]) -> list[Tick]:
    """The names that have room, newest first in line for it; none reaches over the right end, nor into the next one."""
    names: list[Tick] = []
    free = STRIP_RIGHT + LETTER
    for diamond, commit in zip(reversed(diamonds), reversed(commits), strict=True):
        text = f"v{commit.version:,} {commit.operation}" + ("" if commit.is_approved else ", no approved job")
        width = len(text) * LETTER
        anchor = "end" if diamond.x + width / 2 > STRIP_RIGHT else "mid"
        right = diamond.x + (0 if anchor == "end" else width / 2)
        if right + LETTER <= free:
            names.append(Tick(diamond.x, text, anchor))
            free = right - width
    return names[::-1]


_STEPS = (60, 300, 900, 3_600, 10_800, 43_200, *(86_400 * days for days in (1, 2, 5, 10, 30, 90, 180, 365, 1_825)))


def dates_on(scale: Scale, end: datetime | None) -> list[Tick]:
    """Up to eight round times on the axis."""
    if scale.start is None or end is None:
        return []
    length = (end - scale.start).total_seconds()
    step = next((step for step in _STEPS if length / step <= 8), _STEPS[-1])
    first = math.ceil(scale.start.timestamp() / step) * step
    times = [datetime.fromtimestamp(first + n * step, UTC) for n in range(9)]
    shape = "%H:%M" if step < 86_400 else "%-d %b" if length < 300 * 86_400 else "%b %Y"
    return [Tick(scale.x(0, at), f"{at:{shape}}", "mid") for at in times if at <= end]


def _apart(marks: Sequence[Tick], distance: float = 60) -> list[Tick]:
    """The marks whose texts don't run into each other, nor into the newest version's at the right."""
    kept: list[Tick] = []
    for mark in marks:
        if mark.at < STRIP_RIGHT - 150 and (not kept or mark.at - kept[-1].at >= distance):
            kept.append(mark)
    return kept
