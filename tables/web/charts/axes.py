"""What every drawing stands on: its size, round steps, and the marks of a grid.

Drawings are coordinates: numbers in, positions for inline SVG out. Templates know classes and elements, these modules know scales.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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
class ChartLine:
    """A path with its grid. `parts` are drawn one by one: a gap lies where a value is unknown. `marks` are places with their texts."""

    parts: list[str]
    grid: list[Tick]
    below: list[Tick]
    reference: float | None = None
    reference_text: str = ""
    marks: Sequence[Tick] = ()


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


def unit_height(top: float) -> float:
    """The height of one, where `top` reaches the upper end."""
    return (BOTTOM - TOP) / top
