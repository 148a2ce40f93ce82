"""What Spark makes of plain values: comparisons, IN, arithmetic, functions.

Only what certainly agrees with Spark is worked out; all else raises Undecided, which every caller must take as "may be anything".
NULL is None. A failure that Spark would raise under ANSI rules is raised as Fails.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

from jobs.domain.predicates import literals, typenames
from jobs.domain.predicates.casting import Fails, Undecided, cast
from jobs.domain.predicates.tree import Literal, Value


def compare(operator: str, left: Literal, right: Literal) -> bool | None:
    """A comparison as Spark makes it. Raises Undecided, Fails."""
    if operator == "<=>" and None in (left.value, right.value):
        return left.value is None and right.value is None
    if left.value is None or right.value is None:
        return None
    a, b = _aligned(left, right)
    order = (a > b) - (a < b)  # type: ignore[operator]  # _aligned gives two of one kind
    return {
        "=": order == 0,
        "<=>": order == 0,
        "<>": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[operator]


def among(operand: Literal, options: list[Literal]) -> bool | None:
    """Spark compares all of them in one type."""
    kinds = {item.type for item in (operand, *options)}
    if kinds & set(typenames.FLOATS) and not kinds <= set(typenames.FLOATS):
        raise Undecided
    decimals = "string" not in kinds and any(kind.startswith("decimal") for kind in kinds)
    if decimals and typenames.digits_to_meet(*kinds) > literals.MAX_DIGITS:
        raise Undecided
    results = [compare("=", operand, option) for option in options]
    return True if True in results else None if None in results else False


def _aligned(left: Literal, right: Literal) -> tuple[Value, Value]:
    """Both values in the type that Spark compares them in."""
    families = {typenames.family(left.type), typenames.family(right.type)}
    if families == {"number"}:
        return _numbers(left, right)
    if len(families) == 2 and "text" in families:
        return _beside_text(left, right)
    if families == {"time"}:
        wider = _wider_time(left.type, right.type)
        return cast(left, wider).value, cast(right, wider).value
    if len(families) == 1 and families <= {"text", "boolean", "binary"}:
        if "collate" in left.type + right.type or "char(" in left.type + right.type:
            raise Undecided
        return left.value, right.value
    raise Undecided


def _numbers(left: Literal, right: Literal) -> tuple[Value, Value]:
    kinds = {left.type, right.type}
    if kinds & {"float", "double"}:
        pair = (_double(left), _double(right))
        if any(value != value for value in pair):  # NaN equals itself and is above all in Spark
            raise Undecided
        return pair
    if kinds <= set(typenames.INTEGERS):
        return left.value, right.value
    if typenames.digits_to_meet(left.type, right.type) > literals.MAX_DIGITS:
        raise Undecided
    return Decimal(str(left.value)), Decimal(str(right.value))


def _double(item: Literal) -> float:
    if isinstance(item.value, int) and abs(item.value) > 2**53:
        raise Undecided
    return float(item.value)  # type: ignore[arg-type]  # a number


def _beside_text(left: Literal, right: Literal) -> tuple[Value, Value]:
    other = right if typenames.family(left.type) == "text" else left
    pair = [as_compared(item, other.type) for item in (left, right)]
    return _aligned(pair[0], pair[1])


def as_compared(item: Literal, other: str) -> Literal:
    """A value beside text that is compared with a type: whole numbers as bigint, others as double, all else as that type."""
    if other in typenames.INTEGERS:
        return cast(item, "bigint")
    return cast(item, "double" if typenames.family(other) == "number" else other)


def _wider_time(left: str, right: str) -> str:
    for name in ("timestamp", "timestamp_ntz"):
        if name in (left, right):
            return name
    return "date"


def arithmetic(operator: str, left: Literal, right: Literal) -> Literal:
    """Whole numbers and days; all else is Undecided."""
    if left.type == "date" and right.type in ("tinyint", "smallint", "int") and operator in "+-":
        return _days(left, right, 1 if operator == "+" else -1)
    if not {left.type, right.type} <= set(typenames.INTEGERS):
        return _by_zero(operator, left, right)
    a, b = left.value, right.value
    target = "bigint" if operator == "DIV" else max(left.type, right.type, key=typenames.INTEGERS.index)
    if a is None or b is None:
        return Literal(target, None)
    number = _whole(operator, int(a), int(b))  # type: ignore[arg-type]  # integers by their types
    if not literals.fits(number, target):
        raise Fails(f"the result of {operator} doesn’t fit {target}")
    return Literal(target, number)


def _by_zero(operator: str, left: Literal, right: Literal) -> Literal:
    numbers = typenames.family(left.type) == typenames.family(right.type) == "number"
    if numbers and operator in ("/", "%", "DIV") and right.value == 0 and left.value is not None:
        raise Fails("division by zero")
    raise Undecided


def _whole(operator: str, a: int, b: int) -> int:
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
    if b == 0:
        raise Fails("division by zero")
    if operator == "/":
        raise Undecided
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient if operator == "DIV" else a - b * quotient


def _days(day: Literal, count: Literal, sign: int) -> Literal:
    if day.value is None or count.value is None:
        return Literal("date", None)
    try:
        return Literal("date", day.value + timedelta(days=sign * int(count.value)))  # type: ignore[arg-type, operator]
    except OverflowError:
        raise Undecided from None


def call(name: str, arguments: list[Literal]) -> Literal:
    known = _CALLS.get(name)
    if known is None:
        raise Undecided
    result, function = known
    if any(argument.value is None for argument in arguments):
        return Literal(result, None)
    return Literal(result, function(*(_usable(argument) for argument in arguments)))


def _usable(argument: Literal) -> Value:
    """Text beyond ASCII has rules of Java's own, and times are cut to dates first."""
    if isinstance(argument.value, str) and (argument.type != "string" or not argument.value.isascii()):
        raise Undecided
    return argument.value


_CALLS: dict[str, tuple[str, Callable[..., Value]]] = {
    "lower": ("string", lambda text: text.lower()),
    "upper": ("string", lambda text: text.upper()),
    "length": ("int", lambda text: len(text)),
    "concat": ("string", lambda *texts: "".join(texts)),
    "startswith": ("boolean", lambda text, part: text.startswith(part)),
    "endswith": ("boolean", lambda text, part: text.endswith(part)),
    "contains": ("boolean", lambda text, part: part in text),
    "year": ("int", lambda day: day.year),
    "quarter": ("int", lambda day: (day.month + 2) // 3),
    "month": ("int", lambda day: day.month),
    "dayofmonth": ("int", lambda day: day.day),
    "datediff": ("int", lambda end, start: (end - start).days),
}
