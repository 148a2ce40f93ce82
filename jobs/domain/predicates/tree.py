"""A predicate as a small frozen tree: the approver reads it, the digest covers it, the preview prunes with it, the engine runs it.

Every node is a value: equal trees mean the same. Names are those of the table's schema, not as you typed them. A tree knows
neither positions nor types; `jobs.predicates` makes one from text, `types.check` judges it against a schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

Value = None | bool | int | float | Decimal | str | bytes | date | datetime
"""A literal's value: datetime is aware and in UTC for `timestamp`, naive for `timestamp_ntz`."""

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
ARITHMETIC = ("+", "-", "*", "/", "%", "DIV")


@dataclass(frozen=True, slots=True)
class ColumnPath:
    """A column, or a field of a struct column, by its path from the top."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant of one of Spark's types (`int`, `decimal(3,2)`, `date`, …; `void` for NULL)."""

    type: str
    value: Value


@dataclass(frozen=True, slots=True)
class Negative:
    """`-(operand)`. A negative number is a Literal."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`operator` is one of ARITHMETIC."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Cast:
    """`type` as `types.parse_type` prints it."""

    operand: Node
    type: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the closed list (functions.py), by its one name there."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """`operator` is one of COMPARISONS."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class IsNull:
    operand: Node
    negated: bool = False


@dataclass(frozen=True, slots=True)
class In:
    """IN with a list; NOT IN is Not(In)."""

    operand: Node
    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Between:
    operand: Node
    low: Node
    high: Node


@dataclass(frozen=True, slots=True)
class Like:
    """`escape` is one character."""

    operand: Node
    pattern: str
    escape: str = "\\"


@dataclass(frozen=True, slots=True)
class Not:
    operand: Node


@dataclass(frozen=True, slots=True)
class And:
    """Two terms or more, none of them an And."""

    terms: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Two terms or more, none of them an Or."""

    terms: tuple[Node, ...]


Node = (
    ColumnPath
    | Literal
    | Negative
    | Arithmetic
    | Cast
    | Call
    | Comparison
    | IsNull
    | In
    | Between
    | Like
    | Not
    | And
    | Or
)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below, in the order in which the text has them."""
    match node:
        case ColumnPath() | Literal():
            return ()
        case Negative(operand) | Cast(operand, _) | IsNull(operand, _) | Like(operand, _, _) | Not(operand):
            return (operand,)
        case Arithmetic(_, left, right) | Comparison(_, left, right):
            return (left, right)
        case Between(operand, low, high):
            return (operand, low, high)
        case In(operand, options):
            return (operand, *options)
        case Call(_, arguments):
            return arguments
        case And(terms) | Or(terms):
            return terms


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, parents first."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(reversed(children(part)))


def columns(node: Node) -> frozenset[tuple[str, ...]]:
    """The paths of all columns that the tree reads."""
    return frozenset(part.path for part in walk(node) if isinstance(part, ColumnPath))
