"""Compares a dropped feature with its prediction: the protocol that the table has afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jobs.domain.comparison import Expected, Line, Preview, Unit, line
from jobs.domain.results import Result

NOT_READ = "The run ended before Levee read the table again."
FIRST_STEP = "This was the first of two steps: the protocol changes with the second."


def compare(preview: Preview, result: Result) -> Iterator[Line]:
    """Every line of a run that committed something."""
    waits = bool(result.details.get("ask_again_after"))
    expected = preview.get("protocol_before" if waits else "protocol_after")
    if expected is None:
        return
    actual = result.details.get("protocol_after")
    why = FIRST_STEP if waits else ""
    for name, label in (("min_reader_version", "Reader version"), ("min_writer_version", "Writer version")):
        got = None if actual is None else str(actual[name])
        yield line(name, label, Unit.WORD, Expected(str(expected[name]), why=why), got, moved=False, missing=NOT_READ)
    got = None if actual is None else _features(actual)
    yield line(
        "features", "Features", Unit.WORD, Expected(_features(expected), why=why), got, moved=False, missing=NOT_READ
    )


def _features(protocol: Mapping[str, Any]) -> str:
    names = protocol["writer_features"]
    return ", ".join(sorted(names)) if names is not None else "by version"
