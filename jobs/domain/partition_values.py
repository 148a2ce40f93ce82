"""The values of partition columns: how Spark reads them from the names of directories, and the types that they fit.

Of types there are two questions and two sets of rules. `casts` answers whether Spark's non-ANSI cast, which CONVERT uses, reads a text as
a type at all (`01` as int is 1). `ValueSet.propose` looks for the narrowest type that gives every text back unchanged (`01` stays text).
Standard library only; also runs inside Spark's Python workers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal, InvalidOperation
from urllib.parse import unquote

from console.base.text.counted import counted

HIVE_DEFAULT = "__HIVE_DEFAULT_PARTITION__"
ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")

# Distinct values remembered per column: beyond it counts become lower bounds, the proposed type stays right.
DISTINCT_LIMIT = 10_000

INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
LADDER = ("boolean", "int", "bigint", "decimal", "date", "timestamp")

_TRUE_FALSE = frozenset(["t", "true", "y", "yes", "1", "f", "false", "n", "no", "0"])
_SPECIAL_FLOATS = frozenset(["inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "nan"])
# Spark trims what is at most a space, control characters included.
_BLANKS = "".join(chr(code) for code in range(33))
_INTEGER_CAST = re.compile(r"([+-]?)(\d*)(?:\.\d*)?", re.ASCII)
_FLOAT_CAST = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?|[+-]?(?:NaN|Infinity)", re.ASCII)
# BigDecimal reads the digits of every script, as Python does; no other type of Spark does.
_DECIMAL_CAST = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_DATE_CAST = re.compile(r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
# A zone may follow seconds alone, and a T or a blank needs at least an hour.
_TIMESTAMP_CAST = re.compile(
    r"([+-]?)(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.\d*)?\s*"
    r"(?:Z|UTC|GMT|UT|[+-]\d{1,2}(?::?\d{1,2})?|(?:UTC|GMT|UT)[+-]\d{1,2}(?::\d{1,2})?|[A-Za-z_]+/[A-Za-z_/]+)?)?)?)?)?)?",
    re.ASCII,
)

_WHOLE = re.compile(r"-?(?:0|[1-9]\d*)", re.ASCII)
_FRACTION = re.compile(r"-?(0|[1-9]\d*)(?:\.(\d+))?", re.ASCII)
_PADDED = re.compile(r"[+-]?\d+(?:\.\d+)?", re.ASCII)
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_TIMESTAMP = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,6})?)?)?", re.ASCII)


def casts(type_name: str, text: str) -> bool:
    """Whether Spark's non-ANSI cast in UTC reads `text` as `type_name` (a name that partitions.parse_schema gives).

    CONVERT fails with DELTA_FAILED_CAST_PARTITION_VALUE where this is False. Rules of UTF8String, Decimal and
    SparkDateTimeUtils of Spark 4.2; tests/jobs/engine compares them with the real cast.
    """
    trimmed = text.strip(_BLANKS)
    if type_name in INTEGERS:
        return _casts_integer(INTEGERS[type_name], trimmed)
    if type_name.startswith("decimal("):
        precision, scale = (int(part) for part in type_name[8:-1].split(","))
        return _casts_decimal(precision, scale, trimmed)
    match type_name:
        case "string":
            return True
        case "boolean":
            return trimmed.lower() in _TRUE_FALSE
        case "float" | "double":
            return bool(_FLOAT_CAST.fullmatch(trimmed)) or trimmed.lower() in _SPECIAL_FLOATS
        case "date":
            return _casts_date(_DATE_CAST.fullmatch(trimmed))
        case "timestamp":
            return _casts_timestamp(trimmed)
    raise ValueError(f"{type_name} is no type of a partition column")


def _casts_integer(bits: int, text: str) -> bool:
    match = _INTEGER_CAST.fullmatch(text)
    if not match or text in ("", "+", "-"):
        return False
    number = int(match[1] + (match[2] or "0"))
    return bool(-(1 << (bits - 1)) <= number < 1 << (bits - 1))


def _casts_decimal(precision: int, scale: int, text: str) -> bool:
    if not _DECIMAL_CAST.fullmatch(text):
        return False
    try:
        number = Decimal(text)
    except InvalidOperation:
        return False
    # Half-up rounding to the scale may carry into one more digit: 9.96 is no decimal(2,1).
    limit = Decimal(10) ** (precision - scale) - Decimal(5) * Decimal(10) ** (-scale - 1)
    return abs(number) < limit


def _casts_date(match: re.Match[str] | None) -> bool:
    if not match:
        return False
    return _is_day(int(match[2]), int(match[3] or 1), int(match[4] or 1))


def _casts_timestamp(text: str) -> bool:
    match = _TIMESTAMP_CAST.fullmatch(text)
    if not match or not _is_day(int(match[2]), int(match[3] or 1), int(match[4] or 1)):
        return False
    hour, minute, second = (int(match[group] or 0) for group in (5, 6, 7))
    return hour < 24 and minute < 60 and second < 60


def _is_day(year: int, month: int, day: int) -> bool:
    # Python's calendar ends in 9999, Spark's doesn't; leap years repeat every 400 years.
    try:
        date(2000 + year % 400, month, day)
    except ValueError:
        return False
    return True


class ValueSet:
    """The distinct values of one partition column, folded: add texts, merge sets of other tasks, then propose a type.

    `nulls` counts directories named `__HIVE_DEFAULT_PARTITION__`, `misses` maps each type of LADDER to how many values it
    can't give back unchanged and the first of them in text order. Plain attributes, so that it pickles by value.
    """

    def __init__(self, limit: int = DISTINCT_LIMIT) -> None:
        self.limit = limit
        self.seen: set[str] = set()
        self.more = False
        self.nulls = 0
        self.padded: tuple[int, str] | None = None
        self.misses: dict[str, tuple[int, str]] = {}
        self.digits = (0, 0)

    def add(self, text: str) -> None:
        """Counts one value; a value that was seen before changes nothing."""
        if text in self.seen:
            return
        if len(self.seen) < self.limit:
            self.seen.add(text)
        else:
            self.more = True
        for type_name in _misfits(text):
            self.misses[type_name] = _count(self.misses.get(type_name), text)
        if _PADDED.fullmatch(text) and not _FRACTION.fullmatch(text):
            self.padded = _count(self.padded, text)
        self.digits = _wider(self.digits, text)

    def merge(self, other: ValueSet) -> None:
        """Adds the values of another task."""
        self.nulls += other.nulls
        self.more = self.more or other.more
        for text in sorted(other.seen):
            self.add(text)
        if not other.more:
            return
        # Values beyond the other's limit are known by their verdicts only.
        for type_name, (count, text) in other.misses.items():
            known = self.misses.get(type_name)
            self.misses[type_name] = (max(count, known[0]), min(text, known[1])) if known else (count, text)
        self.padded = self.padded or other.padded
        self.digits = (max(self.digits[0], other.digits[0]), max(self.digits[1], other.digits[1]))

    def examples(self, limit: int = 5) -> tuple[str, ...]:
        return tuple(_sorted(self.seen)[:limit])

    def propose(self) -> tuple[str, str]:
        """(type, evidence): the narrowest type that gives every value back unchanged, and why none narrower does."""
        if not self.seen:
            return "string", "no value but NULL: nothing tells a type"
        for type_name in LADDER:
            if type_name not in self.misses and not (type_name == "decimal" and sum(self.digits) > 38):
                return self._named(type_name), f"{self._counted()}, {self._why(type_name)}{self._null_text()}"
        return "string", f"{self._counted()}; {self._why_string()}{self._null_text()}"

    def _named(self, type_name: str) -> str:
        if type_name != "decimal":
            return type_name
        whole, scale = self.digits
        return f"decimal({max(whole + scale, 1)},{scale})"

    def _counted(self) -> str:
        count = len(self.seen)
        if self.more:
            return f"more than {self.limit:,} values"
        return counted(count, "value")

    def _why(self, type_name: str) -> str:
        low, high = _ends(type_name, self.seen)
        span = f"“{low}”" if low == high else f"from “{low}” to “{high}”"
        match type_name:
            case "boolean":
                return "each true or false"
            case "int":
                return f"whole numbers {span}"
            case "bigint":
                return f"whole numbers {span}; “{self.misses['int'][1]}” is too large for int"
            case "decimal":
                return f"numbers {span}; “{self.misses['bigint'][1]}” is not a whole number that bigint holds"
            case "date":
                return f"dates {span}"
        return f"times {span}, read in UTC; “{self.misses['date'][1]}” has a time of day that date would drop"

    def _why_string(self) -> str:
        if self.padded and self._all_numbers():
            count, text = self.padded
            begins = "begins" if count == 1 else "begin"
            return f"all look like numbers, but {count:,} {begins} with 0: as int, {text} becomes {_unpadded(text)}"
        if self._all_numbers():
            return f"numbers of {sum(self.digits)} digits are more than decimal holds (38)"
        parts = [self._ruled_out(name) for name in ("int", "date") if self._mostly(name)]
        if parts:
            return "; ".join(parts)
        return f"“{self.misses['timestamp'][1]}” isn’t a number, date, time or boolean"

    def _ruled_out(self, type_name: str) -> str:
        count, text = self.misses[type_name]
        what = {"int": "numbers", "date": "dates"}[type_name]
        total = len(self.seen)
        return f"{total - count:,} of {total:,} are {what}, but “{text}” is not"

    def _mostly(self, type_name: str) -> bool:
        return not self.more and self.misses[type_name][0] * 2 < len(self.seen)

    def _all_numbers(self) -> bool:
        return all(_PADDED.fullmatch(text) for text in self.seen)

    def _null_text(self) -> str:
        if not self.nulls:
            return ""
        return f"; {self.nulls:,} NULL director{'y' if self.nulls == 1 else 'ies'}"


def _count(known: tuple[int, str] | None, text: str) -> tuple[int, str]:
    return (known[0] + 1, min(known[1], text)) if known else (1, text)


def _misfits(text: str) -> Iterator[str]:
    """The types of LADDER that don't give `text` back unchanged."""
    if text not in ("true", "false"):
        yield "boolean"
    whole = _WHOLE.fullmatch(text) is not None and text != "-0"
    if not whole or not _casts_integer(32, text):
        yield "int"
    if not whole or not _casts_integer(64, text):
        yield "bigint"
    if not _FRACTION.fullmatch(text):
        yield "decimal"
    day = _DATE.fullmatch(text)
    if not day or not _is_day(*(int(part) for part in day.groups())):
        yield "date"
    if not _TIMESTAMP.fullmatch(text) or not _casts_timestamp(text):
        yield "timestamp"


def _wider(digits: tuple[int, int], text: str) -> tuple[int, int]:
    match = _FRACTION.fullmatch(text)
    if not match:
        return digits
    whole = 0 if match[1] == "0" else len(match[1])
    return max(digits[0], whole), max(digits[1], len(match[2] or ""))


def _ends(type_name: str, texts: Iterable[str]) -> tuple[str, str]:
    ordered = _sorted(texts, numbers=type_name in ("int", "bigint", "decimal"))
    return ordered[0], ordered[-1]


def _sorted(texts: Iterable[str], *, numbers: bool | None = None) -> list[str]:
    known = list(texts)
    if numbers is None:
        numbers = all(_PADDED.fullmatch(text) for text in known)
    return sorted(known, key=Decimal) if numbers else sorted(known)


def _unpadded(text: str) -> str:
    number = Decimal(text)
    return str(int(number)) if number == number.to_integral_value() else str(number)


def unescaped(name: str) -> str:
    """A partition value or name as Spark reads it from a directory: each %XX is one character."""
    return ESCAPED.sub(lambda match: chr(int(match[1], 16)), name)


def meant(name: str) -> str | None:
    """A partition's name as percent-encoded UTF-8, where Spark reads another text; None where it reads the same, or it isn't UTF-8.

    pyarrow and others escape the bytes of UTF-8. Spark (PartitioningUtils, ExternalCatalogUtils.unescapePathName) takes each %XX for
    one character, which is the same for ASCII alone.
    """
    try:
        text = unquote(name, errors="strict")
    except UnicodeDecodeError:
        return None
    return None if text == unescaped(name) else text


def partition_values(relative: str) -> list[tuple[str, str]] | None:
    """(column, value) pairs of a directory, outermost first; None if a part is an incomplete pair (`p=`, `=1`).

    Like PartitioningUtils.parsePartition: from the deepest directory upwards, skips plain names until the first pair, and ends
    at the first plain name above the pairs.
    """
    pairs: list[tuple[str, str]] = []
    for part in reversed(relative.split("/")) if relative else ():
        name, mark, value = part.partition("=")
        if not mark:
            if pairs:
                break
            continue
        if not name or not value:
            return None
        pairs.append((unescaped(name), unescaped(value)))
    return pairs[::-1]
