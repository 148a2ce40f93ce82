"""The value of an expression whose columns are known: constants (no columns), partition values.

Only what certainly agrees with Spark is worked out; all else raises Undecided, which every caller must take as "may be anything".
NULL is None. A failure that Spark would raise under ANSI rules is raised as Fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from jobs.domain.predicates import patterns
from jobs.domain.predicates.casting import Undecided, cast, text_of
from jobs.domain.predicates.constants import among, arithmetic, call, compare
from jobs.domain.predicates.tree import (
    And,
    Arithmetic,
    Between,
    Call,
    Cast,
    ColumnPath,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Negative,
    Node,
    Not,
    Or,
)

Row = Mapping[tuple[str, ...], Literal]
"""The values of columns, by path."""


def truth(node: Node, row: Row) -> bool | None:
    """Whether a predicate is true, false or NULL (None). Raises Undecided, Fails."""
    return Values(row).truth(node)


def worth(node: Node, row: Row) -> Literal:
    """The value of an expression, with its type. Raises Undecided, Fails."""
    return Values(row).worth(node)


class Values:
    """The values of a tree's parts for one row. Evaluates every part once, whatever surrounds it."""

    def __init__(self, row: Row) -> None:
        self.row = row

    def truth(self, node: Node) -> bool | None:
        """Whether a predicate is true, false or NULL (None). Raises Undecided, Fails."""
        match node:
            case And(terms):
                return self._first(terms, False)
            case Or(terms):
                return self._first(terms, True)
            case Not(operand):
                inner = self.truth(operand)
                return None if inner is None else not inner
            case IsNull(operand, negated):
                return (self.worth(operand).value is None) != negated
            case Comparison(operator, left, right):
                return compare(operator, self.worth(left), self.worth(right))
            case Between() | In() | Like():
                return self._test(node)
        value = self.worth(node).value
        if value is None or isinstance(value, bool):
            return value
        raise Undecided

    def _test(self, node: Between | In | Like) -> bool | None:
        subject = self.worth(node.operand)
        match node:
            case Between(_, low, high):
                ends = ((">=", low), ("<=", high))
                return _ending((partial(self._end, subject, operator, end) for operator, end in ends), False)
            case In(_, options):
                return among(subject, [self.worth(option) for option in options])
            case Like(_, pattern, escape):
                return None if subject.value is None else _like(text_of(subject), pattern, escape)

    def _end(self, subject: Literal, operator: str, end: Node) -> bool | None:
        return compare(operator, subject, self.worth(end))

    def _first(self, terms: Iterable[Node], ending: bool) -> bool | None:
        return _ending((partial(self.truth, term) for term in terms), ending)

    def worth(self, node: Node) -> Literal:
        """The value of an expression, with its type. Raises Undecided, Fails."""
        match node:
            case Literal():
                return node
            case ColumnPath(path):
                if path not in self.row:
                    raise Undecided
                return self.row[path]
            case Cast(operand, type_name):
                return cast(self.worth(operand), type_name)
            case Negative(operand):
                return arithmetic("-", Literal("int", 0), self.worth(operand))
            case Arithmetic(operator, left, right):
                return arithmetic(operator, self.worth(left), self.worth(right))
            case Call(name, arguments):
                return call(name, [self.worth(argument) for argument in arguments])
        return Literal("boolean", self.truth(node))


def _ending(terms: Iterable[Callable[[], bool | None]], ending: bool) -> bool | None:
    """AND (a false term ends it) and OR (a true one does) in three values; beside such a term no other matters."""
    undecided: Undecided | None = None
    unknown = False
    for term in terms:
        try:
            value = term()
        except Undecided as error:
            undecided = error
            continue
        if value is ending:
            return ending
        unknown = unknown or value is None
    if undecided is not None:
        raise undecided
    return None if unknown else not ending


def _like(text: str, pattern: str, escape: str) -> bool:
    try:
        return patterns.matches(text, pattern, escape)
    except patterns.TooLong:
        raise Undecided from None
