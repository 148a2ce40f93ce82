"""Parts of a predicate that don't depend on the row: always true, never true. Levee refuses them rather than folding them away.

To mean the whole table, leave out the predicate; `id = 5 OR 1 = 1` is a slip, or an attack.
"""

from __future__ import annotations

from decimal import Decimal

from jobs.domain.predicates import constants, literals, typenames
from jobs.domain.predicates.casting import Fails, Undecided
from jobs.domain.predicates.checking import Checker
from jobs.domain.predicates.parts import Misfit
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.tree import (
    And,
    Between,
    ColumnPath,
    Comparison,
    In,
    IsNull,
    Literal,
    Node,
    Not,
    Or,
)

EVERYTHING = "To mean the whole table, tick “every row”; in the API, give null as the predicate."
_OPPOSITES = {"=": "<>", "<": ">=", ">": "<="}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def check(tree: Node, checker: Checker) -> None:
    """Raises Misfit at a part that is the same for every row. `checker` has found that the tree fits."""
    match tree:
        case And(terms) | Or(terms):
            for term in terms:
                check(term, checker)
            _check_terms(tree, terms)
        case Not(operand):
            check(operand, checker)
        case _:
            _check_part(tree, checker)


def _check_part(node: Node, checker: Checker) -> None:
    if not checker.constants.varies(node):
        raise Misfit(node, f"{to_text(node)} names no column: it is the same for every row", EVERYTHING)
    match node:
        case IsNull(ColumnPath(path), negated) if not checker.schema.can_be_null(path):
            always = "always" if negated else "never"
            raise Misfit(node, f"{'.'.join(path)} can’t be NULL, so this is {always} true", EVERYTHING)
        case Comparison(_, left, right) if left == right:
            raise Misfit(node, "both sides are the same", EVERYTHING)
        case Comparison(operator, left, right):
            _check_range(node, left, operator, right, checker)
            _check_range(node, right, _FLIPPED.get(operator, operator), left, checker)
        case Between(operand, low, high):
            _check_range(node, operand, ">=", low, checker, widest=True)
            _check_range(node, operand, "<=", high, checker, widest=True)
            _check_bounds(node, checker)
        case In(operand, options) if operand in options:
            raise Misfit(node, "the value is among its own options", EVERYTHING)


def _check_range(
    node: Node, subject: Node, operator: str, other: Node, checker: Checker, *, widest: bool = False
) -> None:
    """Spark folds a comparison with a number that the type of whole numbers can't hold; beyond the widest even for NULL."""
    value = _constant(other, checker)
    if value is None or isinstance(value.value, bool) or not isinstance(value.value, int | Decimal):
        return
    kind = _holder(subject, checker, widest)
    if kind is None or literals.fits(value.value, kind):
        return
    above = value.value > 0
    always = operator == "<>" or (operator in ("<", "<=") if above else operator in (">", ">="))
    text = "always" if always else "never"
    raise Misfit(node, f"{value.value} is beyond what {kind} holds, so this is {text} true", "Correct the value.")


def _holder(subject: Node, checker: Checker, widest: bool) -> str | None:
    """The integer type that bounds a column's values; the widest for what is computed. None for other values."""
    if not checker.constants.varies(subject):
        return None
    kind = checker.type(subject)
    if kind not in typenames.INTEGERS:
        return None
    return kind if isinstance(subject, ColumnPath) and not widest else typenames.INTEGERS[-1]


def _check_bounds(node: Between, checker: Checker) -> None:
    bounds = (_constant(node.low, checker), _constant(node.high, checker))
    if bounds[0] is None or bounds[1] is None:
        return
    try:
        if constants.compare(">", bounds[0], bounds[1]):
            raise Misfit(node, "the lower bound is above the upper one, so no row is between", "Exchange the bounds.")
    except (Undecided, Fails):
        return


def _constant(node: Node, checker: Checker) -> Literal | None:
    try:
        return checker.constants.constant(node)
    except Fails:
        return None


def _check_terms(tree: And | Or, terms: tuple[Node, ...]) -> None:
    """A part beside its own opposite."""
    seen = set(terms)
    for term in terms:
        opposite = _opposite(term)
        if opposite in seen:
            text = "no row" if isinstance(tree, And) else "every row that has a value"
            raise Misfit(term, f"{to_text(term)} stands beside its opposite: {text} is meant", EVERYTHING)


def _opposite(node: Node) -> Node:
    match node:
        case Not(operand):
            return operand
        case IsNull(operand, negated):
            return IsNull(operand, not negated)
        case Comparison(operator, left, right) if operator in _OPPOSITES:
            return Comparison(_OPPOSITES[operator], left, right)
    return Not(node)
