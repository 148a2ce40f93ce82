"""A restore held against its prediction: what agrees, what differs, what nobody could know."""

from typing import Any

from jobs.commands.registry import compared
from jobs.domain.comparison import Verdict, differ
from jobs.domain.results import Result
from jobs.models import Job

RESTORED = {
    "numRestoredFiles": "1",
    "numRemovedFiles": "2",
    "restoredFilesSize": "700",
    "removedFilesSize": "900",
    "numOfFilesAfterRestore": "5",
    "tableSizeAfterRestore": "5000",
}
BACK = {
    "files_back": 1,
    "files_gone": 2,
    "bytes_back": 700,
    "bytes_gone": 900,
    "rows_back": 2,
    "rows_gone": 0,
    "rows_to": 10,
    "measured_at_version": 5,
}


def restored(metrics: dict[str, str] = RESTORED, **details: Any) -> Result:
    return Result(
        6, "RESTORE", {}, metrics, read_version=5, details={"rows": 10, "proven": True, "text": "all"} | details
    )


def lines(preview: dict[str, Any], found: Result) -> dict[str, Any]:
    return {line.name: line for line in compared(Job(command="restore", preview=preview), found)}


def test_a_restore_that_went_as_predicted_differs_nowhere():
    found = lines(BACK, restored())
    assert differ(list(found.values())) == []
    assert found["rows"].verdict is Verdict.SAME
    assert found["numOfFilesAfterRestore"].verdict is Verdict.MEASURED
    assert found["rows_back"].verdict is Verdict.UNKNOWN


def test_a_restore_whose_rows_are_others_says_so_even_where_their_number_agrees():
    line = lines(BACK, restored(proven=False, text="other rows"))["rows"]
    assert (line.verdict, line.why) == (Verdict.DIFFERENT, "other rows")


def test_a_restore_whose_rows_could_not_be_read_before_claims_nothing():
    line = lines(BACK | {"rows_to": None}, restored(proven=False))["rows"]
    assert line.verdict is Verdict.MEASURED
