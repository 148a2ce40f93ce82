"""Compares a repair with its prediction: the files that its commit took out, their bytes and rows, by the commit's own actions."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.domain.comparison import Expected, Line, Preview, Unit, line
from jobs.domain.results import Result

NO_COUNT = "The log doesn’t record how many rows some of the files held."
NOT_READ = "The commit’s own actions couldn’t be read."


def compare(preview: Preview, result: Result) -> Iterator[Line]:
    """Every line of a run that took files out."""
    for name, label, unit in _LINES:
        value = preview.get(name)
        actual = result.details.get(name)
        expected = Expected(value) if value is not None else Expected(why=NO_COUNT)
        missing = NO_COUNT if "files" in result.details else NOT_READ
        yield line(name, label, unit, expected, actual, moved=False, missing=missing)


_LINES: tuple[tuple[str, str, Unit], ...] = (
    ("files", "Files taken out", Unit.COUNT),
    ("bytes", "Bytes taken out", Unit.BYTES),
    ("rows", "Rows lost", Unit.COUNT),
)
