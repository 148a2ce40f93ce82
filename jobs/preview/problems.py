"""Refusals of a preview as answers over HTTP."""

from __future__ import annotations

from console.errors import Problem
from jobs.domain.errors import CommandRefused
from jobs.table_predicates import refused_predicate

# What is wrong with what was written is 400; with the table as it is, 422.
STATUS = {"version_gone": 410, "stale": 409}


def problem_of_refused(refused: CommandRefused) -> Problem:
    """The first refusal, with Delta's own words where it has some."""
    first = refused.refusals[0]
    if first.code == "predicate_refused":
        return refused_predicate(refused)
    detail = f"{first.message} {first.remedy or ''}".strip()
    engine = first.engine.as_json() if first.engine else None
    return Problem(STATUS.get(first.code, 422), first.code, detail, engine=engine)
