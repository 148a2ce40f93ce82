"""Values of literals and their one text. Formats are narrower than Spark's: Levee refuses a text with two readings."""

from __future__ import annotations

import math
import re
import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

from jobs.domain.predicates.tree import Literal

MAX_DIGITS = 38
INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
SUFFIXES = {"tinyint": "Y", "smallint": "S", "bigint": "L"}
NULL = Literal("void", None)

_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)? ?(Z|UTC|[+-]\d{2}:\d{2})?", re.ASCII
)
_ESCAPED = {"\\": "\\\\", "'": "\\'"}


class NotALiteral(ValueError):
    """The text is no literal of that type; the message says what is."""


def integer(digits: int) -> Literal:
    """A number without point or suffix, as Spark reads it: int, else bigint, else decimal. Raises NotALiteral."""
    for name in ("int", "bigint"):
        if fits(digits, name):
            return Literal(name, digits)
    return decimal(Decimal(digits))


def fits(value: int | Decimal, type_name: str) -> bool:
    """Whether an integer type's numbers reach as far as the value."""
    bits = INTEGER_BITS[type_name]
    return -(1 << (bits - 1)) <= value <= (1 << (bits - 1)) - 1


def sized(digits: int, type_name: str) -> Literal:
    """A number with a suffix (`5Y`, `5S`, `5L`). Raises NotALiteral."""
    if not fits(digits, type_name):
        raise NotALiteral(f"{digits} doesn’t fit {type_name}")
    return Literal(type_name, digits)


def decimal(value: Decimal) -> Literal:
    """A decimal with as many digits as were written. Raises NotALiteral beyond 38."""
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    precision = max(len(digits), scale)
    if precision > MAX_DIGITS or scale < 0:
        raise NotALiteral(f"a decimal has at most {MAX_DIGITS} digits")
    return Literal(f"decimal({precision},{scale})", value)


def floating(text: str, type_name: str) -> Literal:
    """A float or double. Raises NotALiteral when it is too large."""
    value = float(text)
    if type_name == "float":
        value = _single(value)
    if math.isinf(value):
        raise NotALiteral(f"the number doesn’t fit {type_name}")
    return Literal(type_name, value)


def _single(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.inf


def day(text: str) -> Literal:
    """`2020-01-31`. Raises NotALiteral."""
    match = _DATE.fullmatch(text)
    try:
        return Literal("date", date(*(int(part) for part in match.groups()))) if match else _no_date(text)
    except ValueError:
        return _no_date(text)


def _no_date(text: str) -> Literal:
    raise NotALiteral(f"'{text}' is no date: write it as 2020-01-31")


def time(text: str, type_name: str) -> Literal:
    """`2020-01-31 10:00:00[.123456][+01:00]`, for `timestamp` in UTC unless it says otherwise. Raises NotALiteral."""
    match = _TIME.fullmatch(text)
    if not match:
        return _no_time(text, type_name)
    day_text, hour, minute, second, fraction, zone = match.groups()
    if zone and (type_name == "timestamp_ntz" or second is None):  # Spark reads a zone only behind seconds
        return _no_time(text, type_name)
    try:
        year, month, of_month = (int(part) for part in day_text.split("-"))
        clock = (int(hour or 0), int(minute or 0), int(second or 0), int((fraction or "").ljust(6, "0")))
        local = datetime(year, month, of_month, *clock)
        return Literal(type_name, local if type_name == "timestamp_ntz" else _in_utc(local, zone))
    except (ValueError, OverflowError):
        return _no_time(text, type_name)


def _in_utc(local: datetime, zone: str | None) -> datetime:
    if zone is None or zone in ("Z", "UTC"):
        return local.replace(tzinfo=UTC)
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if minutes > 59 or hours * 60 + minutes > 18 * 60:
        raise ValueError("no offset")
    offset = timedelta(hours=hours, minutes=minutes)
    return local.replace(tzinfo=timezone(-offset if zone[0] == "-" else offset)).astimezone(UTC)


def _no_time(text: str, type_name: str) -> Literal:
    zone = "" if type_name == "timestamp_ntz" else ", with +01:00 at the end when it is not UTC"
    raise NotALiteral(f"'{text}' is no {type_name}: write it as 2020-01-31 10:00:00{zone}")


def quoted(text: str) -> str:
    """A text between quotes, escaped so that nothing in it is invisible."""
    return "'" + "".join(_escaped(character) for character in text) + "'"


def _escaped(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    if is_hidden(character):
        code = ord(character)
        return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
    return character


def is_hidden(character: str) -> bool:
    """Characters that a reader can't see or that turn the reading direction: controls, format marks, odd spaces, halves."""
    return character != " " and not character.isprintable()


def to_text(literal: Literal) -> str:
    """The text of a literal, which reads back as an equal one."""
    match literal.value:
        case None:
            return "NULL"
        case bool() as flag:
            return "TRUE" if flag else "FALSE"
        case int() as number:
            return _integer_text(number, literal.type)
        case float() as number:
            return f"{number!r}{'F' if literal.type == 'float' else 'D'}"
        case Decimal() as number:
            return f"{number:f}BD" if literal.type.endswith(",0)") else f"{number:f}"
        case str() as text:
            return quoted(text)
        case bytes() as data:
            return f"X'{data.hex().upper()}'"
        case datetime() as moment:
            return _time_text(moment)
        case date() as value:
            return f"DATE '{value}'"


def _integer_text(number: int, type_name: str) -> str:
    unmistakable = type_name == integer(number).type
    return str(number) if unmistakable else f"{number}{SUFFIXES[type_name]}"


def _time_text(moment: datetime) -> str:
    local = moment.replace(tzinfo=None).isoformat(" ")
    return f"TIMESTAMP_NTZ '{local}'" if moment.tzinfo is None else f"TIMESTAMP '{local}Z'"
