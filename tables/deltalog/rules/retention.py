"""Durations in table properties, as Delta reads them (`interval 1 week`, `168 hours`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

DELETED_FILES = "delta.deletedFileRetentionDuration"
LOG = "delta.logRetentionDuration"
TRANSACTIONS = "delta.setTransactionRetentionDuration"
LONGEST = timedelta(days=36_525)  # a hundred years: what is longer counts as this, so that it can be added to any date
_DEFAULTS = {DELETED_FILES: timedelta(weeks=1), LOG: timedelta(days=30)}
_UNITS = {
    "week": timedelta(weeks=1),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "millisecond": timedelta(milliseconds=1),
    "microsecond": timedelta(microseconds=1),
}
_PART = re.compile(r"([+-]?\d{1,9})\s+([a-z]+?)s?(?:\s+|$)")


def parse_interval(text: str) -> timedelta | None:
    """The duration, None when it is not one that Delta accepts (months and years have no fixed length; negative ones)."""
    rest = text.strip().lower()
    rest = rest.removeprefix("interval").strip() if rest.startswith("interval") else rest
    if not rest or len(rest) > 200:
        return None
    total, position = timedelta(), 0
    while position < len(rest):
        match = _PART.match(rest, position)
        if match is None or match[2] not in _UNITS:
            return None
        try:
            total += int(match[1]) * _UNITS[match[2]]
        except OverflowError:
            return None if match[1].startswith("-") else LONGEST
        position = match.end()
    return min(total, LONGEST) if total >= timedelta() else None


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
