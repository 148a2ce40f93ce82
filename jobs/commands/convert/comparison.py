"""Compares a conversion with its inspection: the files that Delta converted, and the rows that their statistics say the table has.

Rules: Delta 4.4.0, ConvertToDeltaCommand, whose numConvertedFiles counts the files that it listed.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobs.domain.comparison import Expected, Line, Preview, Unit, line
from jobs.domain.results import Result

ROWS = "rows_in_table"
NO_FOOTER = "The inspection couldn’t read how many rows some of the files held."
OTHER_FILES = "Files came or went between the inspection and the conversion."
UNTOLD = "Files came or went between the inspection and the conversion; of so many, Levee can’t tell which."
NO_COUNT = "Without statistics the log doesn’t say how many rows its files hold."
UNSYNCED = "The catalog hasn’t read the commit."


def compare(preview: Preview, result: Result) -> Iterator[Line]:
    """Both lines of a run that converted files; none for one that only repaired a catalog's entry."""
    if "files_converted" not in result.details:
        return
    come, gone = (result.details.get(f"num_files_{name}") for name in ("come", "gone"))
    files, rows = preview.get("num_files"), preview.get("num_records")
    expected = _files(files, come, gone)
    yield line(
        "files_converted", "Files converted", Unit.COUNT, expected, result.details["files_converted"], moved=False
    )
    same = (
        Expected(why=OTHER_FILES)
        if come != 0 or gone != 0
        else Expected(rows, why="" if rows is not None else NO_FOOTER)
    )
    missing = UNSYNCED if result.details.get("collect_stats") else NO_COUNT
    yield line(ROWS, "Rows", Unit.COUNT, same, result.details.get(ROWS), moved=False, missing=missing)


def _files(files: int | None, come: int | None, gone: int | None) -> Expected:
    """The inspected ones, with those that the run found to have come and gone; unknown where it could only tell that some have."""
    if files is None or come is None or gone is None:
        return Expected(why=UNTOLD)
    return Expected(files + come - gone, why=OTHER_FILES if come or gone else "")
