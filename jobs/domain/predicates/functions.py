"""The functions that a predicate may call: pure ones, whose answer depends on their arguments and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.domain.predicates import typenames


@dataclass(frozen=True, slots=True)
class Function:
    """`takes` names what each argument must be (see `accepts`); those from `needed` on may be left out, `repeats` repeats the last.

    `gives` is a type, or `same`: the first argument's.
    """

    name: str
    takes: tuple[str, ...]
    gives: str
    needed: int
    repeats: bool = False
    meaning: str = ""


def _f(
    name: str, takes: str, gives: str, meaning: str, *, needed: int | None = None, repeats: bool = False
) -> Function:
    kinds = tuple(takes.split())
    return Function(name, kinds, gives, len(kinds) if needed is None else needed, repeats, meaning)


_ALL = (
    _f("abs", "number", "same", "without its sign"),
    _f("ceil", "number", "whole", "rounded up"),
    _f("floor", "number", "whole", "rounded down"),
    _f("length", "text", "int", "number of characters"),
    _f("lower", "text", "string", "in lower case"),
    _f("upper", "text", "string", "in upper case"),
    _f("trim", "text", "string", "without blanks at both ends"),
    _f("ltrim", "text", "string", "without blanks at the beginning"),
    _f("rtrim", "text", "string", "without blanks at the end"),
    _f("substring", "text int int", "string", "a part, counted from 1: start, length", needed=2),
    _f("replace", "text text text", "string", "one text in place of another"),
    _f("concat", "text text", "string", "texts joined", repeats=True),
    _f("startswith", "text text", "boolean", "begins with"),
    _f("endswith", "text text", "boolean", "ends with"),
    _f("contains", "text text", "boolean", "has somewhere inside"),
    _f("year", "moment", "int", "the year"),
    _f("quarter", "moment", "int", "1 to 4"),
    _f("month", "moment", "int", "1 to 12"),
    _f("dayofmonth", "moment", "int", "1 to 31"),
    _f("dayofweek", "moment", "int", "1 (Sunday) to 7"),
    _f("dayofyear", "moment", "int", "1 to 366"),
    _f("weekofyear", "moment", "int", "ISO week"),
    _f("hour", "clock", "int", "0 to 23, UTC"),
    _f("minute", "clock", "int", "0 to 59"),
    _f("second", "clock", "int", "0 to 59"),
    _f("last_day", "date", "date", "the last day of its month"),
    _f("date_add", "date int", "date", "so many days later"),
    _f("date_sub", "date int", "date", "so many days earlier"),
    _f("datediff", "date date", "int", "days from the second to the first"),
    _f("coalesce", "any any", "same", "the first that isn’t NULL; all of one type", repeats=True),
    _f("nullif", "any any", "same", "NULL when both are equal; both of one type"),
    _f("isnan", "float", "boolean", "whether a float or double is NaN"),
    _f("md5", "text", "string", "MD5 of the UTF-8 text, in hexadecimal"),
    _f("sha2", "text int", "string", "SHA-2 of the UTF-8 text, of 224, 256, 384 or 512 bits"),
)

FUNCTIONS: Mapping[str, Function] = {function.name: function for function in _ALL}
ALIASES: Mapping[str, str] = {
    "ceiling": "ceil",
    "char_length": "length",
    "character_length": "length",
    "len": "length",
    "lcase": "lower",
    "ucase": "upper",
    "substr": "substring",
    "day": "dayofmonth",
    "date_diff": "datediff",
}

_MOVING = """
    now current_timestamp current_date current_time curdate localtimestamp unix_timestamp current_timezone rand random randn
    uuid shuffle monotonically_increasing_id spark_partition_id input_file_name input_file_block_start input_file_block_length
    current_user user session_user current_catalog current_database current_schema version randstr uniform
"""
MOVING = frozenset(_MOVING.split())
"""Functions whose result changes by itself: the run would differ from what people approved."""


def accepts(kind: str, type_name: str) -> bool:
    """Whether an argument of a type is what `takes` asks for."""
    match kind:
        case "int":
            return type_name in ("tinyint", "smallint", "int")
        case "moment":
            return type_name in typenames.TIMES
        case "clock":
            return type_name in ("timestamp", "timestamp_ntz")
        case "date":
            return type_name == "date"
        case "float":
            return type_name in typenames.FLOATS
        case "any":
            return typenames.family(type_name) not in (None, "null")
    return typenames.family(type_name) == kind


WORDS = {
    "number": "a number",
    "text": "text",
    "int": "a whole number (int)",
    "moment": "a date or a timestamp",
    "clock": "a timestamp",
    "date": "a date",
    "float": "a float or double",
    "any": "a plain value",
}
