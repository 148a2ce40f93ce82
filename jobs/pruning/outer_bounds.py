"""A column's lowest and highest bound over all files, as texts that no value lies outside of."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext

import pyarrow as pa
import pyarrow.compute as pc

from jobs.domain.predicates import typenames
from jobs.pruning.bounds import DOUBLE_SLACK
from jobs.pruning.stored_bounds import Sides

TIMES = ("timestamp", "timestamp_ntz")
_GOES_ON = "\U0010ffff"  # behind an upper bound that was cut: no text that begins with it is above
_UNREADABLE = "\ufffd"  # what Delta's writers put there as well, and what may stand for bytes above or below it
_DIGITS = 200  # with which decimals are reckoned: more than they have


@dataclass(frozen=True, slots=True)
class Outer:
    """`low` and `high` as Spark writes values of the type, None where no file tells them; a text that is cut may go on. `known` are the
    files that tell both."""

    low: str | None
    high: str | None
    low_is_cut: bool
    high_is_cut: bool
    known: pa.Array


def outer_bounds(type_name: str, kept_as: str, sides: Sides, longest_text: int) -> Outer:
    """The bounds of a column whose files keep them as `kept_as` (`prediction.kept_as`); `sides` are `stored_bounds.sides_of`'s."""
    sides = _of_type(type_name, kept_as, sides, longest_text)
    known = pc.and_(pc.is_valid(sides.low), pc.is_valid(sides.high))
    low, high = pc.min(sides.low), pc.max(sides.high)
    if type_name == "string":
        least, largest = low.as_py(), high.as_py()
        low_is_cut = least is not None and len(least) >= longest_text
        high_is_cut = largest is not None and largest.endswith(_GOES_ON)
        return Outer(least, largest.rstrip(_GOES_ON) if largest else largest, low_is_cut, high_is_cut, known)
    return Outer(_text(low, type_name, ROUND_FLOOR), _text(high, type_name, ROUND_CEILING), False, False, known)


def _of_type(type_name: str, kept_as: str, sides: Sides, longest_text: int) -> Sides:
    if type_name == "string":
        return _whole(sides, longest_text)
    if kept_as == type_name:
        return sides
    if type_name == "double":
        return _as_floats(sides)
    return sides.where(pa.scalar(False))  # of no type that widens to this one


def _whole(sides: Sides, longest: int) -> Sides:
    """Texts by which files can be compared. An upper one that may go on ends with what is above all texts that begin with it."""
    high = pc.replace_substring_regex(sides.high, f"(?s){_UNREADABLE}.*", _GOES_ON)
    may_go_on = pc.and_not(pc.greater_equal(pc.utf8_length(high), longest), pc.ends_with(high, _GOES_ON))
    high = pc.if_else(may_go_on, pc.binary_join_element_wise(high, _GOES_ON, ""), high)
    no_bound = pc.equal(high, _GOES_ON)
    plain = pc.invert(pc.match_substring(sides.low, _UNREADABLE))
    nothing = pa.scalar(None, pa.string())
    return Sides(pc.if_else(plain, sides.low, nothing), pc.if_else(no_bound, nothing, high))


def _as_floats(sides: Sides) -> Sides:
    """Apart by as much as older files' floats differ as doubles from what their statistics say: 0.7 is 0.699999988."""
    low, high = (_as_float(side) for side in (sides.low, sides.high))
    return Sides(pc.min_element_wise(sides.low, low), pc.max_element_wise(sides.high, high))


def _as_float(side: pa.Array) -> pa.Array:
    """The float that these doubles may be the text of; what is none was written as a double."""
    floats = pc.cast(pc.cast(side, pa.float32(), safe=False), pa.float64())
    return pc.if_else(pc.is_finite(floats), floats, side)


def _text(side: pa.Scalar, type_name: str, rounding: str) -> str | None:
    """As Spark writes it, a time in UTC."""
    if not side.is_valid:
        return None
    if type_name in TIMES:
        written = pc.cast(pc.cast(side, pa.timestamp("us")), pa.string()).as_py()
        return str(written).rstrip("0").rstrip(".")
    if type_name == "date":
        return str(pc.cast(side, pa.string()).as_py())
    return _decimal(side.as_py(), type_name, rounding) if type_name.startswith("decimal") else str(side.as_py())


def _decimal(value: float, type_name: str, rounding: str) -> str | None:
    """The decimal that was read as a double; where that may have lost digits, one beyond it. None for a type that is none."""
    try:
        digits, scale = typenames.decimal_parts(type_name)
    except ValueError:
        return None
    with localcontext(prec=_DIGITS):
        step = Decimal(1).scaleb(-scale)
        most = Decimal(10) ** (digits - scale) - step
        read = max(-most, min(most, Decimal(value)))
        lost = abs(read) * Decimal(DOUBLE_SLACK)
        nearest = read.quantize(step, ROUND_HALF_EVEN)
        if 2 * lost < step and abs(nearest - read) <= lost:
            return f"{nearest + 0:f}"
        beyond = (read - lost if rounding == ROUND_FLOOR else read + lost).quantize(step, rounding)
        return f"{max(-most, min(most, beyond)):f}"
