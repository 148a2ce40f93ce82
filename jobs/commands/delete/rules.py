"""A delete as a value, its consequences, and the branch that its commit's metrics show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Literal

from jobs.domain.consequences import Consequence, in_words, said
from jobs.domain.delta.feature_support import Cells, Refused

Branch = Literal["metadata_only", "deletion_vectors", "rewrite"]
# The files that Delta's data skipping passes over: the read of them by Spark, and its answer in a preview.
PASSED_OVER = "passed_over"
ROWS_LEFT = "rows_left"  # the consequence of matching rows in them


REFUSED: Cells = {
    "appendOnly": (Refused("DELTA_CANNOT_MODIFY_APPEND_ONLY", "while `delta.appendOnly` is true"),),
}


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE of the rows of a Delta table that match a predicate; of all rows if `predicate` is None.

    `table` is the catalog's id and `path` its canonical location. `predicate` is the text that `tree` (its stored form,
    `predicates.stored`) prints; Levee previews, people approve, and Spark runs the tree.
    """

    kind: ClassVar[str] = "delete"
    schema_version: ClassVar[int] = 1

    table: str
    predicate: str | None
    path: str = ""
    tree: Mapping[str, Any] | None = None


def branch_of(operation_metrics: Mapping[str, str | None]) -> Branch | None:
    """The branch of Delta's DELETE that wrote a commit with these metrics; None if they don't show it.

    Only a rewrite records rewrite time, even if it leaves no row to write. When a deletion vector would cover a whole file, Delta
    removes the file instead, and in that branch alone counts no removed bytes.
    """
    if _number(operation_metrics, "rewriteTimeMs") or _number(operation_metrics, "numAddedFiles"):
        return "rewrite"
    if _number(operation_metrics, "numDeletionVectorsAdded"):
        return "deletion_vectors"
    if not _number(operation_metrics, "numRemovedFiles"):
        return None
    return "metadata_only" if _number(operation_metrics, "numRemovedBytes") else "deletion_vectors"


def files_without_rows(rows: int | None, operation_metrics: Mapping[str, str | None]) -> int:
    """How many files a commit removed that deleted no row: by the log alone Delta removes the empty files of a partition too."""
    return _number(operation_metrics, "numRemovedFiles") if rows == 0 else 0


def _number(metrics: Mapping[str, str | None], name: str) -> int:
    text = metrics.get(name) or ""
    return int(text) if text.isdigit() else 0


def consequences_of(branch: str, *, change_feed: bool, retention: timedelta, version: int) -> list[Consequence]:
    """How long you can still read and restore the rows, what stays in storage, and what the change feed shows.

    `retention` is the table's `delta.deletedFileRetentionDuration`, `version` the one that still has the rows. The rules are
    those of Delta 4.4's DeleteCommand and VacuumCommand.
    """
    if branch == "nothing":
        return []
    consequences = [
        said(
            "readable_until",
            f"You can still read the rows at version {version:,}, and bring them back with a restore, until that version is"
            f" {in_words(retention)} old: Delta refuses older ones. A VACUUM that keeps less ends it earlier.",
        ),
        said("bytes_stay", _bytes_stay(branch)),
    ]
    return [*consequences, said("change_feed", _change_feed(branch))] if change_feed else consequences


def _bytes_stay(branch: str) -> str:
    if branch == "deletion_vectors":
        return (
            "Delta only marks the rows as deleted: their bytes stay in the same files until OPTIMIZE or REORG … PURGE rewrites"
            " those files and VACUUM removes the old ones. This isn’t enough for an erasure."
        )
    return "The bytes stay in storage until VACUUM removes the old files. By itself this isn’t enough for an erasure."


def _change_feed(branch: str) -> str:
    if branch == "rewrite":
        return "The change feed is on: Delta writes the deleted rows to _change_data as well."
    return "The change feed is on: readers derive the deleted rows from the removed files; Delta writes nothing extra."


def of_rows(rows: int | None, consequences: list[Consequence]) -> list[Consequence]:
    """Those that follow for at most so many rows (None: unknown): without one, only what becomes of the files."""
    return [found for found in consequences if found["code"] == "bytes_stay"] if rows == 0 else consequences
