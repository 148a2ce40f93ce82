"""What is wrong with a log, as values: a page shows them, nothing is raised."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class ProblemCode(StrEnum):
    """The kinds of problem that a health finding can be filed under.

    ODD is a value that only history, statistics or display need: it is unknown, and nothing of the state is lost with it.
    STOPS_SPARK is in a file that Levee does without and Spark doesn't.
    """

    CORRUPT = "corrupt"
    ODD = "odd"
    MISSING = "missing"
    OUTSIDE = "outside_path"
    UNREADABLE = "unreadable"
    UNSUPPORTED = "needs_feature"
    DISAGREES = "disagrees"
    EMPTY = "empty"
    STOPS_SPARK = "stops_spark"
    MORE = "more"


@dataclass(frozen=True, slots=True)
class LogProblem:
    """One entry of a log that is corrupt, missing or not understood.

    `file` is the path below `_delta_log` (empty for the log as a whole); `reason` is a sentence with nothing of the
    entry's own text but names, and a property's value as `property_values.shown` gives it.
    `unlisted` is set in the one that only counts others, which were too many to be named.
    """

    file: str
    reason: str
    code: ProblemCode = ProblemCode.CORRUPT
    unlisted: int = 0

    def as_json(self) -> dict[str, str]:
        return {"file": self.file, "reason": self.reason, "code": self.code.value}


def harms_state(problems: Iterable[LogProblem]) -> bool:
    """True when an action may have been lost, so that what follows may be wrong."""
    return any(
        problem.code in (ProblemCode.CORRUPT, ProblemCode.MISSING, ProblemCode.UNREADABLE) for problem in problems
    )


class Problems:
    """Collects problems up to a limit, so that a hostile log can't fill the memory with complaints.

    Beyond the limit the first ones stay, or with `newest` the last ones; `found` then begins with the newest.
    """

    def __init__(self, limit: int = 50, *, newest: bool = False) -> None:
        self._limit = limit
        self._newest = newest
        self._found: dict[LogProblem, None] = {}
        self._more = 0

    def add(self, file: str, reason: str, code: ProblemCode = ProblemCode.CORRUPT) -> None:
        self._keep(LogProblem(file, reason, code))

    def extend(self, problems: Iterable[LogProblem]) -> None:
        """Adds problems, oldest first; those that only count others are added to the count."""
        for problem in problems:
            if problem.unlisted:
                self._more += problem.unlisted
            else:
                self._keep(problem)

    def _keep(self, problem: LogProblem) -> None:
        if problem in self._found:
            return
        if len(self._found) >= self._limit:
            self._more += 1
            if not self._newest:
                return
            del self._found[next(iter(self._found))]
        self._found[problem] = None

    def __bool__(self) -> bool:
        return bool(self._found)

    def found(self) -> tuple[LogProblem, ...]:
        """All problems so far; the last one counts those beyond the limit."""
        listed = reversed(self._found) if self._newest else self._found
        if not self._more:
            return tuple(listed)
        reason = f"{self._more} more problems of this log are not listed"
        return (*listed, LogProblem("", reason, ProblemCode.MORE, self._more))
