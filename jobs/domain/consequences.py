"""Consequences of a change beyond its numbers, as sentences; each has a stable code."""

from __future__ import annotations

from datetime import timedelta

Consequence = dict[str, str]


def said(code: str, text: str) -> Consequence:
    """One consequence, as a preview stores it."""
    return {"code": code, "text": text}


def in_words(span: timedelta) -> str:
    """A time span in its largest whole unit: `7 days`, `36 hours`."""
    seconds = int(span.total_seconds())
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size and seconds % size == 0:
            count = seconds // size
            return f"{count:,} {unit}{'s' if count != 1 else ''}"
    return f"{seconds:,} seconds"
