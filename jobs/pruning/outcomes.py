"""What a condition may be on the rows of each file, in SQL's three values: one truth per file and value, never falsely "can't".

`true[i]` says that some row of file i may make the condition true, and so on. A file can't match when nothing may be true; it must
match, every row of it, when nothing may be false or NULL. "May" is the answer to everything unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class Outcome:
    """Boolean arrays without nulls, one value per file."""

    true: pa.Array
    false: pa.Array
    null: pa.Array

    @property
    def must(self) -> pa.Array:
        """Files whose every row matches (a file without rows may be among them)."""
        return pc.invert(pc.or_(self.false, self.null))


def anything(count: int) -> Outcome:
    """Nothing is known."""
    every = filled(count, True)
    return Outcome(every, every, every)


def filled(count: int, value: bool) -> pa.Array:
    return pa.repeat(pa.scalar(value), count)


def negated(inner: Outcome) -> Outcome:
    return Outcome(inner.false, inner.true, inner.null)


def both(left: Outcome, right: Outcome) -> Outcome:
    """AND: one part that is false for every row makes all false."""
    all_false = pc.or_(_only(left.false, left.true, left.null), _only(right.false, right.true, right.null))
    null = pc.and_not(pc.or_(left.null, right.null), all_false)
    return Outcome(pc.and_(left.true, right.true), pc.or_(left.false, right.false), null)


def either(left: Outcome, right: Outcome) -> Outcome:
    """OR, as NOT (NOT a AND NOT b)."""
    return negated(both(negated(left), negated(right)))


def _only(this: pa.Array, *others: pa.Array) -> pa.Array:
    """Where nothing but `this` may be."""
    only = this
    for other in others:
        only = pc.and_not(only, other)
    return only
