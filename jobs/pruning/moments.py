"""Dates and times as statistics and partition values write them, and how far a written time may lie from the true one."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from jobs.pruning.bounds import micros_of
from tables.deltalog.rules.offsets import WHOLE_MINUTES_SINCE

_DAY = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_CLOCK = r"([01]\d|2[0-3]):[0-5]\d"
_DATE = f"^{_DAY}$"
_LOCAL = rf"^{_DAY}T{_CLOCK}:[0-5]\d(\.\d{{1,6}})?$"
_MOMENT = rf"{_LOCAL[:-1]}(Z|[+-]([01]\d|2[0-3]):?[0-5]\d)$"
_TO_THE_SECOND = rf"{_LOCAL[:-1]}[+-]{_CLOCK}:[0-5]\d$"
_QUARTERS = "[+-][0-9]{2}:?(00|15|30|45)$"
_CUT = 59_000_000  # microseconds


def as_dates(texts: pa.Array) -> pa.Array:
    """`2020-01-31` as days; anything else is unknown."""
    return _cast_where(texts, _DATE, pa.date32())


def as_moments(texts: pa.Array, type_name: str) -> pa.Array:
    """ISO times as microseconds since 1970 in UTC. A `timestamp` without a zone is unknown, and so is a `timestamp_ntz` with one."""
    if type_name == "timestamp_ntz":
        return pc.cast(_cast_where(texts, _LOCAL, pa.timestamp("us")), pa.int64())
    moments = pc.cast(_cast_where(texts, _MOMENT, pa.timestamp("us", "UTC")), pa.int64())
    precise = pc.fill_null(pc.match_substring_regex(texts, _TO_THE_SECOND), False)
    if not pc.any(precise).as_py():
        return moments
    return pc.replace_with_mask(moments, precise, pa.array(map(_micros, texts.filter(precise).to_pylist()), pa.int64()))


def _micros(text: str) -> int | None:
    try:
        return micros_of(datetime.fromisoformat(text))
    except ValueError:
        return None


def slack_of(texts: pa.Array, moments: pa.Array) -> pa.Array | None:
    """By how many microseconds the true bound may lie before or behind each of these `timestamp` bounds; None where all are exact.

    Delta 3.2 and 3.3 write the offset without its seconds (+00:53 for Stockholm's +00:53:28 of 1850), so that the written time is up to
    59 s off (delta-io/delta 5249). Z has none to lose, and no place has had any since 1972; an offset of whole quarters proves nothing
    before: Moscow had +02:30:17 until 1916.
    """
    zoned = pc.and_(pc.invert(pc.ends_with(texts, "Z")), pc.is_valid(moments))
    if not pc.any(zoned).as_py():
        return None
    late = pc.greater_equal(moments, micros_of(WHOLE_MINUTES_SINCE))
    sound = pc.and_(pc.match_substring_regex(texts, _QUARTERS), late)
    doubtful = pc.and_not(zoned, pc.or_(sound, pc.match_substring_regex(texts, _TO_THE_SECOND)))
    doubtful = pc.fill_null(doubtful, False)
    return pc.if_else(doubtful, _CUT, 0) if pc.any(doubtful).as_py() else None


def _cast_where(texts: pa.Array, pattern: str, kind: pa.DataType) -> pa.Array:
    return _cast(pc.if_else(pc.match_substring_regex(texts, pattern), texts, pa.scalar(None, pa.string())), kind)


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """One text that is none (the 30th of February) is unknown, and no other."""
    try:
        return pc.cast(texts, kind)
    except pa.ArrowInvalid:
        if len(texts) == 1:
            return pa.nulls(1, kind)
    middle = len(texts) // 2
    return pa.concat_arrays([_cast(texts.slice(0, middle), kind), _cast(texts.slice(middle), kind)])
