"""Values as a person reads them. What came from the server is shown, never obeyed by the terminal."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

UNKNOWN = "–"
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def plain(text: str) -> str:
    """The text in one line without control characters: names and reasons could hold escape sequences."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)


def shown(value: Any) -> str:
    """Any value of an answer; unknown is a dash."""
    if value is None or value == "":
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(shown(item) for item in value) or UNKNOWN
    return plain(str(value))


def size(value: int | None) -> str:
    """Bytes in units of 1,024."""
    if value is None:
        return UNKNOWN
    amount, unit = float(value), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{value:,} bytes" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def moment(value: str | None) -> str:
    """A time of an answer to the minute, in UTC."""
    if not value:
        return UNKNOWN
    try:
        return datetime.fromisoformat(value).astimezone(UTC).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return plain(value)


def label(field: str) -> str:
    """`rows_matched_exact` as `Rows matched exact`."""
    return plain(field.replace("_", " ")).capitalize()


def figure(field: str, value: Any) -> str:
    """A value by the name of its field: bytes and times have units of their own."""
    if isinstance(value, int) and not isinstance(value, bool) and "bytes" in field.split("_"):
        return size(value)
    if isinstance(value, str) and field.endswith("_at"):
        return f"{moment(value)} UTC"
    return shown(value)


def seconds(text: str) -> float:
    """The seconds in `90`, `90s`, `30m`, `2h` or `7d`. Raises ValueError."""
    matched = _DURATION.fullmatch(text.strip().lower())
    if matched is None:
        raise ValueError(text)
    return float(matched[1]) * _SECONDS[matched[2]]
