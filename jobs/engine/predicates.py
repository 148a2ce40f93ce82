"""Builds a Spark Column from a predicate's tree, call by call, so that no user text ever reaches a Spark parser.

Names come from the schema that the tree was resolved against: the first part of a path is one quoted attribute, and its fields are
looked up by name. Functions come from a closed list, each under a single name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from jobs.domain.predicates import patterns, tree
from jobs.domain.predicates.tree import Literal, Node, Value
from jobs.engine.quoting import quoted

_EPOCH = datetime(1970, 1, 1)
# Numbers that Python has no type for. A cast of an int would do the same, but Spark only narrows true literals before it compares
# them with decimals, and only then can it skip files.
_SIZED = {
    "tinyint": "byteToLiteral",
    "smallint": "shortToLiteral",
    "bigint": "longToLiteral",
    "float": "floatToLiteral",
}

_COMPARISONS: dict[str, Callable[[Column, Column], Column]] = {
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "<=>": lambda left, right: left.eqNullSafe(right),
}

_ARITHMETIC: dict[str, Callable[[Column, Column], Column]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "%": lambda left, right: left % right,
    "DIV": lambda left, right: F.call_function("div", left, right),
}


def column_of(node: Node, session: SparkSession) -> Column:
    """The Column of a tree. `session` is any live session of the JVM, which makes the date and time literals."""
    return _ColumnBuilder(session).column(node)


class _ColumnBuilder:
    def __init__(self, session: SparkSession) -> None:
        self.jvm: Any = session._jvm

    def column(self, node: Node) -> Column:
        match node:
            case tree.And(terms):
                return _balanced([self.column(term) for term in terms], lambda a, b: a & b)
            case tree.Or(terms):
                return _balanced([self.column(term) for term in terms], lambda a, b: a | b)
            case tree.Not(operand):
                return ~self.column(operand)
            case tree.Comparison(operator, left, right):
                return _COMPARISONS[operator](self.column(left), self.column(right))
            case tree.IsNull() | tree.In() | tree.Between() | tree.Like():
                return self._test(node)
        return self._value(node)

    def _test(self, node: tree.IsNull | tree.In | tree.Between | tree.Like) -> Column:
        subject = self.column(node.operand)
        match node:
            case tree.IsNull(_, negated):
                return subject.isNotNull() if negated else subject.isNull()
            case tree.In(_, options):
                return subject.isin([self.column(option) for option in options])
            case tree.Between(_, low, high):
                return F.call_function("between", subject, self.column(low), self.column(high))
            case tree.Like(_, pattern, escape):
                return _like(subject, pattern, escape)

    def _value(self, node: Node) -> Column:
        match node:
            case tree.ColumnPath(path):
                return _attribute(path)
            case Literal():
                return self._literal(node)
            case tree.Negative(operand):
                return -self.column(operand)
            case tree.Arithmetic(operator, left, right):
                return _ARITHMETIC[operator](self.column(left), self.column(right))
            case tree.Cast(operand, type_name):
                return self.column(operand).cast(type_name)
            case tree.Call(name, arguments):
                return F.call_function(name, *(self.column(argument) for argument in arguments))
        raise TypeError(f"{type(node).__name__} isn't part of a predicate")

    def _literal(self, literal: Literal) -> Column:
        value = literal.value
        if isinstance(value, date):
            return Column(self.jvm.org.apache.spark.sql.functions.lit(self._moment(value)))
        if literal.type in _SIZED:
            return self._sized(literal.type, value)
        return F.lit(bytearray(value) if isinstance(value, bytes) else value)

    def _sized(self, type_name: str, value: Value) -> Column:
        """A literal by Spark's own conversion of primitives; py4j narrows the number to the parameter's type."""
        conversions = getattr(getattr(self.jvm.org.apache.spark.sql.catalyst.dsl, "package$expressions$"), "MODULE$")
        made = getattr(conversions, _SIZED[type_name])(value)
        return Column(self.jvm.org.apache.spark.sql.classic.ExpressionUtils.column(made))

    def _moment(self, value: date) -> Any:
        """The value as java.time, which Spark takes without a calendar or time zone conversion."""
        time = self.jvm.java.time
        if not isinstance(value, datetime):
            return time.LocalDate.of(value.year, value.month, value.day)
        seconds, micros = _since_epoch(value)
        if value.tzinfo is not None:
            return time.Instant.ofEpochSecond(seconds, micros * 1000)
        return time.LocalDateTime.ofEpochSecond(seconds, micros * 1000, time.ZoneOffset.UTC)


def _since_epoch(value: datetime) -> tuple[int, int]:
    plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    passed = plain - _EPOCH
    return passed // timedelta(seconds=1), passed.microseconds


def _like(subject: Column, pattern: str, escape: str) -> Column:
    """Spark's LIKE, or an equivalent regular expression whose run time doesn't explode with the number of wildcards."""
    regex = patterns.regex(pattern, escape)
    return F.like(subject, F.lit(pattern), F.lit(escape)) if regex is None else F.rlike(subject, F.lit(regex))


def _attribute(path: Sequence[str]) -> Column:
    column = F.col(quoted(path[0]))
    for name in path[1:]:
        column = column.getField(name)
    return column


def _balanced(columns: Sequence[Column], join: Callable[[Column, Column], Column]) -> Column:
    """Joins the columns as a balanced tree: a chain of a thousand terms would be a thousand levels deep."""
    if len(columns) == 1:
        return columns[0]
    middle = len(columns) // 2
    return join(_balanced(columns[:middle], join), _balanced(columns[middle:], join))
