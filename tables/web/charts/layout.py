"""A version's files drawn: by size, and the partitions from the largest to the smallest."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from console.templatetags.levee import number, size
from tables.web.charts.axes import BOTTOM, TOP, WIDTH, ChartLine, Tick, nice_steps, unit_height
from tables.web.charts.hatching import hatch


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


def histogram(rows: Sequence[dict[str, int | None]], small: int) -> Bars:
    """Files by size, one bar per class; classes below `small` bytes are quiet."""
    counts = [row["files"] or 0 for row in rows]
    steps = nice_steps(max(counts, default=0), least=1)
    scale = unit_height(max(steps[-1], max(counts, default=0), 1))
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


def skew(curve: Sequence[int], count: int, median: int | None) -> ChartLine:
    """Partition sizes, largest first, on a logarithmic scale from a power of 16 below the smallest."""
    return _logarithmic(curve, count, median, 16, size)


def row_skew(curve: Sequence[int], count: int, median: int | None) -> ChartLine:
    """Rows per partition, most first, on a logarithmic scale from a power of 10 below the fewest."""
    return _logarithmic(curve, count, median, 10, number)


def _logarithmic(
    curve: Sequence[int], count: int, median: int | None, base: int, text: Callable[[int], object]
) -> ChartLine:
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
    return ChartLine(parts, grid, below, y(median) if median else None, f"median {text(median)}" if median else "")
