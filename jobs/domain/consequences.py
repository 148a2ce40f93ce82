"""Consequences of a change beyond its numbers, as sentences, each with a stable code; and the words that sentences share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from console.base.text.counted import counted

Consequence = dict[str, str]


def said(code: str, text: str) -> Consequence:
    """One consequence, as a preview stores it."""
    return {"code": code, "text": text}


def in_words(span: timedelta) -> str:
    """A time span in its largest whole unit: `7 days`, `36 hours`."""
    seconds = int(span.total_seconds())
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size and seconds % size == 0:
            return counted(seconds // size, unit)
    return counted(seconds, "second")


def listed(names: Sequence[str], most: int = 20) -> str:
    """`a, b and 3 more`; all of them up to `most`."""
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
