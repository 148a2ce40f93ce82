"""CAST as Spark does it under ANSI rules, in UTC, for the values where the result certainly agrees with Spark's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal, localcontext

from jobs.domain.predicates import literals, typenames
from jobs.domain.predicates.tree import Literal, Value


class Undecided(Exception):
    """Left to Spark."""


class Fails(Exception):
    """Spark would stop with an error; the message is the reason."""


def cast(item: Literal, target: str) -> Literal:
    """CAST under ANSI rules, in UTC. Raises Undecided, Fails."""
    if item.type == target:
        return item
    if item.value is None:
        return Literal(target, None)
    family = typenames.family(item.type)
    if family == "text":
        return _from_text(text_of(item), target)
    if family == "number" and typenames.family(target) == "number":
        return _number_as(item, target)
    if family == "time" and target in typenames.TIMES:
        return _time_as(item.value, target)
    raise Undecided


def text_of(item: Literal) -> str:
    """A plain text's value. Raises Undecided for any other type, char(n) and collated text among them."""
    if not isinstance(item.value, str) or item.type != "string":
        raise Undecided
    return item.value


def _from_text(text: str, target: str) -> Literal:
    """Only the usual spellings are read; what Spark might still read otherwise is refused with them in the message."""
    reader = _READERS.get("decimal" if target.startswith("decimal") else target)
    if reader is None:
        raise Undecided
    try:
        return reader(text, target)
    except literals.NotALiteral as error:
        raise Fails(str(error)) from None
    except (ValueError, ArithmeticError):
        raise Fails(f"'{text}' can’t be read as {target}") from None


def _integer_of(text: str, target: str) -> Literal:
    if not text.isascii():
        raise ValueError(text)
    return literals.sized(int(text.replace("_", "x")), target)


def _decimal_of(text: str, target: str) -> Literal:
    if not text.isascii() or "_" in text or not any(c.isdigit() for c in text):
        raise ValueError(text)
    return _to_decimal(Decimal(text), target)


_NO_DIGITS = frozenset({"inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "nan", "+nan", "-nan"})


def _float_of(text: str, target: str) -> Literal:
    """Without a digit Spark reads a few words alone (Java’s `parseDouble`, then `Cast.processFloatingPointSpecialLiterals`)."""
    if text.strip().lower() in _NO_DIGITS:
        raise Undecided
    if not text.isascii() or "_" in text or not any(c.isdigit() for c in text):
        raise ValueError(text)
    return literals.floating(text, target)


def _boolean_of(text: str, target: str) -> Literal:
    return (
        Literal(target, {"true": True, "false": False}[text.lower()])
        if text.lower()
        in (
            "true",
            "false",
        )
        else _no_boolean(text)
    )


def _no_boolean(text: str) -> Literal:
    raise literals.NotALiteral(f"'{text}' is no boolean: write true or false")


_READERS: dict[str, Callable[[str, str], Literal]] = {
    "string": lambda text, target: Literal(target, text),
    "date": lambda text, _: literals.day(text),
    "timestamp": literals.time,
    "timestamp_ntz": literals.time,
    "boolean": _boolean_of,
    "decimal": _decimal_of,
    **dict.fromkeys(typenames.INTEGERS, _integer_of),
    **dict.fromkeys(typenames.FLOATS, _float_of),
}


def _number_as(item: Literal, target: str) -> Literal:
    value = item.value
    if target in typenames.FLOATS or isinstance(value, float):
        raise Undecided
    number = Decimal(str(value))
    if target in typenames.INTEGERS:
        whole = int(number)
        if not literals.fits(whole, target):
            raise Fails(f"{number} doesn’t fit {target}")
        return Literal(target, whole)
    return _to_decimal(number, target)


def _to_decimal(number: Decimal, target: str) -> Literal:
    precision, scale = typenames.decimal_parts(target)
    with localcontext(prec=100):
        rounded = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
    if abs(rounded) >= Decimal(10) ** (precision - scale):
        raise Fails(f"{number} doesn’t fit {target}")
    return Literal(target, rounded)


def _time_as(value: Value, target: str) -> Literal:
    if isinstance(value, datetime):
        plain = value.replace(tzinfo=None)
    elif isinstance(value, date):
        plain = datetime(value.year, value.month, value.day)
    else:
        raise Undecided
    match target:
        case "date":
            return Literal(target, plain.date())
        case "timestamp":
            return Literal(target, plain.replace(tzinfo=UTC))
    return Literal(target, plain)
