"""A vacuum drawn: the reach of the versions before and after it, and the bytes that other retentions would free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from console.templatetags.levee import size
from tables.history import operations
from tables.history.reachability import TableReach
from tables.models import Table
from tables.web.charts.axes import BOTTOM, LEFT, TOP, WIDTH, ChartLine, Tick, byte_steps
from tables.web.charts.strip import strip


def drawn(table: Table, preview: Mapping[str, Any]) -> dict[str, Any]:
    """`strip` and `spans` of the versions after it, the `destructive` commits among them, and the `curve`; empty without a preview."""
    if "dying_versions" not in preview:
        return {}
    spans = TableReach(table).losing(preview["dying_versions"])
    destructive = operations.destructive(table) if spans else []
    drawings = {"strip": strip(spans, destructive), "curve": curve(preview.get("curve") or ())}
    return {"spans": spans, "destructive": destructive, **drawings}


def curve(rows: Sequence[Mapping[str, Any]]) -> ChartLine | None:
    """Bytes by hours of retention, the retentions at even distances. None for fewer than two, for none and for unknown bytes."""
    sizes = [row["bytes"] for row in rows]
    top = 0 if None in sizes else max(sizes, default=0)
    if len(rows) < 2 or not top:
        return None
    steps = byte_steps(top)
    scale = (BOTTOM - TOP) / max(steps[-1], top)
    step = (WIDTH - LEFT - 4) / (len(rows) - 1)
    places = [round(LEFT + place * step, 1) for place in range(len(rows))]
    points = [f"{x} {round(BOTTOM - row['bytes'] * scale, 1)}" for x, row in zip(places, rows, strict=True)]
    grid = [Tick(round(BOTTOM - value * scale, 1), str(size(int(value)))) for value in steps]
    below = [Tick(x, in_words(row["hours"]), _anchor(x)) for x, row in zip(places, rows, strict=True)]
    return ChartLine(["M" + "L".join(points)], grid, below)


def in_words(hours: int) -> str:
    """A retention: `6 h`, `7 d`."""
    return f"{hours // 24:,} d" if hours and hours % 24 == 0 else f"{hours:,} h"


def _anchor(x: float) -> str:
    if x <= LEFT:
        return ""
    return "end" if x >= WIDTH - 5 else "mid"
