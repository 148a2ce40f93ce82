"""A column's bounds from what statistics hold of it: those that no value leaves, and those by which Delta skips files.

The two differ where a writer's statistics are cut, rounded or contradict themselves. Source: Delta 4.4.0, DataSkippingReader.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from jobs.domain.predicates import typenames
from jobs.pruning.bounds import DOUBLE_DIGITS, Bounds, later_than_kept
from jobs.pruning.moments import as_dates, as_moments, slack_of
from jobs.pruning.outcomes import filled


@dataclass(frozen=True, slots=True)
class Sides:
    """The lowest and the highest value per file, null where unknown."""

    low: pa.Array
    high: pa.Array

    def where(self, condition: pa.Array, other: Sides | None = None) -> Sides:
        """These values where the condition is true, else the other's, or unknown ones."""
        low, high = (other.low, other.high) if other else (pa.scalar(None, side.type) for side in (self.low, self.high))
        return Sides(pc.if_else(condition, self.low, low), pc.if_else(condition, self.high, high))


@dataclass(frozen=True, slots=True)
class NullCounts:
    """NULLs and rows per file, null where unknown."""

    nulls: pa.Array
    records: pa.Array

    @property
    def known(self) -> pa.Array:
        return pc.and_(pc.is_valid(self.nulls), pc.is_valid(self.records))

    @property
    def only_nulls(self) -> pa.Array:
        return pc.fill_null(pc.and_(pc.equal(self.nulls, self.records), pc.greater(self.records, 0)), False)


def bounds_from(type_name: str, stored: Sides, counts: NullCounts, longest_text: int) -> Bounds:
    """The bounds as sure as they are, with `as_read` where Delta takes them otherwise. `stored` are JSON's texts and numbers."""
    written = _typed(stored, type_name)
    apart = _moved_apart(written, stored) if type_name == "timestamp" else written
    wrong = _contradictory(apart, counts)
    sure = _sure(type_name, _whole_texts(apart, longest_text) if type_name == "string" else apart, counts, wrong)
    if apart is written and not _taken_otherwise(type_name, counts) and not pc.any(wrong).as_py():
        return sure
    taken = written.where(wrong, Sides(sure.low, sure.high)) if type_name == "string" else written
    return replace(sure, as_read=_as_read(type_name, taken, counts))


def sides_of(type_name: str, stored: Sides, counts: NullCounts) -> tuple[Sides, pa.Array]:
    """The bounds that no value leaves, and the files whose statistics of the column can't be true: these have none.

    Texts are as they stand: cut perhaps, and with U+FFFD where a writer met bytes that are no text.
    """
    written = _typed(stored, type_name)
    apart = _moved_apart(written, stored) if type_name == "timestamp" else written
    wrong = _contradictory(apart, counts)
    return apart.where(pc.invert(wrong)), wrong


def _typed(stored: Sides, type_name: str) -> Sides:
    match type_name:
        case "string":
            return stored
        case "date":
            return Sides(as_dates(stored.low), as_dates(stored.high))
        case "timestamp" | "timestamp_ntz":
            low, high = (as_moments(side, type_name) for side in (stored.low, stored.high))
            return Sides(low, later_than_kept(high))
    return Sides(_finite(stored.low), _finite(stored.high))


def _finite(values: pa.Array) -> pa.Array:
    """Arrow reads NaN and Infinity as they stand; no value is compared with them as with a number."""
    if not pa.types.is_floating(values.type):
        return values
    return pc.if_else(pc.is_finite(values), values, pa.scalar(None, values.type))


def _moved_apart(moments: Sides, texts: Sides) -> Sides:
    """The moments by as much as their texts may be wrong; the very same where none is."""
    before, behind = slack_of(texts.low, moments.low), slack_of(texts.high, moments.high)
    if before is None and behind is None:
        return moments
    low = moments.low if before is None else pc.subtract(moments.low, before)
    return Sides(low, moments.high if behind is None else pc.add(moments.high, behind))


def _contradictory(sides: Sides, counts: NullCounts) -> pa.Array:
    """Where statistics can't be true, so that nothing that they say of the column is believed."""
    valued = pc.or_(pc.is_valid(sides.low), pc.is_valid(sides.high))
    faults = (
        pc.greater(sides.low, sides.high),
        pc.less(counts.nulls, 0),
        pc.greater(counts.nulls, counts.records),
        pc.and_(counts.only_nulls, valued),
    )
    return reduce(pc.or_, (pc.fill_null(fault, False) for fault in faults))


def _whole_texts(sides: Sides, longest: int) -> Sides:
    """Upper bounds that may be cut off are unknown; a lower bound stays one when it is cut. U+FFFD may stand for bytes below it."""
    unknown = pa.scalar(None, pa.string())
    uncut = pc.and_(
        pc.less(pc.utf8_length(sides.high), longest),
        pc.invert(pc.match_substring_regex(sides.high, "[\ufffd\U0010ffff]")),
    )
    plain = pc.invert(pc.match_substring(sides.low, "\ufffd"))
    return Sides(pc.if_else(plain, sides.low, unknown), pc.if_else(uncut, sides.high, unknown))


def _sure(type_name: str, sides: Sides, counts: NullCounts, wrong: pa.Array) -> Bounds:
    """Of a float nothing but its NULLs: its bounds say 0.7 where its rows, compared as doubles, are 0.699999988."""
    nothing = pa.nulls(len(wrong), pa.int64())
    believed = Sides(nothing, nothing) if type_name == "float" else sides.where(pc.invert(wrong))
    may_null = pc.or_(pc.fill_null(pc.not_equal(counts.nulls, 0), True), wrong)
    return Bounds(type_name, believed.low, believed.high, may_null, pc.and_not(counts.only_nulls, wrong))


def _taken_otherwise(type_name: str, counts: NullCounts) -> bool:
    """Whether Delta takes sound statistics of this type otherwise: it skips by floats and decimals as they are written."""
    if type_name == "double":
        return not pc.all(counts.known).as_py()
    return type_name == "float" or _may_be_rounded(type_name)


def _may_be_rounded(type_name: str) -> bool:
    """Whether a writer that puts decimals down as doubles, as deltalake does, may have lost digits."""
    return type_name.startswith("decimal") and typenames.decimal_parts(type_name)[0] > DOUBLE_DIGITS


def _as_read(type_name: str, taken: Sides, counts: NullCounts) -> Bounds:
    """The bounds by which Delta skips files, as they are written, whatever speaks against them.

    It skips none by bounds whose numbers of rows and NULLs are unknown (verifyStatsForFilter), and asks of NULLs whether there are more
    than 0, of other values whether there are fewer NULLs than rows (constructNotNullFilter).
    """
    known = taken.where(counts.known)
    no_value = pc.and_(pc.greater_equal(counts.nulls, counts.records), pc.greater(counts.records, 0))
    return Bounds(
        "double" if type_name == "float" else type_name,
        known.low,
        known.high,
        may_null=pc.fill_null(pc.greater(counts.nulls, 0), True),
        only_null=pc.fill_null(no_value, False),
        rounded=filled(len(no_value), True) if _may_be_rounded(type_name) else None,
    )
