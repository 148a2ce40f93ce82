"""A command in words and numbers, as values: pages and lists format them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from jobs.domain.comparison import Unit
from jobs.domain.results import Result

Parameters = Mapping[str, Any]
Preview = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a request. None is unknown, for the reason in `why_unknown`; `at_most` says that it is a bound.

    `noun` follows the number in the singular (`file`, `commit`); `sub` is a word of explanation below it.
    """

    label: str
    value: int | None
    sub: str | None = None
    unit: Unit = Unit.COUNT
    why_unknown: str = ""
    at_most: bool = False
    noun: str = ""
    unknown: str = "unknown"  # the word for None
    word: str = ""  # in place of a number


class Wording(Protocol):
    """One command's words: a command's module `wording` has these functions, and the fields of the preview that its title needs."""

    TITLED_BY: tuple[str, ...]

    def title(self, table: str, parameters: Parameters, preview: Preview) -> str:
        """The sentence that names the job everywhere, with its number once that is counted: `Delete 357 rows from orders`.

        `preview` has the fields in TITLED_BY alone; it is empty before there is one.
        """
        ...

    def figures(self, preview: Preview) -> Sequence[Figure]:
        """What the preview counted, the one that the request is about first; empty before there is one."""
        ...

    def weight(self, preview: Preview) -> Figure | None:
        """The one number that says how heavy the request is; None before there is one."""
        ...

    def outcome(self, result: Result) -> Sequence[Figure]:
        """The numbers that lead a run's result, beside the version it committed."""
        ...

    def facts(self, preview: Preview) -> Mapping[str, str]:
        """Further facts about the request, each in a word, by label."""
        ...


def percent(part: int, whole: int) -> str:
    """A share in at most three digits, never rounded to nothing or to all."""
    share = 100 * part / whole
    if part and share < 0.001:
        return "< 0.001%"
    return "> 99.9%" if part < whole and share > 99.9 else f"{share:.3g}%"
