"""The one way in which a predicate is refused: where, why, and how to write it instead."""

from __future__ import annotations

from jobs.domain.errors import CommandRefused, Refusal

CODE = "predicate_refused"
GRAMMAR = "Write comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, CAST, arithmetic and the listed functions."


def refused(position: int, reason: str, remedy: str = GRAMMAR) -> CommandRefused:
    """`position` counts characters from 0; people are told from 1."""
    return CommandRefused(Refusal(CODE, reason, place=f"position {position + 1}", remedy=remedy))
