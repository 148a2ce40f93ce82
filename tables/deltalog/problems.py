"""What is wrong with a log, as values: a page shows them, nothing is raised."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    """The kinds of problem that a health finding can be filed under."""

    CORRUPT = "corrupt"
    MISSING = "missing"
    OUTSIDE = "outside_path"
    UNREADABLE = "unreadable"
    UNSUPPORTED = "needs_feature"
    DISAGREES = "disagrees"
    EMPTY = "empty"
    MORE = "more"


@dataclass(frozen=True, slots=True)
class Problem:
    """One entry of a log that is corrupt, missing or not understood.

    `file` is the path below `_delta_log` (empty for the log as a whole); `reason` is a sentence without the entry's own text.
    """

    file: str
    reason: str
    code: Code = Code.CORRUPT

    def as_json(self) -> dict[str, str]:
        return {"file": self.file, "reason": self.reason, "code": self.code.value}


class Problems:
    """Collects problems up to a limit, so that a hostile log can't fill the memory with complaints."""

    def __init__(self, limit: int = 50) -> None:
        self._limit = limit
        self._found: list[Problem] = []
        self._seen: set[Problem] = set()
        self._more = 0

    def add(self, file: str, reason: str, code: Code = Code.CORRUPT) -> None:
        problem = Problem(file, reason, code)
        if problem in self._seen:
            return
        if len(self._found) >= self._limit:
            self._more += 1
            return
        self._seen.add(problem)
        self._found.append(problem)

    def extend(self, problems: tuple[Problem, ...]) -> None:
        for problem in problems:
            self.add(problem.file, problem.reason, problem.code)

    def __len__(self) -> int:
        return len(self._found)

    def found(self) -> tuple[Problem, ...]:
        """All problems so far; the last one counts those beyond the limit."""
        if not self._more:
            return tuple(self._found)
        rest = Problem("", f"{self._more} more problems of this log are not listed", Code.MORE)
        return (*self._found, rest)
