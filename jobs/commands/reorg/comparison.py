"""Compares a reorg with its prediction: every metric of its commit beside the expected value.

Rules: Delta 4.4.0, OptimizeExecutor, which runs a reorg, and DeltaOperations.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobs.domain.comparison import Expected, Line, Preview, Unit, has_moved, line, number_of, rows_kept
from jobs.domain.results import Result

COMPRESSION = "Depends on how well the files that Spark writes compress."
BY_CLUSTERS = "Delta decides by the clusters that the files belong to."


def compare(preview: Preview, result: Result) -> Iterator[Line]:
    """Every line of a run that committed something."""
    metrics, moved = result.operation_metrics, has_moved(preview, result)
    expected = {
        "numRemovedFiles": _counted(preview, "files_in"),
        "numRemovedBytes": _counted(preview, "bytes_in"),
        "numAddedFiles": _files_out(preview),
        "numDeletionVectorsRemoved": _counted(preview, "deletion_vectors"),
    }
    yield from rows_kept(result)
    for name, (label, unit) in _REORG.items():
        value = expected.get(name, Expected(why=COMPRESSION))
        yield line(name, label, unit, value, number_of(metrics, name), moved)


def _counted(preview: Preview, name: str) -> Expected:
    value = preview.get(name)
    if value is None:
        return Expected()
    return Expected(value) if preview.get("exact") else Expected(most=value)


def _files_out(preview: Preview) -> Expected:
    value = preview.get("files_out")
    return Expected(why=BY_CLUSTERS) if value is None else Expected(most=value)


_REORG: dict[str, tuple[str, Unit]] = {
    "numRemovedFiles": ("Files removed", Unit.COUNT),
    "numAddedFiles": ("Files added", Unit.COUNT),
    "numRemovedBytes": ("Bytes removed", Unit.BYTES),
    "numAddedBytes": ("Bytes added", Unit.BYTES),
    "numDeletionVectorsRemoved": ("Deletion vectors removed", Unit.COUNT),
    "minFileSize": ("Smallest file added", Unit.BYTES),
    "p50FileSize": ("Median file added", Unit.BYTES),
    "maxFileSize": ("Largest file added", Unit.BYTES),
}
