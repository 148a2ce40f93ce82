"""What Spark is asked, before anybody reviews a change, of the CHECK constraints, invariants and generated columns that Delta keeps to.

A table by another writer may have some that Spark can't read, or rows that violate them: Delta finds out when it commits, or writes the
rows again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

KIND = "constraints"
MOST_FILES, MOST_COPIED = 1_000, 10_000
MOST_ROWS = 100_000


def constraints_question(
    location: str,
    version: int,
    files: pa.Table | None = None,
    *,
    kept_by: Mapping[str, Any] | None = None,
    redefines: bool = False,
) -> dict[str, Any]:
    """The question: `{path, version, files, rows, kept_by, redefines}`.

    `files` are the live ones whose rows Spark would write again: MOST_FILES of them are read, evenly spread, and MOST_ROWS of their
    rows; with `kept_by`, the tree of a delete's predicate, all rows of MOST_COPIED that it doesn't match, since the delete copies
    them. `redefines`: the commit carries the table's metadata, so that Delta looks at every generated column.
    """
    return {
        "path": location,
        "version": version,
        "files": []
        if files is None
        else _some(files.column("path").to_pylist(), MOST_FILES if kept_by is None else MOST_COPIED),
        "rows": None if kept_by is not None else MOST_ROWS,
        "kept_by": kept_by,
        "redefines": redefines,
    }


def _some(paths: Sequence[str], most: int) -> list[str]:
    return list(paths[:: max(1, -(-len(paths) // most))])
