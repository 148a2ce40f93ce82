"""Compares a restore with its prediction: every metric of its commit beside the expected value.

Rules: Delta 4.4.0, RestoreTableCommand and DeltaOperations.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobs.domain.comparison import Expected, Line, Preview, Unit, Verdict, has_moved, line, number_of
from jobs.domain.results import Result

NO_RESTORED_ROWS = "Delta records no row counts for a restore; Levee counts the rows itself."


def compare(preview: Preview, result: Result) -> Iterator[Line]:
    """Every line of a run that committed something."""
    metrics, moved = result.operation_metrics, has_moved(preview, result)
    yield _rows_read(preview, result, moved)
    for name, (label, unit, field) in _RESTORE.items():
        value = preview.get(field) if field else None
        expected = Expected(value) if value is not None else Expected(why="Levee doesn’t predict it.")
        yield line(name, label, unit, expected, number_of(metrics, name), moved)
    for field, label in (("rows_back", "Rows restored"), ("rows_gone", "Rows removed")):
        yield Line(
            field, label, Unit.COUNT, Expected(preview.get(field)), None, Verdict.UNKNOWN, NO_RESTORED_ROWS
        )  # fmt: skip


def _rows_read(preview: Preview, result: Result, moved: bool) -> Line:
    """The proof of a restore: Spark reads all rows again."""
    rows = preview.get("rows_to")
    expected = Expected(rows) if rows is not None else Expected(why="The preview didn’t read them.")
    rows_line = line("rows", "Rows read again", Unit.COUNT, expected, result.details.get("rows"), moved)
    if rows_line.verdict is not Verdict.SAME or result.details.get("proven") is not False:
        return rows_line
    return Line(
        rows_line.name,
        rows_line.label,
        rows_line.unit,
        expected,
        rows_line.actual,
        Verdict.DIFFERENT,
        result.details["text"],
    )


_RESTORE: dict[str, tuple[str, Unit, str | None]] = {
    "numRestoredFiles": ("Files restored", Unit.COUNT, "files_back"),
    "numRemovedFiles": ("Files removed", Unit.COUNT, "files_gone"),
    "restoredFilesSize": ("Bytes restored", Unit.BYTES, "bytes_back"),
    "removedFilesSize": ("Bytes removed", Unit.BYTES, "bytes_gone"),
    "numOfFilesAfterRestore": ("Files after the restore", Unit.COUNT, None),
    "tableSizeAfterRestore": ("Size after the restore", Unit.BYTES, None),
}
