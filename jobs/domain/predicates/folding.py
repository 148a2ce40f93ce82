"""Parts of a predicate that say nothing about a row: always true, never true. They are refused rather than folded away.

Who wants the whole table says so by giving no predicate; `id = 5 OR 1 = 1` is a slip, or an attack.
"""

from __future__ import annotations

from decimal import Decimal

from jobs.domain.predicates import constants, literals, typenames
from jobs.domain.predicates.casting import Fails, Undecided
from jobs.domain.predicates.checking import Misfit, type_of
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.schema import Schema
from jobs.domain.predicates.tree import (
    And,
    Between,
    Column,
    Comparison,
    In,
    IsNull,
    Literal,
    Node,
    Not,
    Or,
    columns,
)

EVERYTHING = "The whole table is meant by leaving the predicate out (null)."
_OPPOSITES = {"=": "<>", "<": ">=", ">": "<="}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def check(tree: Node, schema: Schema) -> None:
    """Raises Misfit at a part that is the same for every row. The tree must fit the schema."""
    match tree:
        case And(terms) | Or(terms):
            for term in terms:
                check(term, schema)
            _check_terms(tree, terms)
        case Not(operand):
            check(operand, schema)
        case _:
            _check_part(tree, schema)


def _check_part(node: Node, schema: Schema) -> None:
    if not columns(node):
        raise Misfit(node, f"{to_text(node)} names no column: it is the same for every row", EVERYTHING)
    match node:
        case IsNull(Column(path), negated) if not schema.can_be_null(path):
            always = "always" if negated else "never"
            raise Misfit(node, f"{'.'.join(path)} can’t be NULL, so this is {always} true", EVERYTHING)
        case Comparison(_, left, right) if left == right:
            raise Misfit(node, "both sides are the same", EVERYTHING)
        case Comparison(operator, left, right):
            _check_range(node, left, operator, right, schema)
            _check_range(node, right, _FLIPPED.get(operator, operator), left, schema)
        case Between(operand, low, high):
            _check_range(node, operand, ">=", low, schema, widest=True)
            _check_range(node, operand, "<=", high, schema, widest=True)
            _check_bounds(node, low, high)
        case In(operand, options) if operand in options:
            raise Misfit(node, "the value is among its own options", EVERYTHING)


def _check_range(
    node: Node, subject: Node, operator: str, other: Node, schema: Schema, *, widest: bool = False
) -> None:
    """Spark folds a comparison with a number that the type of whole numbers can't hold; beyond the widest even for NULL."""
    value = _constant(other)
    if value is None or isinstance(value.value, bool) or not isinstance(value.value, int | Decimal):
        return
    kind = _holder(subject, schema, widest)
    if kind is None or literals.fits(value.value, kind):
        return
    above = value.value > 0
    always = operator == "<>" or (operator in ("<", "<=") if above else operator in (">", ">="))
    said = "always" if always else "never"
    raise Misfit(node, f"{value.value} is beyond what {kind} holds, so this is {said} true", "Correct the value.")


def _holder(subject: Node, schema: Schema, widest: bool) -> str | None:
    """The integer type that bounds a column's values; the widest for what is computed. None for other values."""
    if not columns(subject):
        return None
    kind = type_of(subject, schema)
    if kind not in typenames.INTEGERS:
        return None
    return kind if isinstance(subject, Column) and not widest else typenames.INTEGERS[-1]


def _check_bounds(node: Between, low: Node, high: Node) -> None:
    bounds = (_constant(low), _constant(high))
    if bounds[0] is None or bounds[1] is None:
        return
    try:
        if constants.compare(">", bounds[0], bounds[1]):
            raise Misfit(node, "the lower bound is above the upper one, so no row is between", "Exchange the bounds.")
    except (Undecided, Fails):
        return


def _constant(node: Node) -> Literal | None:
    if columns(node):
        return None
    try:
        return constants.worth(node, {})
    except (Undecided, Fails):
        return None


def _check_terms(tree: And | Or, terms: tuple[Node, ...]) -> None:
    """A part beside its own opposite."""
    seen = set(terms)
    for term in terms:
        opposite = _opposite(term)
        if opposite in seen:
            said = "no row" if isinstance(tree, And) else "every row that has a value"
            raise Misfit(term, f"{to_text(term)} stands beside its opposite: {said} is meant", EVERYTHING)


def _opposite(node: Node) -> Node:
    match node:
        case Not(operand):
            return operand
        case IsNull(operand, negated):
            return IsNull(operand, not negated)
        case Comparison(operator, left, right) if operator in _OPPOSITES:
            return Comparison(_OPPOSITES[operator], left, right)
    return Not(node)
