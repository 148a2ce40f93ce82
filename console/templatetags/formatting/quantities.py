"""Numbers, sizes and durations as people read them. Unknown is a word, never -1 or empty."""

from __future__ import annotations

from datetime import timedelta

from django.utils.html import format_html

from console.base.text.counted import counted as in_words
from console.templatetags.formatting.texts import unknown

BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
MINUTE, HOUR, DAY = 60, 3600, 86400


def number(value: float | None) -> str:
    """An integer or decimal with thousands separators: `1,284,930,112`."""
    return unknown() if value is None else f"{value:,}"


def counted(value: float | None, noun: str) -> str:
    """A number with its noun: `1 file`, `2,000 files`. `noun` has a plural of its own behind a comma: `entry,entries`."""
    one, _, many = noun.partition(",")
    return in_words(value, one, many) if value is not None else format_html("{} {}", unknown(), many or f"{one}s")


def size(value: int | None) -> str:
    """A size in binary units with three significant digits: `84.6 GiB`, `1,023 B`."""
    if value is None:
        return unknown()
    scaled, unit = float(value), 0
    # 1,023.95 KiB would print as "1024 KiB": the next unit begins where the printed text would reach 1,024.
    while scaled >= (1024 if unit == 0 else 1023.5) and unit < len(BINARY_UNITS) - 1:
        scaled, unit = scaled / 1024, unit + 1
    return f"{_three_digits(scaled, unit)} {BINARY_UNITS[unit]}"


def _three_digits(scaled: float, unit: int) -> str:
    if unit == 0:
        return f"{scaled:,.0f}"
    for digits, limit in ((2, 9.995), (1, 99.95)):
        if scaled < limit:
            return f"{scaled:.{digits}f}"
    return f"{scaled:,.0f}"


def duration(value: float | timedelta | None) -> str:
    """Seconds (or a timedelta) in at most two units: `0.4 s`, `38 s`, `1 min 55 s`, `3 h 2 min`, `2 days 4 h`."""
    if value is None:
        return unknown()
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if 0 < seconds < 0.95:
        return f"{max(seconds, 0.1):.1f} s"
    return _two_units(max(round(seconds), 0))


def _two_units(seconds: int) -> str:
    if seconds < MINUTE:
        return f"{seconds} s"
    if seconds < HOUR:
        return _pair(seconds // MINUTE, "min", seconds % MINUTE, "s")
    if seconds < DAY:
        return _pair(seconds // HOUR, "h", seconds % HOUR // MINUTE, "min")
    days = seconds // DAY
    return _pair(days, "day" if days == 1 else "days", seconds % DAY // HOUR, "h")


def _pair(major: int, major_unit: str, minor: int, minor_unit: str) -> str:
    return f"{major} {major_unit} {minor} {minor_unit}" if minor else f"{major} {major_unit}"


def version(value: int | None) -> str:
    """A table version as a noun: `version 1,482`."""
    return unknown() if value is None else f"version {value:,}"
