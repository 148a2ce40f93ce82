"""Compares a vacuum with its prediction: what it deleted, and what a second listing of the directory still found.

Rules: Delta 4.4.0, VacuumCommand: the commit of its start counts files and empty directories together.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobs.commands.vacuum.rules import count_of
from jobs.domain.comparison import Expected, Line, Preview, Unit, line
from jobs.domain.results import Result

SINCE = "Files that have come back into the table since the preview, or were gone already, stay out of the count."


def compare(preview: Preview, result: Result) -> Iterator[Line]:
    """Every line of a run that deleted something."""
    details, lite = result.details, bool(preview.get("lite"))
    for name, label, unit in _LINES:
        value = preview.get(name)
        expected = Expected(most=value, why=SINCE) if lite or details.get("same_files") is False else Expected(value)
        yield line(name, label, unit, expected, details.get(name), moved=False)
    yield line("remaining", "Of them still in storage", Unit.COUNT, Expected(0), details.get("remaining"), moved=False)
    lost = details.get("versions_lost")
    actual = None if lost is None else count_of(lost)
    yield line(
        "versions_lost",
        "Versions lost",
        Unit.COUNT,
        Expected(count_of(preview.get("dying_versions") or ())),
        actual,
        moved=False,
    )


_LINES: tuple[tuple[str, str, Unit], ...] = (
    ("files", "Files deleted", Unit.COUNT),
    ("bytes", "Bytes deleted", Unit.BYTES),
)
