"""Compares an optimize with its prediction: every metric of its commit beside the expected value.

Rules: Delta 4.4.0, OptimizeTableCommand and DeltaOperations.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobs.domain.comparison import Expected, Line, Preview, Unit, has_moved, line, number_of, rows_kept
from jobs.domain.results import Result

BY_CLUSTERS = "Delta decides by the clusters that the files already belong to."
COMPRESSION = "Depends on how well the files that Spark writes compress."


def compare(preview: Preview, result: Result) -> Iterator[Line]:
    """Every line of a run that committed something."""
    metrics, moved = result.operation_metrics, has_moved(preview, result)
    expected = {
        "numRemovedFiles": _known(preview, "files_in"),
        "numRemovedBytes": _known(preview, "bytes_in"),
        "numAddedFiles": _files_out(preview),
        "numDeletionVectorsRemoved": _vectors(preview),
    }
    yield from rows_kept(result)
    for name, (label, unit) in _OPTIMIZE.items():
        value = expected.get(name, Expected(why=COMPRESSION))
        yield line(name, label, unit, value, number_of(metrics, name), moved)


def _known(preview: Preview, name: str) -> Expected:
    value = preview.get(name)
    if value is None:
        return Expected(why=BY_CLUSTERS)
    return Expected(value) if preview.get("exact") else Expected(most=value)


def _files_out(preview: Preview) -> Expected:
    value = preview.get("files_out")
    if value is None:
        return Expected(why=BY_CLUSTERS)
    if preview.get("exact") and preview.get("mode") == "compaction":
        return Expected(value)
    return Expected(most=value)


def _vectors(preview: Preview) -> Expected:
    value = preview.get("deletion_vectors")
    if value is None:
        return Expected(why=BY_CLUSTERS)
    # Delta also counts the vectors of files that it looked at and left as they are.
    return Expected(least=value) if preview.get("exact") else Expected()


_OPTIMIZE: dict[str, tuple[str, Unit]] = {
    "numRemovedFiles": ("Files removed", Unit.COUNT),
    "numAddedFiles": ("Files added", Unit.COUNT),
    "numRemovedBytes": ("Bytes removed", Unit.BYTES),
    "numAddedBytes": ("Bytes added", Unit.BYTES),
    "numDeletionVectorsRemoved": ("Deletion vectors removed", Unit.COUNT),
    "minFileSize": ("Smallest file added", Unit.BYTES),
    "p50FileSize": ("Median file added", Unit.BYTES),
    "maxFileSize": ("Largest file added", Unit.BYTES),
}
