"""The branch of a delete, told from its commit's metrics as Delta 4.4 writes them."""

import pytest

from jobs.commands.delete.rules import branch_of

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
