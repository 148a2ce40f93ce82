"""Compares a change of properties with its prediction: each property's value, and the protocol.

Rules: Delta 4.4.0; what Delta keeps itself (column ids, when in-commit timestamps began) is no part of the prediction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jobs.domain.comparison import Expected, Line, Preview, Unit, line
from jobs.domain.results import Result

NOT_SET = "not set"
NOT_READ = "The run ended before Levee read the table again."


def compare(preview: Preview, result: Result) -> Iterator[Line]:
    """Every line of a run that committed something."""
    recorded = result.details.get("after")
    for name, value in sorted(preview.get("after", {}).items()):
        actual = None if recorded is None else _text(recorded.get(name))
        yield line(name, "Property", Unit.WORD, Expected(_text(value)), actual, moved=False, missing=NOT_READ)
    expected, actual_protocol = preview.get("protocol_after"), result.details.get("protocol_after")
    if expected is not None:
        yield from _protocol(expected, actual_protocol)


def _protocol(expected: Mapping[str, object], actual: Mapping[str, object] | None) -> Iterator[Line]:
    for name, label in (("min_reader_version", "Reader version"), ("min_writer_version", "Writer version")):
        wanted, got = str(expected[name]), None if actual is None else str(actual[name])
        yield line(name, label, Unit.WORD, Expected(wanted), got, moved=False, missing=NOT_READ)
    got = None if actual is None else _features(actual)
    yield line("features", "Features", Unit.WORD, Expected(_features(expected)), got, moved=False, missing=NOT_READ)


def _features(protocol: Mapping[str, object]) -> str:
    names = protocol["writer_features"]
    return ", ".join(sorted(names)) if isinstance(names, list | tuple) else "by version"


def _text(value: str | None) -> str:
    return NOT_SET if value is None else value
