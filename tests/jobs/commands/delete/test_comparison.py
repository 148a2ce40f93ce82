"""A run held against its prediction: what agrees, what is within a bound, what differs and why, what nobody recorded."""

from typing import Any

import pytest

from jobs.commands.registry import compared
from jobs.domain.comparison import Line, Verdict, differ, has_moved
from jobs.domain.results import Result
from jobs.models import Job

PREVIEW: dict[str, Any] = {
    "branch": "rewrite",
    "rows_matched": 2,
    "rows_matched_exact": True,
    "files_matched": 1,
    "files_to_rewrite": 1,
    "bytes_matched": 700,
    "bytes_to_rewrite": 700,
    "rows_copied": 3,
    "measured_at_version": 4,
    "consequences": [],
    "speed": "spark",
}
REWRITE = {
    "numRemovedFiles": "1",
    "numAddedFiles": "1",
    "numDeletedRows": "2",
    "numCopiedRows": "3",
    "numAddedChangeFiles": "0",
    "numRemovedBytes": "700",
    "numAddedBytes": "650",
    "numDeletionVectorsAdded": "0",
    "numDeletionVectorsRemoved": "0",
    "numDeletionVectorsUpdated": "0",
    "executionTimeMs": "900",
    "scanTimeMs": "400",
    "rewriteTimeMs": "500",
}
METADATA = REWRITE | {"numAddedFiles": "0", "numCopiedRows": "0", "numAddedBytes": "0", "rewriteTimeMs": "0"}
VECTORS = METADATA | {"numRemovedFiles": "0", "numRemovedBytes": "0", "numDeletionVectorsAdded": "1"}


def result(metrics: dict[str, str], rows: int | None = 2, read: int = 4, **more: Any) -> Result:
    return Result(5, "DELETE", {}, metrics, rows, read_version=read, **more)


def compare(command: str, preview: dict[str, Any], found: Result) -> list[Line]:
    return compared(Job(command=command, preview=preview), found)


def lines(preview: dict[str, Any], found: Result) -> dict[str, Any]:
    return {line.name: line for line in compare("delete", preview, found)}


def test_a_rewrite_that_went_as_predicted_differs_nowhere():
    found = lines(PREVIEW, result(REWRITE))
    assert differ(list(found.values())) == []
    same = {name for name, line in found.items() if line.verdict is Verdict.SAME}
    assert {"branch", "num_affected_rows", "files touched", "numRemovedFiles", "numCopiedRows"} <= same
    assert {"numRemovedBytes", "numAddedChangeFiles"} <= same
    assert found["numAddedFiles"].verdict is Verdict.MEASURED
    assert "Spark decides" in found["numAddedFiles"].why


@pytest.mark.parametrize(
    ("branch", "metrics", "way"),
    [("metadata_only", METADATA, "log only"), ("deletion_vectors", VECTORS, "deletion vectors")],
)
def test_every_branch_that_went_as_predicted_differs_nowhere(branch, metrics, way):
    preview = PREVIEW | {"branch": branch, "bytes_to_rewrite": 0, "files_to_rewrite": 0, "rows_copied": 0}
    found = compare("delete", preview, result(metrics))
    assert [line.name for line in differ(found)] == []
    assert found[0].actual == way


def test_another_branch_than_predicted_is_a_difference():
    found = lines(PREVIEW, result(VECTORS))
    assert found["branch"].verdict is Verdict.DIFFERENT
    assert (found["branch"].expected.value, found["branch"].actual) == ("rewrite files", "deletion vectors")


def test_other_files_on_a_table_that_moved_are_explained_by_that():
    moved = result(REWRITE | {"numRemovedFiles": "4"}, read=9)
    line = lines(PREVIEW, moved)["numRemovedFiles"]
    assert (line.verdict, line.expected.value, line.actual) == (Verdict.DIFFERENT, 1, 4)
    assert "moved on" in line.why
    assert has_moved(PREVIEW, moved)
    still = lines(PREVIEW, result(REWRITE | {"numRemovedFiles": "4"}))["numRemovedFiles"]
    assert "moved on" not in still.why


def test_what_delta_did_not_record_is_unknown_and_never_nothing():
    without = {name: value for name, value in REWRITE.items() if name not in ("numCopiedRows", "numAddedFiles")}
    found = lines(PREVIEW, result(without, rows=None))
    for name in ("num_affected_rows", "numCopiedRows", "numAddedFiles"):
        assert (found[name].actual, found[name].verdict) == (None, Verdict.UNKNOWN)
        assert "doesn’t record how many rows" in found[name].why


def test_what_delta_keeps_out_of_the_log_is_named_all_the_same():
    found = lines(PREVIEW, result(REWRITE))
    assert found["numTouchedRows"].verdict is Verdict.UNKNOWN
    assert "keeps it out of the log" in found["changeFileBytes"].why


@pytest.mark.parametrize(
    ("rows", "verdict"), [(3, Verdict.WITHIN), (5, Verdict.WITHIN), (6, Verdict.DIFFERENT), (0, Verdict.DIFFERENT)]
)
def test_a_bound_holds_or_it_doesnt(rows, verdict):
    bounded = PREVIEW | {"rows_matched": 5, "rows_least": 1, "rows_matched_exact": False, "speed": "log"}
    assert lines(bounded, result(REWRITE, rows=rows))["num_affected_rows"].verdict is verdict


def test_a_rewrite_with_the_change_feed_on_writes_change_files():
    preview = PREVIEW | {"consequences": [{"code": "change_feed", "text": "on"}]}
    assert lines(preview, result(REWRITE))["numAddedChangeFiles"].verdict is Verdict.DIFFERENT
    written = result(REWRITE | {"numAddedChangeFiles": "2"})
    assert lines(preview, written)["numAddedChangeFiles"].verdict is Verdict.WITHIN
    assert lines(PREVIEW, written)["numAddedChangeFiles"].verdict is Verdict.DIFFERENT


def test_a_file_that_loses_every_row_is_removed_instead_of_marked():
    preview = PREVIEW | {"branch": "deletion_vectors", "files_matched": 3}
    found = lines(preview, result(VECTORS | {"numRemovedFiles": "1", "numDeletionVectorsAdded": "2"}))
    assert (found["files touched"].actual, found["files touched"].verdict) == (3, Verdict.SAME)
    assert found["numRemovedFiles"].verdict is Verdict.WITHIN


def test_a_run_without_a_commit_has_nothing_to_compare():
    assert compare("delete", PREVIEW, Result(None, None, no_op=True)) == []
    assert compare("convert", {}, Result(0, "CONVERT")) == []
