"""Spark's types as predicates see them: names, families, and what may be cast to what under ANSI rules."""

from __future__ import annotations

import re

INTEGERS = ("tinyint", "smallint", "int", "bigint")
FLOATS = ("float", "double")
TIMES = ("date", "timestamp", "timestamp_ntz")
SIMPLE = ("boolean", *INTEGERS, *FLOATS, "string", "binary", *TIMES)
ALIASES = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "timestamp_ltz": "timestamp",
    "dec": "decimal",
    "numeric": "decimal",
}

_DECIMAL = re.compile(r"decimal(?:\((\d{1,2})(?:,(\d{1,2}))?\))?", re.ASCII)

# From a family to the families that ANSI casts know (Cast.canAnsiCast); text may fail on a value, and says so when it runs.
_CASTS = {
    "text": ("text", "number", "boolean", "time", "binary"),
    "number": ("text", "number", "boolean"),
    "boolean": ("text", "number", "boolean"),
    "time": ("text", "time"),
    "binary": ("text", "binary"),
    "null": ("text", "number", "boolean", "time", "binary"),
}


def parse_type(text: str) -> str:
    """The one name of a type that a predicate may cast to (`INTEGER` is `int`). Raises ValueError with what there is."""
    word = re.sub(r"\s+", "", text).lower()
    word = ALIASES.get(word, word)
    head, _, rest = word.partition("(")
    word = ALIASES.get(head, head) + ("(" + rest if rest else "")
    if word in SIMPLE:
        return word
    if match := _DECIMAL.fullmatch(word):
        precision, scale = int(match[1] or 10), int(match[2] or 0)
        if 1 <= precision <= 38 and scale <= precision:
            return f"decimal({precision},{scale})"
    raise ValueError(f"a type is one of {', '.join(SIMPLE)}, decimal(digits,scale)")


def family(type_name: str) -> str | None:
    """number, text, boolean, time, binary or null; None for types that can only be asked for NULL."""
    if type_name in INTEGERS or type_name in FLOATS or type_name.startswith("decimal"):
        return "number"
    if type_name in ("string", "string collate") or type_name.startswith(("char(", "varchar(")):
        return "text"
    if type_name in TIMES:
        return "time"
    return {"boolean": "boolean", "binary": "binary", "void": "null"}.get(type_name)


def can_cast(source: str, target: str) -> bool:
    """Whether Spark knows a cast from one type to another."""
    return family(target) in _CASTS.get(family(source) or "", ())


def decimal_parts(type_name: str) -> tuple[int, int]:
    """Digits in all and after the point of `decimal(p,s)`."""
    match = _DECIMAL.fullmatch(type_name)
    if not match:
        raise ValueError(f"{type_name} is no decimal")
    return int(match[1] or 10), int(match[2] or 0)


def digits_to_meet(*type_names: str) -> int:
    """Digits that a decimal needs to hold values of all these whole and decimal types; beyond 38 Spark rounds before it compares."""
    rooms = [_room(name) for name in type_names]
    return max(whole for whole, _ in rooms) + max(scale for _, scale in rooms)


def _room(type_name: str) -> tuple[int, int]:
    if type_name in INTEGERS:
        return {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}[type_name], 0
    precision, scale = decimal_parts(type_name)
    return precision - scale, scale
