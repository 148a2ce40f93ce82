"""The time zone in which this request's times are shown: its person's, UTC otherwise. Stored and asked-for times stay UTC."""

from __future__ import annotations

from contextvars import ContextVar
from datetime import UTC, datetime, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

UTC_NAME = "UTC"
_AREAS = ("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")

_shown: ContextVar[str] = ContextVar("zone", default=UTC_NAME)


@cache
def names() -> tuple[str, ...]:
    """The zones to choose from: UTC, then those of places that this machine knows, by name."""
    places = sorted(name for name in available_timezones() if name.split("/", 1)[0] in _AREAS and "/" in name)
    return (UTC_NAME, *places)


def show_in(name: str) -> None:
    """Times of this request are shown in the zone; in UTC if this machine doesn't know it."""
    _shown.set(name if name == UTC_NAME or name in names() else UTC_NAME)


def shown() -> str:
    """The name of the zone in which times are shown."""
    return _shown.get()


def local(moment: datetime) -> datetime:
    """The moment in the zone in which times are shown."""
    return moment.astimezone(_zone(shown()))


@cache
def _zone(name: str) -> tzinfo:
    return UTC if name == UTC_NAME else ZoneInfo(name)


def abbreviation(moment: datetime) -> str:
    """The zone's abbreviation at that moment: `CET`, `UTC+04` where it has none of letters."""
    text = local(moment).strftime("%Z")
    return text if text[:1].isalpha() else f"UTC{text}"


def in_full(moment: datetime) -> str:
    """Date and time as shown, UTC beside it: `2026-11-20 23:06:02 CET (22:06:02 UTC)`."""
    utc, here = moment.astimezone(UTC), local(moment)
    if shown() == UTC_NAME:
        return f"{utc:%Y-%m-%d %H:%M:%S} UTC"
    beside = f"{utc:%H:%M:%S}" if utc.date() == here.date() else f"{utc:%Y-%m-%d %H:%M:%S}"
    return f"{here:%Y-%m-%d %H:%M:%S} {abbreviation(moment)} ({beside} UTC)"
