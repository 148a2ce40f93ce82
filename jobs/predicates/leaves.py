"""Literals as they are written in Spark: numbers with suffixes, texts with escapes, typed literals."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from jobs.domain.predicates import literals
from jobs.domain.predicates.literals import NotALiteral
from jobs.domain.predicates.tree import Literal
from jobs.predicates.refusals import refused
from jobs.predicates.tokens import PredicateToken

TYPED = ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "X")

_NUMBER = re.compile(r"([0-9.]+(?:E[+-]?[0-9]+)?)(BD|[LSYDF])?", re.IGNORECASE)
_SUFFIX = {"L": "bigint", "S": "smallint", "Y": "tinyint"}
_ESCAPE = re.compile(r"''|\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-3][0-7][0-7]|.)", re.DOTALL)
_NAMED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def number(token: PredicateToken, *, negative: bool) -> Literal:
    """A number with its sign. Raises CommandRefused."""
    match = _NUMBER.fullmatch(token.text)
    if match is None or not token.text.isascii():
        raise refused(token.start, f"{token.text} isn’t a number", "Write digits 0 to 9, a point, an exponent.")
    sign = "-" if negative else ""
    try:
        return _number(sign + match[1], (match[2] or "").upper())
    except (NotALiteral, InvalidOperation) as error:
        raise refused(token.start, str(error), "Correct the number.") from None
    except ValueError:
        raise refused(token.start, f"{token.text} isn’t a number", "Correct the number.") from None


def _number(text: str, suffix: str) -> Literal:
    if suffix in _SUFFIX:
        return literals.sized(_digits(text), _SUFFIX[suffix])
    if suffix == "F":
        return literals.floating(text, "float")
    if suffix == "D" or (not suffix and "e" in text.lower()):
        return literals.floating(text, "double")
    if "e" in text.lower():
        raise NotALiteral("a decimal is written without an exponent")
    return literals.decimal(Decimal(text)) if suffix or "." in text else literals.integer(_digits(text))


def _digits(text: str) -> int:
    if len(text) > 40 or not text.lstrip("-").isdigit():
        raise NotALiteral(f"{text[:50]} is no whole number of a size that Spark has")
    return int(text)


def text(token: PredicateToken) -> str:
    """A text's value: escapes as Spark reads them. Raises CommandRefused for half characters."""
    value = _ESCAPE.sub(_unescaped, token.text[1:-1])
    if any(0xD800 <= ord(character) <= 0xDFFF for character in value):
        raise refused(
            token.start, "an escape names half a character", "Write the character itself, or \\U and 8 digits."
        )
    return value


def _unescaped(match: re.Match[str]) -> str:
    escaped = match[1]
    if escaped is None:
        return "'"
    if escaped[0] in "uU" and len(escaped) > 1:
        code = int(escaped[1:], 16)
        return chr(code) if code < 0x110000 else "\ud800"  # beyond all characters: refused as half of one
    if len(escaped) == 3:
        return chr(int(escaped, 8))
    return _NAMED.get(escaped, escaped)


def typed(word: PredicateToken, token: PredicateToken) -> Literal:
    """`DATE '…'`, `TIMESTAMP '…'`, `X'…'`. Raises CommandRefused; words such as 'today' move in time and are no dates."""
    value, kind = text(token), word.text.upper()
    try:
        match kind:
            case "DATE":
                return literals.day(value)
            case "X":
                return Literal("binary", _binary(value))
            case "TIMESTAMP_NTZ":
                return literals.time(value, "timestamp_ntz")
        return literals.time(value, "timestamp")
    except NotALiteral as error:
        raise refused(
            word.start, str(error), "Correct the value; a moment that moves (today, now) isn’t supported."
        ) from None


def _binary(digits: str) -> bytes:
    if not re.fullmatch(r"(?:[0-9A-Fa-f]{2})*", digits):
        raise NotALiteral("X takes pairs of hexadecimal digits")
    return bytes.fromhex(digits)
