"""Times: relative, of the day or in full, in the person's zone, with UTC beside it."""

from __future__ import annotations

from datetime import UTC, datetime
from math import ceil

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.base import zones
from console.templatetags.formatting.quantities import DAY, HOUR, MINUTE, duration
from console.templatetags.formatting.texts import unknown


def _moment(value: datetime | str) -> datetime:
    """The point in time in UTC; ISO 8601 text is what stored JSON holds. Raises ValueError for other text."""
    moment = parse_datetime(value) if isinstance(value, str) else value
    if moment is None:
        raise ValueError(f"not a time: {value!r}")
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _relative(moment: datetime, now: datetime) -> str:
    """Times that have passed are rounded down, those to come up: `7 days` from now is still `in 7 days` a second later.

    frontend/js/times.js tells the same of a page that stays open.
    """
    seconds = (now - moment).total_seconds()
    if abs(seconds) < 1:
        return "now"
    if abs(seconds) >= 30 * DAY:
        return _date(moment, now)
    return _passed(seconds) if seconds > 0 else _to_come(-seconds)


UNITS = (("s", 1, MINUTE), ("min", MINUTE, HOUR), ("h", HOUR, DAY))


def _passed(seconds: float) -> str:
    for unit, length, until in UNITS:
        if seconds < until:
            return f"{int(seconds // length)} {unit} ago"
    return "yesterday" if seconds < 2 * DAY else f"{int(seconds // DAY)} days ago"


def _to_come(seconds: float) -> str:
    for unit, length, until in UNITS:
        count = ceil(seconds / length)
        if count * length < until:
            return f"in {count} {unit}"
    return "tomorrow" if seconds <= 1.5 * DAY else f"in {ceil(seconds / DAY)} days"


def _date(moment: datetime, now: datetime) -> str:
    here = zones.local(moment)
    day = f"{here.day} {here:%b}"
    return day if here.year == zones.local(now).year else f"{day} {here.year}"


def _time_element(moment: datetime, text: str, relative: str = "") -> SafeString:
    """`relative` says how the text grows old: a script tells it anew while the page is open."""
    grows = format_html(' data-relative="{}"', relative) if relative else ""
    return format_html(
        '<time datetime="{}" title="{}"{}>{}</time>',
        moment.isoformat(timespec="seconds").replace("+00:00", "Z"),
        zones.in_full(moment),
        grows,
        text,
    )


def ago(value: datetime | str | None) -> str:
    """A relative time (`4 s ago`, `yesterday`, `3 Dec`) with the exact time, UTC beside it, on hover; UTC in `datetime`."""
    if value is None or value == "":
        return unknown()
    moment = _moment(value)
    return _time_element(moment, _relative(moment, timezone.now()), "ago")


def ago_between(first: datetime | str | None, last: datetime | str | None) -> str:
    """A range of times, formatted as `ago`; two times that read alike appear once."""
    if not first or not last:
        return ago(first or last)
    now = timezone.now()
    if _relative(_moment(first), now) == _relative(_moment(last), now):
        return ago(last)
    return format_html("{} – {}", ago(first), ago(last))


def since(value: datetime | str | None) -> str:
    """How long it has been (`2 min 34 s`), as a time element."""
    if value is None or value == "":
        return unknown()
    moment = _moment(value)
    return _time_element(moment, str(duration(max((timezone.now() - moment).total_seconds(), 0))), "since")


def clock(value: datetime | str | None) -> str:
    """The time of day in the person's zone (`22:06:02`), for logs and timelines; the date and UTC are on hover."""
    if value is None or value == "":
        return unknown()
    moment = _moment(value)
    return _time_element(moment, f"{zones.local(moment):%H:%M:%S}")


def exact(value: datetime | str | None) -> str:
    """The exact time in full, UTC beside the person's zone. For detail pages, where a finger can't hover."""
    if value is None or value == "":
        return unknown()
    moment = _moment(value)
    return _time_element(moment, zones.in_full(moment))


def in_full(value: datetime | None) -> str:
    """The same as text alone, for the name of a drawing."""
    return "" if value is None else zones.in_full(_moment(value))


def day_and_clock(value: datetime | str | None) -> str:
    """Day and time of day in the person's zone (`20 Nov 22:06:02`), for lists of many days."""
    if value is None or value == "":
        return unknown()
    moment = _moment(value)
    here = zones.local(moment)
    return _time_element(moment, f"{here.day} {here:%b %H:%M:%S}")


def zone() -> str:
    """The zone in which times are shown, for the head of a column of them: `UTC`, `Europe/Berlin`."""
    return zones.shown()
