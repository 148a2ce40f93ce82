"""The time zone in which this request's times are shown: its person's, UTC otherwise. Stored and asked-for times stay UTC."""

from __future__ import annotations

import io
import struct
import zoneinfo
from contextvars import ContextVar
from datetime import UTC, datetime, tzinfo
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

UTC_NAME = "UTC"
_AREAS = ("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")

_shown: ContextVar[str] = ContextVar("zone", default=UTC_NAME)


class UnreadableZone(ValueError):
    """This machine has no such zone, or its file is damaged."""


class _Whole(io.BytesIO):
    """A zone's file that raises where it ends too early: ZoneInfo would look for the end of its last line for ever."""

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        if size is not None and len(found) < size:
            raise ValueError("the file of the zone is cut short")
        return found


@cache
def read(name: str) -> tzinfo:
    """The zone of a name that is in a list of this machine's, as its file was when it was first asked for. Raises Unreadable."""
    if name == UTC_NAME:
        return UTC
    try:
        _read_whole(name)
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError, struct.error) as error:
        raise UnreadableZone(f"the time zone {name} can’t be read") from error


def _read_whole(name: str) -> None:
    """Raises ValueError, struct.error unless the zone's file, if it is one of the system's, goes on to its end."""
    for folder in zoneinfo.TZPATH:
        file = Path(folder, name)
        if file.is_file():
            ZoneInfo.from_file(_Whole(file.read_bytes()))
            return


@cache
def names() -> tuple[str, ...]:
    """The zones to choose from: UTC, then those of places that this machine knows, by name."""
    places = sorted(name for name in available_timezones() if name.split("/", 1)[0] in _AREAS and "/" in name)
    return (UTC_NAME, *places)


def show_in(name: str) -> None:
    """Times of this request are shown in the zone; in UTC if this machine doesn't know it, or can't read it."""
    _shown.set(name if name == UTC_NAME or (name in names() and _is_readable(name)) else UTC_NAME)


def _is_readable(name: str) -> bool:
    try:
        read(name)
    except UnreadableZone:
        return False
    return True


def shown() -> str:
    """The name of the zone in which times are shown."""
    return _shown.get()


def local(moment: datetime) -> datetime:
    """The moment in the zone in which times are shown; in UTC if it has no date there: a log may name the last hour of 9999."""
    try:
        return moment.astimezone(read(shown()))
    except OverflowError:
        return moment.astimezone(UTC)


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
