"""Times: relative, of the day or in full, in the person's zone, with UTC beside it."""

from __future__ import annotations

from datetime import UTC, datetime

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
    seconds = (now - moment).total_seconds()
    distance = _distance(abs(seconds), moment, now)
    if distance in ("now", "yesterday", "tomorrow") or distance[0] == "@":
        return distance.lstrip("@")
    return f"{distance} ago" if seconds >= 0 else f"in {distance}"


def _distance(seconds: float, moment: datetime, now: datetime) -> str:
    """The rough distance in one unit; a date (marked by @) from a month on."""
    if seconds < 1:
        return "now"
    for unit, length, until in (("s", 1, MINUTE), ("min", MINUTE, HOUR), ("h", HOUR, DAY)):
        if seconds < until:
            return f"{int(seconds // length)} {unit}"
    if seconds < 2 * DAY:
        return "yesterday" if moment < now else "tomorrow"
    if seconds < 30 * DAY:
        return f"{int(seconds // DAY)} days"
    return "@" + _date(moment, now)


def _date(moment: datetime, now: datetime) -> str:
    here = zones.local(moment)
    day = f"{here.day} {here:%b}"
    return day if here.year == zones.local(now).year else f"{day} {here.year}"


def _time_element(moment: datetime, text: str) -> SafeString:
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(timespec="seconds").replace("+00:00", "Z"),
        zones.in_full(moment),
        text,
    )


def ago(value: datetime | str | None) -> str:
    """A relative time (`4 s ago`, `yesterday`, `3 Dec`) with the exact time, UTC beside it, on hover; UTC in `datetime`."""
    if value is None or value == "":
        return unknown()
    moment = _moment(value)
    return _time_element(moment, _relative(moment, timezone.now()))


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
    return _time_element(moment, str(duration(max((timezone.now() - moment).total_seconds(), 0))))


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
