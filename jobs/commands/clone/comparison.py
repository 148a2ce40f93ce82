"""Compares a clone with its prediction: every metric of its commit beside the expected value.

Rules: Delta 4.4.0, CloneTableBase `getOperationMetricsForDeltaLog`.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobs.domain.comparison import Expected, Line, Preview, Unit, line, number_of
from jobs.domain.results import Result


def compare(preview: Preview, result: Result) -> Iterator[Line]:
    """Every line of a run that committed something."""
    expected = {
        "sourceNumOfFiles": preview.get("files"),
        "sourceTableSize": preview.get("bytes"),
        "numCopiedFiles": preview.get("files_to_copy"),
        "copiedFilesSize": preview.get("bytes_to_copy"),
        "numRemovedFiles": 0,
        "removedFilesSize": 0,
    }
    for name, (label, unit) in _CLONE.items():
        actual = number_of(result.operation_metrics, name)
        yield line(name, label, unit, Expected(expected[name]), actual, moved=False)


_CLONE: dict[str, tuple[str, Unit]] = {
    "sourceNumOfFiles": ("Files of the source", Unit.COUNT),
    "sourceTableSize": ("Bytes of the source", Unit.BYTES),
    "numCopiedFiles": ("Files copied", Unit.COUNT),
    "copiedFilesSize": ("Bytes copied", Unit.BYTES),
    "numRemovedFiles": ("Files removed", Unit.COUNT),
    "removedFilesSize": ("Bytes removed", Unit.BYTES),
}
