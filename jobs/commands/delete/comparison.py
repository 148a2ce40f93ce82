"""Compares a delete with its prediction: every metric of its commit beside the expected value.

Rules: Delta 4.4.0, DeleteCommand and DeltaOperations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jobs.commands.delete.rules import branch_of
from jobs.domain.comparison import (
    NOT_RECORDED,
    OUT_OF_LOG,
    ROWS_DELETED,
    Expected,
    Line,
    Preview,
    Unit,
    Verdict,
    has_moved,
    line,
    number_of,
)
from jobs.domain.results import Result

NO_COUNTS = "Delta omits it if the log doesn’t record how many rows a file holds."
BY_SPARK = "Spark decides how many files it writes."
BRANCHES = {
    "rewrite": "rewrite files",
    "metadata_only": "log only",
    "deletion_vectors": "deletion vectors",
    "nothing": "nothing matches",
}
# Metrics that DELETE measures but doesn't write to its commit.
UNLOGGED = {
    "numFilesBeforeSkipping": "Files before skipping",
    "numFilesAfterSkipping": "Files after skipping",
    "numPartitionsAfterSkipping": "Partitions after skipping",
    "numPartitionsAddedTo": "Partitions added to",
    "numPartitionsRemovedFrom": "Partitions removed from",
    "numTouchedRows": "Rows in the files touched",
    "changeFileBytes": "Bytes of change files",
}


def compare(preview: Preview, result: Result) -> Iterator[Line]:
    """Every line of a run that committed something."""
    metrics = result.operation_metrics
    moved = has_moved(preview, result)
    branch = branch_of(metrics)
    yield _branch_line(preview, branch, moved)
    rows = result.num_affected_rows
    yield line(ROWS_DELETED, "Rows deleted", Unit.COUNT, _rows(preview), rows, moved, NO_COUNTS)
    touched = _sum(number_of(metrics, "numRemovedFiles"), number_of(metrics, "numDeletionVectorsAdded"), branch)
    yield line("files touched", "Files touched", Unit.COUNT, _files(preview), touched, moved)
    for name, (label, unit, expect) in _DELETE.items():
        yield line(name, label, unit, expect(preview), number_of(metrics, name), moved, _why_missing(name))
    for name, label in UNLOGGED.items():
        yield Line(name, label, Unit.COUNT, Expected(), None, Verdict.UNKNOWN, OUT_OF_LOG)


def _branch_line(preview: Preview, branch: str | None, moved: bool) -> Line:
    said = BRANCHES.get(str(preview.get("branch")))
    expected = Expected(said) if said else Expected(why="The preview predicted no method.")
    actual = BRANCHES.get(branch or "")
    return line(
        "branch", "Method", Unit.WORD, expected, actual, moved, "The metrics don’t show which method Delta used."
    )


def _rows(preview: Preview) -> Expected:
    rows = preview.get("rows_matched")
    if rows is None:
        return Expected(why="The rows weren’t counted before the run.")
    return Expected(rows) if preview.get("rows_matched_exact") else Expected(most=rows, least=preview.get("rows_least"))


def _files(preview: Preview) -> Expected:
    files = preview.get("files_matched")
    if files is None:
        return Expected(why="The files weren’t counted before the run.")
    return Expected(files) if _is_exact(preview) else Expected(most=files)


def _is_exact(preview: Preview) -> bool:
    return preview.get("speed") == "spark" or preview.get("branch") == "metadata_only"


def _sum(removed: int | None, marked: int | None, branch: str | None) -> int | None:
    """Files removed plus files marked: a file that already had a vector and gets another counts among the added vectors."""
    if branch != "deletion_vectors":
        return removed
    return None if removed is None or marked is None else removed + marked


def _in(preview: Preview, **by_branch: Expected) -> Expected:
    """The expected value for the predicted branch."""
    return by_branch.get(str(preview.get("branch")), Expected(0))


def _removed_files(preview: Preview) -> Expected:
    files = _files(preview)
    vectors = Expected(most=preview.get("files_matched"), why="Delta removes only files that lose every row.")
    return _in(preview, rewrite=files, metadata_only=files, deletion_vectors=vectors)


def _added_files(preview: Preview) -> Expected:
    return _in(preview, rewrite=Expected(why=BY_SPARK))


def _copied_rows(preview: Preview) -> Expected:
    copied = preview.get("rows_copied")
    known = (
        Expected(copied)
        if copied is not None
        else Expected(why="The log doesn’t record how many rows some files hold.")
    )
    return _in(preview, rewrite=known)


def _change_files(preview: Preview) -> Expected:
    """A rewrite writes them if the change feed is on; in the other branches readers derive them."""
    codes = {consequence.get("code") for consequence in preview.get("consequences", ())}
    return _in(preview, rewrite=Expected(least=1, why=BY_SPARK) if "change_feed" in codes else Expected(0))


def _removed_bytes(preview: Preview) -> Expected:
    """With deletion vectors Delta counts none, even for a file that it removes whole."""
    return _in(preview, rewrite=_bytes(preview, "bytes_to_rewrite"), metadata_only=_bytes(preview, "bytes_matched"))


def _bytes(preview: Preview, name: str) -> Expected:
    size = preview.get(name)
    if size is None:
        return Expected(why="The log doesn’t record how large some files are.")
    return Expected(size) if _is_exact(preview) else Expected(most=size)


def _added_bytes(preview: Preview) -> Expected:
    return _in(preview, rewrite=Expected(why="Depends on how well the files that Spark writes compress."))


def _added_vectors(preview: Preview) -> Expected:
    return _in(preview, deletion_vectors=Expected(most=preview.get("files_matched")))


def _other_vectors(preview: Preview) -> Expected:
    return Expected(why="Depends on which files already had deletion vectors.")


def _time(preview: Preview) -> Expected:
    return Expected(why="Levee doesn’t predict times.")


Expect = Callable[[Preview], Expected]
_DELETE: dict[str, tuple[str, Unit, Expect]] = {
    "numRemovedFiles": ("Files removed", Unit.COUNT, _removed_files),
    "numAddedFiles": ("Files added", Unit.COUNT, _added_files),
    "numCopiedRows": ("Rows copied", Unit.COUNT, _copied_rows),
    "numAddedChangeFiles": ("Change files added", Unit.COUNT, _change_files),
    "numRemovedBytes": ("Bytes removed", Unit.BYTES, _removed_bytes),
    "numAddedBytes": ("Bytes added", Unit.BYTES, _added_bytes),
    "numDeletionVectorsAdded": ("Deletion vectors added", Unit.COUNT, _added_vectors),
    "numDeletionVectorsRemoved": ("Deletion vectors removed", Unit.COUNT, _other_vectors),
    "numDeletionVectorsUpdated": ("Deletion vectors updated", Unit.COUNT, _other_vectors),
    "executionTimeMs": ("Total time", Unit.MILLISECONDS, _time),
    "scanTimeMs": ("Time to find the files", Unit.MILLISECONDS, _time),
    "rewriteTimeMs": ("Time to rewrite", Unit.MILLISECONDS, _time),
}
_COUNTED = frozenset({"numDeletedRows", "numCopiedRows", "numAddedFiles"})


def _why_missing(name: str) -> str:
    return NO_COUNTS if name in _COUNTED else NOT_RECORDED
