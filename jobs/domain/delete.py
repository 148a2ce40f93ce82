"""What a delete's commit says of how Delta did it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Branch = Literal["metadata_only", "deletion_vectors", "rewrite"]


def branch_of(operation_metrics: Mapping[str, str | None]) -> Branch | None:
    """The branch of Delta's DELETE that wrote a commit with these metrics; None where they don't tell.

    Only a rewrite takes time for rewriting, even where it leaves no row to write. A deletion vector that covers a whole file removes
    the file instead, and in that branch alone Delta counts no removed bytes.
    """
    if _number(operation_metrics, "rewriteTimeMs") or _number(operation_metrics, "numAddedFiles"):
        return "rewrite"
    if _number(operation_metrics, "numDeletionVectorsAdded"):
        return "deletion_vectors"
    if not _number(operation_metrics, "numRemovedFiles"):
        return None
    return "metadata_only" if _number(operation_metrics, "numRemovedBytes") else "deletion_vectors"


def _number(metrics: Mapping[str, str | None], name: str) -> int:
    text = metrics.get(name) or ""
    return int(text) if text.isdigit() else 0
