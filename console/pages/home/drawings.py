"""Home's drawings as coordinates: the days of a lake by kind of commit, what came in and went out, the sizes of its largest tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from console.base.text.counted import counted
from console.templatetags.levee import number, size
from tables.catalog.lately.days import LakeDay
from tables.rules.commit_kinds import TEXTS, CommitKind
from tables.web.charts.axes import BOTTOM, LEFT, TOP, Tick, byte_steps, nice_steps
from tables.web.charts.hatching import hatch

# From the axis up: what takes away lies at the bottom, where days compare best. Each has a class of its own, and `change` a hatch.
STACK = (CommitKind.REMOVAL, CommitKind.CHANGE, CommitKind.APPEND, CommitKind.UPKEEP, CommitKind.OTHER)
LABELLED = 6  # every so many days one has its date below
WHOLE, HALF = 1232, 600  # widths of a drawing over the page, and of one of two


@dataclass(frozen=True, slots=True)
class BarPath:
    """All bars of one kind as one path."""

    kind: str
    text: str
    path: str
    hatch: str = ""


@dataclass(frozen=True, slots=True)
class Slot:
    """A day's place over the whole height, with its words; a link where there is a commit, as in the table."""

    x: float
    width: float
    day: date
    text: str
    leads: bool


@dataclass(frozen=True, slots=True)
class DayColumns:
    """A drawing with a slot for each day."""

    parts: list[BarPath]
    grid: list[Tick]
    below: list[Tick]
    slots: list[Slot]
    width: int = WHOLE
    axis: float = BOTTOM


def commits_by_kind(days: Sequence[LakeDay]) -> DayColumns:
    """Stacked bars of each day's commits."""
    top = max((day.commits for day in days), default=0)
    steps = nice_steps(top, 2, least=1)
    scale = (BOTTOM - TOP) / max(steps[-1], top, 1)
    slots = _slots(days, WHOLE, lambda day: counted(day.commits, "commit"))
    heaps, hatches = dict.fromkeys(STACK, ""), ""
    for day, slot in zip(days, slots, strict=True):
        y = BOTTOM
        for kind in STACK:
            if not (height := round(day.of(kind) * scale, 1)):
                continue
            y = round(y - height, 1)
            heaps[kind] += _bar(slot, y, height)
            if kind is CommitKind.CHANGE:
                hatches += hatch(slot.x + 2, y, slot.width - 4, height)
    parts = [BarPath(k.value, TEXTS[k], heaps[k], hatches if k is CommitKind.CHANGE else "") for k in STACK if heaps[k]]
    grid = [Tick(round(BOTTOM - step * scale, 1), str(number(int(step)))) for step in steps]
    return DayColumns(parts, grid, _below(slots), slots)


def rows_in_and_out(days: Sequence[LakeDay]) -> DayColumns:
    """Rows gained above the axis, rows lost below it."""
    return _in_and_out(days, [(day.rows_in, day.rows_out) for day in days], lambda top: nice_steps(top, 3, 1), number)


def bytes_in_and_out(days: Sequence[LakeDay]) -> DayColumns:
    """The same of bytes."""
    return _in_and_out(days, [(day.bytes_in, day.bytes_out) for day in days], byte_steps, size)


def _in_and_out(
    days: Sequence[LakeDay],
    values: Sequence[tuple[int, int]],
    steps_of: Callable[[float], list[float]],
    text: Callable[[int], object],
) -> DayColumns:
    up, down = max((a for a, _ in values), default=0), max((b for _, b in values), default=0)
    steps = steps_of(max(up, down))
    scale = (BOTTOM - TOP) / max(up + down, 1)
    axis = round(TOP + up * scale, 1) if up or down else BOTTOM
    words = {day.day: f"{text(a)} in, {text(b)} out" for day, (a, b) in zip(days, values, strict=True)}
    slots = _slots(days, HALF, lambda day: words[day.day])
    gains, losses = "", ""
    for slot, (a, b) in zip(slots, values, strict=True):
        if a:
            height = max(round(a * scale, 1), 0.5)
            gains += _bar(slot, round(axis - height, 1), height)
        if b:
            losses += _bar(slot, axis, max(round(b * scale, 1), 0.5))
    grid = [Tick(axis, "0")]
    grid += [Tick(y, str(text(int(step)))) for step in steps[1:] if (y := round(axis - step * scale, 1)) >= TOP - 8]
    grid += [
        Tick(y, f"−{text(int(step))}") for step in steps[1:] if down and (y := round(axis + step * scale, 1)) <= BOTTOM
    ]
    parts = [BarPath("pos", "In", gains), BarPath("neg", "Out", losses)]
    return DayColumns([part for part in parts if part.path], grid, _below(slots), slots, HALF, axis)


def _slots(days: Sequence[LakeDay], whole: int, text: Callable[[LakeDay], str]) -> list[Slot]:
    width = (whole - LEFT) / max(1, len(days))
    return [
        Slot(
            round(LEFT + place * width, 1),
            round(width, 1),
            day.day,
            f"{day.day:%-d %b}: {text(day)}",
            day.commits > 0,
        )
        for place, day in enumerate(days)
    ]


def _bar(slot: Slot, y: float, height: float) -> str:
    width = round(slot.width - 4, 1)
    return f"M{round(slot.x + 2, 1)} {y}h{width}v{height}h{-width}z"


def _below(slots: Sequence[Slot]) -> list[Tick]:
    """The dates of some days, counted back from the newest, which has one."""
    *earlier, newest = slots[(len(slots) - 1) % LABELLED :: LABELLED]
    ticks = [Tick(round(slot.x + slot.width / 2, 1), f"{slot.day:%-d %b}", "mid") for slot in earlier]
    return [*ticks, Tick(round(newest.x + newest.width, 1), f"{newest.day:%-d %b}", "end")]  # else it would be cut off


SPARK_WIDTH, SPARK_HEIGHT = 104.0, 20.0


def spark(sizes: Sequence[int | None]) -> str:
    """The area below a table's sizes, from its own largest one down to nothing; empty when none is known."""
    known = [value for value in sizes if value is not None]
    if not known:
        return ""
    step, top, path = SPARK_WIDTH / len(sizes), max(*known, 1), ""
    for place, value in enumerate(sizes):
        if value is not None:
            height = round(value / top * (SPARK_HEIGHT - 1), 1)
            path += f"M{round(place * step, 1)} {SPARK_HEIGHT}v{-height}h{round(step, 1)}v{height}z"
    return path
