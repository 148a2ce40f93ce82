"""A number with its noun, everywhere the same: `1 file`, `2,000 files`. On the standard library alone, so that every room may use it."""

from __future__ import annotations


def counted(number: float, noun: str, plural: str = "") -> str:
    """The number with thousands separators, and the noun as it goes with it; `plural` where that isn't the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
