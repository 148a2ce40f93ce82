"""A preview's refusals as HTTP problems."""

from __future__ import annotations

from console.base.errors import Problem
from jobs.domain.errors import CommandRefused
from jobs.targets.predicates import refused_predicate

# A fault of the request is 400; one of the table as it is, 422.
STATUS = {"version_gone": 410, "stale": 409}


def problem_of_refused(refused: CommandRefused) -> Problem:
    """The first refusal, with Delta's own message if there is one."""
    first = refused.refusals[0]
    if first.code == "predicate_refused":
        return refused_predicate(refused)
    detail = f"{first.message} {first.remedy or ''}".strip()
    engine = first.engine.as_json() if first.engine else None
    return Problem(STATUS.get(first.code, 422), first.code, detail, engine=engine)


def problem_of_rewrite(refused: CommandRefused) -> Problem:
    """The same for a rewrite of files: what Delta refuses of the request itself (`invalid`) is 400."""
    problem = problem_of_refused(refused)
    if refused.refusals[0].code == "invalid":
        return Problem(400, "invalid", problem.detail, engine=problem.engine)
    return problem
