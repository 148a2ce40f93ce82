"""From what a person typed to a tree that fits a table, or to a refusal that says where, why and what instead."""

from __future__ import annotations

from jobs.domain.predicates import folding, functions
from jobs.domain.predicates.checking import Checker
from jobs.domain.predicates.parts import Misfit
from jobs.domain.predicates.schema import Schema, Unresolved, resolve
from jobs.domain.predicates.tree import ColumnPath, Node
from jobs.predicates.refusals import refused
from jobs.predicates.skeleton import Name, skeleton_of
from jobs.predicates.structure import build
from jobs.predicates.tokens import MAX_LENGTH, tokens_of

__all__ = ["MAX_LENGTH", "check_syntax", "parse"]


def parse(text: str, schema: Schema) -> Node:
    """The tree of a predicate on a table with this schema.

    Raises CommandRefused with one Refusal (`predicate_refused`): its position, the reason, and the accepted way to write it.
    """
    tree, built = build(skeleton_of(tokens_of(text)), lambda name, at: _column(schema, name, at))
    checker = Checker(schema)
    try:
        checker.condition(tree)
        folding.check(tree, checker)
    except Misfit as misfit:
        raise refused(built.at(misfit.node), misfit.reason, misfit.remedy) from None
    return tree


def check_syntax(text: str) -> None:
    """Raises CommandRefused, as `parse`, for what no table makes a predicate; whether its columns exist is for each table to say."""
    build(skeleton_of(tokens_of(text)), lambda name, _at: ColumnPath(name.parts))


def _column(schema: Schema, name: Name, at: int) -> ColumnPath:
    try:
        return ColumnPath(resolve(schema, name.parts))
    except Unresolved as error:
        if len(name.parts) == 1 and name.parts[0].lower() in functions.MOVING:
            reason = f"{name.parts[0]} changes by itself: what was approved would not be what runs"
            raise refused(at, reason, "Write the value itself, such as DATE '2020-01-31'.") from None
        near = f"Did you mean {' or '.join(error.near[:5])}?" if error.near else "Look at the table’s schema."
        raise refused(at, error.reason, near) from None
