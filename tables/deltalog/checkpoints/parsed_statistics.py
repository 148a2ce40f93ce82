"""A checkpoint's `stats_parsed` as the JSON texts that Delta writes into `stats`, built column by column."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.rules.offsets import WHOLE_MINUTES_SINCE

_ODD_TEXT = r'["\\\x00-\x1f]'
_odd_byte = re.compile(_ODD_TEXT.encode()).search
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS = date(1, 1, 1).toordinal() - _EPOCH.toordinal(), date(9999, 12, 31).toordinal() - _EPOCH.toordinal()
_SECONDS = int((WHOLE_MINUTES_SINCE - _EPOCH).total_seconds()), (_DAYS[1] + 1) * 86_400 - 1
_UNITS = {"ms": 1_000, "us": 1_000_000}  # in a second
_EXACT_DIGITS = 15  # of a decimal, which a double holds
_MOST_PLACES = 6  # of a decimal, which Arrow writes without an exponent


Parts = list[Any]
"""Texts, and arrays of texts, that one after the other are the JSON of each value; null where one of them is null."""


def texts(values: pa.Array, lost: list[pa.DataType]) -> pa.Array:
    """JSON of each value, null for null; members of an object without a value are left out.

    One that can't be told is null, and takes no other with it; its type is added to `lost`.
    """
    return _joined(_parts(values, lost), len(values))


def _joined(parts: Parts, count: int) -> pa.Array:
    merged: Parts = []
    for part in parts:
        if merged and isinstance(part, str) and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    if len(merged) == 1:
        return pa.repeat(merged[0], count) if isinstance(merged[0], str) else merged[0]
    return pc.binary_join_element_wise(*merged, "")


def _parts(values: pa.Array, lost: list[pa.DataType]) -> Parts:
    kind = values.type
    if values.null_count == len(values):
        return [pa.nulls(len(values), pa.string())]
    if pa.types.is_dictionary(kind):
        return _parts(values.dictionary.take(values.indices), lost)
    if pa.types.is_struct(kind):
        return _object(values, lost)
    write = next((write for fits, write in _QUICK if fits(kind)), None)
    parts = write(values) if write is not None else None
    return [pa.array([_text(value) for value in _held(values, lost)], pa.string())] if parts is None else parts


def _object(values: pa.StructArray, lost: list[pa.DataType]) -> Parts:
    parts: Parts = []
    for field, member in zip(values.type, values.flatten(), strict=True):
        parts += _member(f",{json.dumps(field.name, ensure_ascii=False)}:", _parts(member, lost), len(values))
    if parts and isinstance(parts[0], str):
        parts[0] = parts[0][1:]
    elif parts:  # whose comma is the first differs from row to row
        parts = [pc.binary_replace_slice(_joined(parts, len(values)), 0, 1, "")]
    whole = ["{", *parts, "}"]
    return [pc.if_else(pc.is_valid(values), _joined(whole, len(values)), None)] if values.null_count else whole


def _member(label: str, parts: Parts, count: int) -> Parts:
    """A member of an object, nothing where it has no value."""
    nulls = max((part.null_count for part in parts if not isinstance(part, str)), default=0)
    if nulls == count:
        return []
    return [pc.coalesce(_joined([label, *parts], count), "")] if nulls else [label, *parts]


def _plain(values: pa.Array) -> pa.Array:
    return pc.cast(values, pa.string())


def _written(values: pa.Array) -> Parts:
    return [_plain(values)]


def _numbers(values: pa.Array) -> Parts:
    """Whole numbers; of counts of nulls, most are the same for all files."""
    ends = pc.min_max(values).as_py()
    same = ends["min"] == ends["max"] and not values.null_count
    return [str(ends["min"])] if same else _written(values)


def _strings(values: pa.Array) -> Parts | None:
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:  # parquet's texts come as they are, and some are not UTF-8
        return None
    content = values.buffers()[2]
    if content is None or not _odd_byte(content):
        return ['"', values, '"']
    odd, quoted = (
        pc.fill_null(pc.match_substring_regex(values, _ODD_TEXT), False),
        _joined(['"', values, '"'], len(values)),
    )
    escaped = [json.dumps(text, ensure_ascii=False) for text in values.filter(odd).to_pylist()]
    return [pc.replace_with_mask(quoted, odd, pa.array(escaped, pa.string()))]


def _doubles(values: pa.Array) -> Parts | None:
    """Finite ones; Arrow writes 1.0 as 1, which JSON would take for a whole number."""
    if not pc.all(pc.is_finite(values)).as_py():
        return None
    values = pc.cast(values, pa.float64())
    text = _plain(values)
    if not pc.any(pc.equal(pc.trunc(values), values)).as_py():
        return [text]
    broken = pc.match_substring_regex(text, "[.e]")
    return [pc.if_else(broken, text, pc.binary_join_element_wise(text, ".0", ""))]


def _dates(values: pa.Array) -> Parts | None:
    """Days of the years that Python has."""
    return ['"', _plain(values), '"'] if _within(values.view(pa.int32()), *_DAYS) else None


def _times(values: pa.Array) -> Parts | None:
    """Milliseconds where these say it all: Delta parsed the time from such a text. A cut-off maximum would be too low."""
    unit, numbers = values.type.unit, values.view(pa.int64())
    if not _within(numbers, *(second * _UNITS[unit] for second in _SECONDS)):
        return None
    plain = values.view(pa.timestamp(unit))
    millis = pc.cast(plain, pa.timestamp("ms"), safe=False)
    text = _plain(millis)
    if unit == "us":
        exact = pc.equal(pc.cast(millis, pa.timestamp("us")), plain)
        text = text if pc.all(exact).as_py() else pc.if_else(exact, text, _plain(plain))
    return ['"', pc.binary_replace_slice(text, 10, 11, "T"), 'Z"' if values.type.tz else '"']


def _within(numbers: pa.Array, low: int, high: int) -> bool:
    ends = pc.min_max(numbers).as_py()
    return bool(low <= ends["min"] and ends["max"] <= high)


def _decimals(values: pa.Array) -> Parts:
    text = _plain(values)
    return [pc.ascii_rtrim(pc.ascii_rtrim(text, "0"), ".") if values.type.scale else text]


_QUICK: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], Parts | None]], ...] = (
    (pa.types.is_integer, _numbers),
    (pa.types.is_boolean, _written),
    (pa.types.is_string, _strings),
    (lambda kind: kind in (pa.float32(), pa.float64()), _doubles),
    (pa.types.is_date32, _dates),
    (lambda kind: pa.types.is_timestamp(kind) and kind.unit in ("ms", "us") and kind.tz in (None, "UTC"), _times),
    (
        lambda kind: (
            pa.types.is_decimal128(kind) and kind.precision <= _EXACT_DIGITS and 0 <= kind.scale <= _MOST_PLACES
        ),
        _decimals,
    ),
)


def _held(values: pa.Array, lost: list[pa.DataType]) -> list[Any]:
    """The values as Python has them."""
    try:
        return cast(list[Any], values.to_pylist())
    except (pa.ArrowException, ValueError, TypeError, OverflowError):  # a time beyond the year 9999, bad UTF-8
        if len(values) == 1:
            lost.append(values.type)
            return [None]
    middle = len(values) // 2
    return _held(values.slice(0, middle), lost) + _held(values.slice(middle), lost)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'  # as Delta writes them
    return json.dumps(value, default=_json_value, separators=(",", ":"), ensure_ascii=False)


def _json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        precise = value.microsecond % 1000
        text = value.isoformat(timespec="microseconds" if precise else "milliseconds")
        # Delta parsed it from a text whose offset may have lacked its seconds: only Z says that the time is exact.
        return text if value.tzinfo and value < WHOLE_MINUTES_SINCE else text.replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)
