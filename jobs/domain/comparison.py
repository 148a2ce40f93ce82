"""A run compared with its prediction: a metric's expected value, the recorded one, and why the two differ.

Each command says which lines it has (its own `comparison`). Delta writes metrics as texts; one that it left out of the log is
unknown, never 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobs.domain.results import Result

Preview = Mapping[str, Any]


class Verdict(StrEnum):
    SAME = "same"
    WITHIN = "within"  # within the predicted bound
    DIFFERENT = "different"
    UNKNOWN = "unknown"  # not recorded, so there is nothing to compare
    MEASURED = "measured"  # nothing was predicted


class Unit(StrEnum):
    COUNT = "count"
    BYTES = "bytes"
    MILLISECONDS = "ms"
    WORD = "word"


@dataclass(frozen=True, slots=True)
class Expected:
    """The preview's prediction of a metric: a value, or a bound (`most`, `least`); None for no prediction, for the reason in `why`."""

    value: int | str | None = None
    most: int | None = None
    least: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One metric: its prediction, what Delta recorded (None: not recorded), and an explanation if it needs one."""

    name: str
    label: str
    unit: Unit
    expected: Expected
    actual: int | str | None
    verdict: Verdict
    why: str


NOT_RECORDED = "Delta left it out of the log."
OUT_OF_LOG = "Delta measures it, but keeps it out of the log."


ROWS_DELETED, ROWS_CHANGED = "num_affected_rows", "rows_changed"
OF_ROWS = frozenset((ROWS_DELETED, ROWS_CHANGED))


def contradictions(lines: list[Line]) -> list[Line]:
    """The lines whose number is another than the predicted one, or beyond its bound.

    A method other than the predicted one is a difference, but loses nothing.
    """
    return [line for line in lines if line.verdict is Verdict.DIFFERENT and line.unit is not Unit.WORD]


def differ(lines: list[Line]) -> list[Line]:
    """The lines whose prediction didn't hold."""
    return [line for line in lines if line.verdict is Verdict.DIFFERENT]


def in_words(line: Line) -> str:
    """A line that differs as a sentence: `Rows deleted: predicted 1, recorded 2,000.`"""
    expected = line.expected
    bounds = [("at least ", expected.least), ("at most ", expected.most)]
    said = [("", expected.value)] if expected.value is not None else [pair for pair in bounds if pair[1] is not None]
    predicted = " and ".join(f"{word}{_number(value)}" for word, value in said)
    return f"{line.label}: predicted {predicted}, recorded {_number(line.actual)}."


def _number(value: int | str | None) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def has_moved(preview: Preview, result: Result) -> bool:
    """Whether the run began on another version than the preview measured."""
    measured = preview.get("measured_at_version")
    return None not in (measured, result.read_version) and measured != result.read_version


def line(
    name: str,
    label: str,
    unit: Unit,
    expected: Expected,
    actual: int | str | None,
    moved: bool,
    missing: str = NOT_RECORDED,
) -> Line:
    """The line of a metric; `moved`: the run began on another version than the measured one."""
    verdict = _verdict(expected, actual)
    why = missing if verdict is Verdict.UNKNOWN else _why(expected, verdict, moved)
    return Line(name, label, unit, expected, actual, verdict, why)


def _verdict(expected: Expected, actual: int | str | None) -> Verdict:
    if actual is None:
        return Verdict.UNKNOWN
    if expected.value is not None:
        return Verdict.SAME if actual == expected.value else Verdict.DIFFERENT
    if expected.most is None and expected.least is None:
        return Verdict.MEASURED
    return Verdict.WITHIN if _is_within(expected, actual) else Verdict.DIFFERENT


def _is_within(expected: Expected, actual: int | str) -> bool:
    if isinstance(actual, str):
        return False
    return (expected.least is None or actual >= expected.least) and (expected.most is None or actual <= expected.most)


def _why(expected: Expected, verdict: Verdict, moved: bool) -> str:
    if verdict is not Verdict.DIFFERENT:
        return expected.why
    if moved:
        return "The table had moved on when the run began: the measured rows were in other files."
    return "Levee can’t explain this difference; check the commit."


def number_of(metrics: Mapping[str, str], name: str) -> int | None:
    """A metric as a number; None where it isn't recorded."""
    text = metrics.get(name) or ""
    return int(text) if text.isascii() and text.isdigit() else None


def rows_kept(result: Result) -> Iterator[Line]:
    """The line of a command that changes no row, whatever version it ran on; none for a result that doesn't have the figure."""
    if ROWS_CHANGED in result.details:
        grown, missing = result.details[ROWS_CHANGED], "The statistics of its files don’t say how many rows they hold."
        yield line(ROWS_CHANGED, "Rows gained or lost", Unit.COUNT, Expected(0), grown, moved=False, missing=missing)
