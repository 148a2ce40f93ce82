"""Shared formatting of all pages: icons, sizes, numbers, times, states. Unknown is a word, never -1 or empty.

A built-in library of every template. Filters take None for unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from django import template
from django.conf import settings
from django.forms import BoundField, CheckboxInput, CheckboxSelectMultiple, HiddenInput, RadioSelect, Select
from django.templatetags.static import static
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.base import zones

register = template.Library()

BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
MINUTE, HOUR, DAY = 60, 3600, 86400


class StateLook(NamedTuple):
    """How one state is shown: a tone class, an icon of the sprite, and the word that carries the meaning."""

    tone: str
    icon: str
    word: str


STATE_LOOKS: Mapping[str, StateLook] = {
    "previewing": StateLook("run", "loader-2", "Measuring"),
    "awaiting_approval": StateLook("wait", "user-check", "Waiting for approval"),
    "queued": StateLook("idle", "clock", "Queued"),
    "running": StateLook("run", "loader-2", "Running"),
    "cancelling": StateLook("wait", "loader-2", "Cancelling"),
    "reconciling": StateLook("unknown", "help-circle", "Unknown: checking"),
    "succeeded": StateLook("ok", "circle-check", "Succeeded"),
    "failed": StateLook("bad", "circle-x", "Failed"),
    "cancelled": StateLook("idle", "ban", "Cancelled"),
    "rejected": StateLook("bad", "circle-x", "Rejected"),
    "withdrawn": StateLook("idle", "arrow-back-up", "Withdrawn"),
    "expired": StateLook("idle", "clock-off", "Expired"),
    "stale": StateLook("wait", "git-branch", "Stale"),
    # Streams.
    "stopped": StateLook("idle", "player-pause", "Stopped"),
    "stopping": StateLook("wait", "loader-2", "Stopping"),
    # Workers and the other parts of the console.
    "ready": StateLook("ok", "circle-check", "Ready"),
    "idle": StateLook("ok", "circle-check", "Idle"),
    "busy": StateLook("run", "loader-2", "Busy"),
    "starting": StateLook("run", "loader-2", "Starting"),
    "draining": StateLook("wait", "player-pause", "Draining"),
    "lost": StateLook("unknown", "help-circle", "Lost"),
    "down": StateLook("bad", "circle-x", "Down"),
}


class LevelLook(NamedTuple):
    """How a banner or a finding of one level is shown; the label is what a screen reader says for the icon."""

    tone: str
    icon: str
    label: str


LEVEL_LOOKS: Mapping[str, LevelLook] = {
    "error": LevelLook("bad", "circle-x", "Error"),
    "warning": LevelLook("wait", "alert-triangle", "Warning"),
    "unknown": LevelLook("unknown", "help-circle", "Unknown"),
    "info": LevelLook("run", "info-circle", "Note"),
    "success": LevelLook("ok", "circle-check", "Done"),
}

STAGE_LOOKS: Mapping[str, LevelLook] = {
    "done": LevelLook("ok", "circle-check", "Done"),
    "now": LevelLook("run", "loader-2", "Now"),
    "failed": LevelLook("bad", "circle-x", "Failed"),
    "stopped": LevelLook("idle", "player-stop", "Stopped"),
    "todo": LevelLook("idle", "circle-dashed", "To do"),
}

EVENT_LOOKS: Mapping[str, LevelLook] = {
    "requested": LevelLook("idle", "pencil", "Requested"),
    "awaiting_approval": LevelLook("wait", "user-check", "Measured"),
    "approved": LevelLook("ok", "circle-check", "Approved"),
    "rejected": LevelLook("bad", "circle-x", "Rejected"),
    "comment": LevelLook("idle", "user-circle", "Comment"),
    "previewing": LevelLook("idle", "pencil", "Requested"),
    "queued": LevelLook("idle", "clock", "Queued"),
    "running": LevelLook("run", "player-play", "Started"),
    "succeeded": LevelLook("ok", "circle-check", "Succeeded"),
    "failed": LevelLook("bad", "circle-x", "Failed"),
    "cancelling": LevelLook("wait", "player-stop", "Cancel requested"),
    "cancelled": LevelLook("idle", "ban", "Cancelled"),
    "reconciling": LevelLook("unknown", "help-circle", "Unknown"),
    "withdrawn": LevelLook("idle", "arrow-back-up", "Withdrawn"),
    "expired": LevelLook("idle", "clock-off", "Expired"),
    "released": LevelLook("idle", "arrow-back-up", "Given back"),
    "late_commit": LevelLook("bad", "alert-triangle", "Late commit"),
    "stale": LevelLook("wait", "git-branch", "Stale"),
}
ANY_EVENT = LevelLook("idle", "point", "Event")

# Busy icons turn; the movement stops where the reader asked for less motion.
TURNING_ICON = "loader-2"


def _moment(value: datetime | str) -> datetime:
    """The point in time in UTC; ISO 8601 text is what stored JSON holds. Raises ValueError for other text."""
    moment = parse_datetime(value) if isinstance(value, str) else value
    if moment is None:
        raise ValueError(f"not a time: {value!r}")
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


@register.simple_tag
def unknown(why: str = "", word: str = "unknown") -> SafeString:
    """The word for an unknown value, with the reason on hover."""
    if not why:
        return format_html('<span class="lv-unknown">{}</span>', word)
    return format_html('<abbr class="lv-unknown" title="{}">{}</abbr>', why, word)


@register.filter
def partition_value(value: str | None) -> str:
    """A partition's value as the log has it; NULL and an empty text as words, since you can't see either."""
    if value is None:
        return unknown(word="null")
    return value or unknown("Empty text", word="empty text")


@register.filter(name="number")
def number(value: float | None) -> str:
    """An integer or decimal with thousands separators: `1,284,930,112`."""
    return unknown() if value is None else f"{value:,}"


@register.filter(name="bytes")
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


@register.filter
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


@register.filter
def ago(value: datetime | str | None) -> str:
    """A relative time (`4 s ago`, `yesterday`, `3 Dec`) with the exact time, UTC beside it, on hover; UTC in `datetime`."""
    if value is None or value == "":
        return unknown()
    moment = _moment(value)
    return _time_element(moment, _relative(moment, timezone.now()))


@register.simple_tag
def ago_between(first: datetime | str | None, last: datetime | str | None) -> str:
    """A range of times, formatted as `ago`; two times that read alike appear once."""
    if not first or not last:
        return ago(first or last)
    now = timezone.now()
    if _relative(_moment(first), now) == _relative(_moment(last), now):
        return ago(last)
    return format_html("{} – {}", ago(first), ago(last))


@register.filter
def since(value: datetime | str | None) -> str:
    """How long it has been (`2 min 34 s`), as a time element."""
    if value is None or value == "":
        return unknown()
    moment = _moment(value)
    return _time_element(moment, str(duration(max((timezone.now() - moment).total_seconds(), 0))))


@register.filter
def clock(value: datetime | str | None) -> str:
    """The time of day in the person's zone (`22:06:02`), for logs and timelines; the date and UTC are on hover."""
    if value is None or value == "":
        return unknown()
    moment = _moment(value)
    return _time_element(moment, f"{zones.local(moment):%H:%M:%S}")


@register.filter
def exact(value: datetime | str | None) -> str:
    """The exact time in full, UTC beside the person's zone. For detail pages, where a finger can't hover."""
    if value is None or value == "":
        return unknown()
    moment = _moment(value)
    return _time_element(moment, zones.in_full(moment))


@register.filter
def day_and_clock(value: datetime | str | None) -> str:
    """Day and time of day in the person's zone (`20 Nov 22:06:02`), for lists of many days."""
    if value is None or value == "":
        return unknown()
    moment = _moment(value)
    here = zones.local(moment)
    return _time_element(moment, f"{here.day} {here:%b %H:%M:%S}")


@register.simple_tag
def zone() -> str:
    """The zone in which times are shown, for the head of a column of them: `UTC`, `Europe/Berlin`."""
    return zones.shown()


@register.filter
def short_id(value: UUID | str) -> str:
    """The first eight characters of an id, as people quote it."""
    return str(value)[:8]


@register.filter
def version(value: int | None) -> str:
    """A table version as a noun: `version 1,482`."""
    return unknown() if value is None else f"version {value:,}"


@register.filter
def pairs(values: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    """The names and values of a mapping. `values.items` would be the value of a name `items`, which people and logs may choose."""
    return list((values or {}).items())


@register.filter
def last_part(path: str) -> str:
    """The last name of a path, by which people know a directory."""
    return path.rstrip("/").rpartition("/")[2] or path


@register.simple_tag
def icon(name: str, label: str = "", extra: str = "") -> SafeString:
    """An icon of the sprite. Without a label it is decoration; with one it is an image that speaks."""
    turning = " lv-turn" if name == TURNING_ICON else ""
    classes = f"lv-icon{turning} {extra}".strip()
    target = f"{_sprite(settings.STORAGES['staticfiles']['BACKEND'])}#{name}"
    if not label:
        return format_html('<svg class="{}" aria-hidden="true"><use href="{}"/></svg>', classes, target)
    return format_html('<svg class="{}" role="img" aria-label="{}"><use href="{}"/></svg>', classes, label, target)


@cache
def _sprite(_storage: str) -> str:
    """The address of the icons in a storage of static files: a list has an icon in each row."""
    return static("levee/icons.svg")


@register.simple_tag
def state_line(state: StateLook) -> SafeString:
    """A state of any kind, with `tone`, `icon` and `word`, as icon and word."""
    return format_html('<span class="lv-status lv-is-{}">{}{}</span>', state.tone, icon(state.icon), state.word)


@register.simple_tag
def status(state: str, pill: bool = False, word: str = "") -> SafeString:
    """A state as icon and word; `pill=True` is the coloured form for page headers. `word` replaces the usual word."""
    look = STATE_LOOKS[state]
    classes = f"lv-status {'lv-pill ' if pill else ''}lv-is-{look.tone}"
    return format_html('<span class="{}">{}{}</span>', classes, icon(look.icon), word or look.word)


@register.filter
def level_look(level: str) -> LevelLook:
    """Tone, icon and label of a banner's or finding's level: error, warning, unknown, info, success."""
    return LEVEL_LOOKS[level]


@register.filter
def stage_look(state: str) -> LevelLook:
    """Tone, icon and label of a stage: done, now, todo, failed, stopped."""
    return STAGE_LOOKS[state]


@register.filter
def event_look(kind: str) -> LevelLook:
    """Tone, icon and label of a job's event; an event of a kind without a look of its own is a plain point."""
    return EVENT_LOOKS.get(kind, ANY_EVENT)


@register.filter
def spark_type(value: Any) -> str:
    """A type of Spark's JSON schema as Spark prints it: `array<int>`, `struct<a:bigint>`, `decimal(10,2)`."""
    names = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
    if isinstance(value, str):
        return names.get(value, value)
    match value.get("type"):
        case "array":
            return f"array<{spark_type(value['elementType'])}>"
        case "map":
            return f"map<{spark_type(value['keyType'])},{spark_type(value['valueType'])}>"
        case "struct":
            inner = ",".join(f"{field['name']}:{spark_type(field['type'])}" for field in value["fields"])
            return f"struct<{inner}>"
    return str(value)


@register.filter
def control(field: BoundField) -> SafeString:
    """A form field's widget with the classes of its kind, so that forms don't define looks."""
    match field.field.widget:
        case CheckboxInput() | CheckboxSelectMultiple() | RadioSelect() | HiddenInput():
            return SafeString(field)  # nosec B703  # a widget of Django’s, which escapes its values
        case Select():
            return field.as_widget(attrs={"class": "form-control lv-select"})
    return field.as_widget(attrs={"class": "form-control"})


@register.simple_tag(takes_context=True)
def current(context: template.Context, *prefixes: str) -> SafeString:
    """`aria-current="page"` when the page's route starts with one of the prefixes (`tables:`, `jobs:list`)."""
    request = context.get("request")
    match = getattr(request, "resolver_match", None)
    name = match.view_name if match else ""
    return SafeString(' aria-current="page"' if name.startswith(prefixes) else "")  # nosec B703  # one of two constants
