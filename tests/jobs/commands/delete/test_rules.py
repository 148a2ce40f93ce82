"""The branch of a delete, told from its commit's metrics as Delta 4.4 writes them."""

import pytest

from jobs.commands.delete.rules import branch_of, files_without_rows
from jobs.commands.delete.wording import outcome
from jobs.commands.delete.wording import title as title_of
from jobs.domain.results import Result

NONE = {
    "numRemovedFiles": "0", "numAddedFiles": "0", "numCopiedRows": "0", "numDeletedRows": "0", "numRemovedBytes": "0",
    "numDeletionVectorsAdded": "0", "numDeletionVectorsUpdated": "0", "scanTimeMs": "0", "rewriteTimeMs": "0",
}  # fmt: skip


@pytest.mark.parametrize(
    ("metrics", "branch"),
    [
        ({"numRemovedFiles": "4", "numRemovedBytes": "3929", "scanTimeMs": "780"}, "metadata_only"),
        ({"numRemovedFiles": "1", "numRemovedBytes": "990", "numAddedFiles": "1", "rewriteTimeMs": "227"}, "rewrite"),
        ({"numRemovedFiles": "4", "numRemovedBytes": "3936", "scanTimeMs": "1054", "rewriteTimeMs": "174"}, "rewrite"),
        ({"numDeletionVectorsAdded": "1"}, "deletion_vectors"),
        ({"numDeletionVectorsAdded": "1", "numDeletionVectorsUpdated": "1"}, "deletion_vectors"),
        ({"numRemovedFiles": "4"}, "deletion_vectors"),
        ({}, None),
    ],
    ids=["log", "files", "a rewrite without a row", "vectors", "a vector again", "whole files by vectors", "nothing"],
)
def test_the_metrics_tell_the_branch(metrics, branch):
    assert branch_of(NONE | metrics) == branch


def test_metrics_that_were_never_recorded_tell_nothing():
    assert branch_of({}) is None
    assert branch_of({"numRemovedFiles": None}) is None


@pytest.mark.parametrize(("rows", "removed", "files"), [(0, "2", 2), (0, "0", 0), (5, "2", 0), (None, "2", 0)])
def test_files_that_went_without_a_row_are_told_from_the_metrics(rows, removed, files):
    metrics = NONE | {"numRemovedFiles": removed}
    assert files_without_rows(rows, metrics) == files
    figures = [(figure.label, figure.value) for figure in outcome(Result(5, "DELETE", {}, metrics, rows))]
    assert figures == [("Rows deleted", rows)] + [("Files removed", files)] * bool(files)


@pytest.mark.parametrize(
    ("rows", "files", "title"),
    [
        (0, 1, "Remove 1 file without rows from t"),
        (0, 1200, "Remove 1,200 files without rows from t"),
        (0, 0, "Delete 0 rows from t"),
        (3, 1, "Delete 3 rows from t"),
    ],
)
def test_the_title_of_a_delete_of_no_row_names_its_files(rows, files, title):
    assert title_of("t", {}, {"rows_matched": rows, "rows_matched_exact": True, "files_matched": files}) == title
