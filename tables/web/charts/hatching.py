"""Hatches, which tell two areas apart where colours alone would have to."""

from __future__ import annotations


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
