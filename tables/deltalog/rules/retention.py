"""Durations in table properties, as Delta reads them (`interval 1 week`, `168 hours`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

DELETED_FILES = "delta.deletedFileRetentionDuration"
LOG = "delta.logRetentionDuration"
TRANSACTIONS = "delta.setTransactionRetentionDuration"
LONGEST = timedelta(days=36_525)  # a hundred years: what is longer counts as this, so that it can be added to any date
_DEFAULTS = {DELETED_FILES: timedelta(weeks=1), LOG: timedelta(days=30)}
_MICROSECONDS = {
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_DAYS = {"week": 7, "day": 1}
_MONTHS = {"year": 12, "month": 1}
_DAY = 24 * _MICROSECONDS["hour"]
_INT, _LONG = 1 << 31, 1 << 63
_MOST_CHARACTERS = 1_000
_TRIMMED = "".join(map(chr, range(33)))  # what Java trims
_BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f "
_SPACE = f"[{_BLANKS}]"
# A sign may stand apart from its number; without one, a number that begins with a point has a digit after it.
_TERM = re.compile(
    rf"(?:(?P<sign>[+-]){_SPACE}*(?=[0-9.])|(?=\.?[0-9]))(?P<whole>[0-9]*)(?P<fraction>\.[0-9]{{0,9}})?{_SPACE}+"
    rf"(?P<unit>year|month|week|day|hour|minute|second|millisecond|microsecond)s?(?:{_SPACE}+|\Z)"
)


@dataclass(frozen=True, slots=True)
class Interval:
    """Spark's CalendarInterval."""

    months: int
    days: int
    microseconds: int


def read_interval(text: str) -> Interval | None:
    """The interval that Delta reads, None for a text that is none; Delta doesn't take every interval as a duration.

    Rules: Delta 4.4.0, DeltaConfigs.parseCalendarInterval; Spark 4.2, IntervalUtils.stringToInterval. Only seconds have a fraction.
    """
    rest = text.strip(_TRIMMED).lower().removeprefix("interval ").lstrip(_BLANKS)
    if not rest or len(rest) > _MOST_CHARACTERS:
        return None
    months = days = microseconds = position = 0
    while position < len(rest):
        match = _TERM.match(rest, position)
        if match is None or (match["fraction"] and match["unit"] != "second"):
            return None
        sign, unit, value = -1 if match["sign"] == "-" else 1, match["unit"], int(match["whole"] or 0)
        try:
            number = sign * _fitting(value, _LONG)
            months = _fitting(months + number * _MONTHS.get(unit, 0), _INT)
            days = _fitting(days + _fitting(number * _DAYS.get(unit, 0), _INT), _INT)
            microseconds = _fitting(microseconds + _fitting(number * _MICROSECONDS.get(unit, 0), _LONG), _LONG)
            microseconds = _fitting(microseconds + sign * _fraction(match["fraction"]), _LONG)
        except OverflowError:
            return None
        position = match.end()
    return Interval(months, days, microseconds)


def _fraction(text: str | None) -> int:
    """The microseconds of a fraction of a second, its point included."""
    return int((text or ".")[1:].ljust(9, "0")) // 1_000


def _fitting(value: int, limit: int) -> int:
    """The value. Raises OverflowError if Java's number can't hold it."""
    if not -limit <= value < limit:
        raise OverflowError
    return value


def parse_interval(text: str) -> timedelta | None:
    """The duration, None when it is not one that Delta accepts (months and years have no fixed length; negative ones)."""
    read = read_interval(text)
    if read is None or read.months:
        return None
    # Delta multiplies without a look at the bounds of a number of 64 bits.
    microseconds = (read.days * _DAY + read.microseconds + _LONG) % (2 * _LONG) - _LONG
    if microseconds < 0:
        return None
    return LONGEST if microseconds > LONGEST // timedelta(microseconds=1) else timedelta(microseconds=microseconds)


def deleted_file_retention(configuration: Mapping[str, str]) -> timedelta:
    """How long removed files stay, and how far back versions can be read. Delta's default when unset or unreadable."""
    return _retention(configuration, DELETED_FILES)


def log_retention(configuration: Mapping[str, str]) -> timedelta:
    """How long commits stay in the log. Delta's default when unset or unreadable."""
    return _retention(configuration, LOG)


def transaction_retention(configuration: Mapping[str, str]) -> timedelta | None:
    """How long an application's version is remembered after its last commit; None, as by default: for ever."""
    return parse_interval(configuration[TRANSACTIONS]) if TRANSACTIONS in configuration else None


def _retention(configuration: Mapping[str, str], name: str) -> timedelta:
    parsed = parse_interval(configuration[name]) if name in configuration else None
    return _DEFAULTS[name] if parsed is None else parsed
