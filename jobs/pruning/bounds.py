"""A column's values in each file, hemmed in: every value lies between `low` and `high`, and so many rows may be NULL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.domain.predicates import typenames
from jobs.domain.predicates.casting import Fails, Undecided
from jobs.domain.predicates.constants import as_compared
from jobs.domain.predicates.literals import MAX_DIGITS
from jobs.domain.predicates.tree import Literal
from jobs.pruning.outcomes import Outcome, filled, negated

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_MILLISECOND = 1_000  # statistics keep milliseconds, values microseconds
DOUBLE_SLACK = 1e-15  # the share; more than what reading a decimal and a constant as doubles can lose
DOUBLE_DIGITS = 15
"""Every decimal of so many digits is the same again after it has been a double."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """`low` and `high` are null where unknown; `may_null`, `only_null` have no nulls. `type` is the column's type.

    A double may also be NaN, which is above `high` whatever `high` says, unless `counts_nan`. `rounded` says of which decimals the bounds
    are compared as they are written though a double has rounded them. `as_read` are the bounds by which Delta skips files, where they
    differ from these.
    """

    type: str
    low: pa.Array
    high: pa.Array
    may_null: pa.Array
    only_null: pa.Array
    exact: bool = False
    counts_nan: bool = False
    rounded: pa.Array | None = None
    as_read: Bounds | None = None

    @property
    def may_nan(self) -> bool:
        return self.type == "double" and not self.exact and not self.counts_nan

    @property
    def valued(self) -> pa.Array:
        """Files that may hold a value beside NULLs: those with a lowest one do, whatever their number of NULLs says."""
        return pc.or_(pc.invert(self.only_null), pc.is_valid(self.low))


def is_null(bounds: Bounds) -> Outcome:
    nothing = filled(len(bounds.may_null), False)
    return Outcome(bounds.may_null, pc.invert(bounds.only_null), nothing)


def some_value(bounds: Bounds) -> Outcome:
    """A condition of which only the NULLs are known."""
    return Outcome(bounds.valued, bounds.valued, bounds.may_null)


def compared(bounds: Bounds, operator: str, constant: Literal) -> Outcome:
    """`column operator constant` for each file."""
    if operator == "<=>":
        return _null_safe(bounds, constant)
    if operator == "<>":
        return negated(compared(bounds, "=", constant))
    pair = _aligned(bounds, constant)
    if pair is None:
        return some_value(bounds)
    low, high, value = pair
    some, every = _RULES[operator](low, high, value)
    nan = bounds.may_nan
    may_true = pc.invert(pc.fill_null(pc.invert(some), False))
    sure = pc.fill_null(every, False)
    if nan:  # NaN is above every number: it makes > true, and the others false
        may_true = filled(len(sure), True) if operator in (">", ">=") else may_true
        sure = sure if operator in (">", ">=") else filled(len(sure), False)
    valued = bounds.valued
    return Outcome(pc.and_(may_true, valued), pc.and_(pc.invert(sure), valued), bounds.may_null)


def _null_safe(bounds: Bounds, constant: Literal) -> Outcome:
    if constant.value is None:
        return is_null(bounds)
    equal = compared(bounds, "=", constant)
    return Outcome(equal.true, pc.or_(equal.false, bounds.may_null), filled(len(bounds.may_null), False))


Rule = Callable[[pa.Array, pa.Array, pa.Scalar], tuple[pa.Array, pa.Array]]

# Whether some value may be so, and whether every value is; null where a bound is unknown.
_RULES: dict[str, Rule] = {
    "<": lambda low, high, value: (pc.less(low, value), pc.less(high, value)),
    "<=": lambda low, high, value: (pc.less_equal(low, value), pc.less_equal(high, value)),
    ">": lambda low, high, value: (pc.greater(high, value), pc.greater(low, value)),
    ">=": lambda low, high, value: (pc.greater_equal(high, value), pc.greater_equal(low, value)),
    "=": lambda low, high, value: (
        pc.and_kleene(pc.less_equal(low, value), pc.greater_equal(high, value)),
        pc.and_kleene(pc.equal(low, value), pc.equal(high, value)),
    ),
}


def among(bounds: Bounds, constants: Sequence[Literal]) -> Outcome | None:
    """`column IN (…)` for values that the log has exactly; None where they aren't compared as they are."""
    if not bounds.exact or {_kind(constant.type) for constant in constants} != {_kind(bounds.type)}:
        return None
    if _kind(bounds.type) not in ("integer", "string", "date"):
        return None
    values = pa.array([constant.value for constant in constants], bounds.low.type)
    matched = pc.is_in(bounds.low, value_set=values)
    unread = pc.and_not(pc.is_null(bounds.low), bounds.only_null)
    valued = pc.invert(bounds.only_null)
    missed = pc.and_(pc.or_(pc.invert(matched), unread), valued)
    return Outcome(pc.or_(matched, unread), missed, bounds.may_null)


def begins(bounds: Bounds, prefix: str) -> Outcome:
    """`column LIKE 'prefix…'`: only what certainly lies before or behind all such texts is ruled out."""
    if bounds.type != "string" or not prefix:
        return some_value(bounds)
    value = pa.scalar(prefix)
    behind = pc.and_kleene(pc.greater(bounds.low, value), pc.invert(pc.starts_with(bounds.low, prefix)))
    outside = pc.or_kleene(pc.less(bounds.high, value), behind)
    rest = some_value(bounds)
    return Outcome(pc.and_not(rest.true, pc.fill_null(outside, False)), rest.false, rest.null)


def _aligned(bounds: Bounds, constant: Literal) -> tuple[pa.Array, pa.Array, pa.Scalar] | None:
    """Bounds and constant in the type that Spark compares them in; None when nothing is known of it."""
    try:
        beside_text = typenames.family(constant.type) == "text" and bounds.type != "string"
        constant = as_compared(constant, bounds.type) if beside_text else constant
    except (Undecided, Fails):
        return None
    if constant.value is None or _rounds(bounds.type, constant.type):
        return None
    align = _ALIGNERS.get((_kind(bounds.type), _kind(constant.type)))
    return align(bounds, constant.value) if align else None


def _rounds(left: str, right: str) -> bool:
    """Whether Spark may round one of two decimals before it compares them."""
    kinds = {_kind(left), _kind(right)}
    return kinds in ({"decimal"}, {"decimal", "integer"}) and typenames.digits_to_meet(left, right) > MAX_DIGITS


def _kind(type_name: str) -> str:
    if type_name in typenames.INTEGERS:
        return "integer"
    return "decimal" if type_name.startswith("decimal") else type_name


def _as_they_are(bounds: Bounds, value: Any) -> tuple[pa.Array, pa.Array, pa.Scalar]:
    return bounds.low, bounds.high, pa.scalar(value, bounds.low.type)


def _as_doubles(bounds: Bounds, value: Any) -> tuple[pa.Array, pa.Array, pa.Scalar] | None:
    """Casts to double keep the order, so bounds stay bounds."""
    number = float(value)
    if number != number:
        return None
    low, high = (pc.cast(side, pa.float64(), safe=False) for side in (bounds.low, bounds.high))
    return low, high, pa.scalar(number)


def _as_loose_doubles(bounds: Bounds, value: Any) -> tuple[pa.Array, pa.Array, pa.Scalar] | None:
    """Decimals were read as doubles: the bounds move apart by more than that can have cost."""
    doubles = _as_doubles(bounds, value)
    if doubles is None:
        return None
    low, high, scalar = doubles
    apart = _moved(low, -DOUBLE_SLACK), _moved(high, DOUBLE_SLACK)
    if bounds.rounded is None:
        return *apart, scalar
    written = (
        (low, high)
        if Decimal(repr(scalar.as_py())) == value
        else (_moved(low, DOUBLE_SLACK), _moved(high, -DOUBLE_SLACK))
    )
    return *(pc.if_else(bounds.rounded, *pair) for pair in zip(written, apart, strict=True)), scalar


def _moved(side: pa.Array, share: float) -> pa.Array:
    return pc.add(side, pc.multiply(pc.abs(side), share))


def _integers_by_decimal(bounds: Bounds, value: Any) -> tuple[pa.Array, pa.Array, pa.Scalar] | None:
    """A whole number is compared as one; others fall between two."""
    if value != value.to_integral_value() or abs(value) >= 2**63:
        return None
    return bounds.low, bounds.high, pa.scalar(int(value), bounds.low.type)


def _as_moments(bounds: Bounds, value: date) -> tuple[pa.Array, pa.Array, pa.Scalar]:
    """Dates and times as microseconds since 1970 in UTC."""
    low, high = (_microseconds(side) for side in (bounds.low, bounds.high))
    return low, high, pa.scalar(micros_of(value), pa.int64())


def _microseconds(side: pa.Array) -> pa.Array:
    if pa.types.is_date32(side.type):
        return pc.multiply(pc.cast(pc.cast(side, pa.int32()), pa.int64()), 86_400_000_000)
    return side


def micros_of(value: date) -> int:
    """Microseconds since 1970 in UTC."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    else:
        moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
    passed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


Aligner = Callable[[Bounds, Any], tuple[pa.Array, pa.Array, pa.Scalar] | None]

_ALIGNERS: dict[tuple[str, str], Aligner] = {
    ("integer", "integer"): _as_they_are,
    ("integer", "decimal"): _integers_by_decimal,
    ("integer", "double"): _as_doubles,
    ("integer", "float"): _as_doubles,
    ("double", "integer"): _as_doubles,
    ("double", "decimal"): _as_doubles,
    ("double", "double"): _as_doubles,
    ("double", "float"): _as_doubles,
    ("decimal", "integer"): _as_loose_doubles,
    ("decimal", "decimal"): _as_loose_doubles,
    ("decimal", "double"): _as_loose_doubles,
    ("string", "string"): _as_they_are,
    ("date", "date"): _as_they_are,
    ("date", "timestamp"): _as_moments,
    ("date", "timestamp_ntz"): _as_moments,
    ("timestamp", "date"): _as_moments,
    ("timestamp", "timestamp"): _as_moments,
    ("timestamp_ntz", "date"): _as_moments,
    ("timestamp_ntz", "timestamp_ntz"): _as_moments,
}

ARROW: dict[str, pa.DataType] = {
    **dict.fromkeys(typenames.INTEGERS, pa.int64()),
    "double": pa.float64(),
    "decimal": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.int64(),
    "timestamp_ntz": pa.int64(),
}
"""How bounds are held, by a column's type (`decimal` for all of them); other types have none."""


def arrow_type(type_name: str) -> pa.DataType | None:
    """The type in which a column's bounds are held; None when it has none: they are not kept, or order by rules of their own."""
    return ARROW.get("decimal" if type_name.startswith("decimal") else type_name)


def later_than_kept(high: pa.Array) -> pa.Array:
    """Upper bounds of times, which statistics cut to milliseconds, as microseconds that no value exceeds."""
    return pc.add(high, _MILLISECOND - 1)
