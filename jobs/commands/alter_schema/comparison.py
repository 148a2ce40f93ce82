"""Compares a change of a schema with its prediction: how many commits, and the schema and protocol that came of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jobs.domain.comparison import Expected, Line, Preview, Unit, line
from jobs.domain.results import Result

NOT_READ = "The run ended before Levee read the table again."


def compare(preview: Preview, result: Result) -> Iterator[Line]:
    """Every line of a run that committed something."""
    details = result.details
    count = Expected(len(preview["changes"]))
    yield line("commits", "Changes committed", Unit.COUNT, count, len(details.get("commits") or ()), moved=False)
    for name, label, expected in (
        ("schema", "Schema", preview.get("schema_digest")),
        ("protocol", "Protocol", protocol_words(preview["protocol_after"])),
    ):
        yield line(
            name, label, Unit.WORD, Expected(expected), details.get(f"{name}_read"), moved=False, missing=NOT_READ
        )


def protocol_words(protocol: Mapping[str, Any]) -> str:
    """A protocol in one word of the comparison: `2.7: appendOnly, columnMapping`."""
    features = sorted({*(protocol["reader_features"] or ()), *(protocol["writer_features"] or ())})
    versions = f"{protocol['min_reader_version']}.{protocol['min_writer_version']}"
    return f"{versions}: {', '.join(features)}" if features else versions
