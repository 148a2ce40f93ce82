"""What a failed conversion leaves behind, and how it is taken away again.

Standard library only: the engine uses it after a failure, the dispatcher after a worker's death.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DELTA_LOG = "_delta_log"


@contextmanager
def remove_empty_log(path: str) -> Iterator[None]:
    """If the block fails, a `_delta_log` that was absent before it is removed, as far as its directories are empty.

    By rmdir alone, deepest first: whatever holds a file, a commit above all, stays. The caller holds the table's lease.
    """
    log = Path(path) / DELTA_LOG
    ours = "://" not in path and not os.path.lexists(log)
    ended_well = False
    try:
        yield
        ended_well = True
    finally:
        if ours and not ended_well:
            remove_empty_directories(log)


def remove_empty_directories(top: Path) -> bool:
    """Removes a tree of empty directories by rmdir; True when nothing of it is left."""
    if not top.is_dir() or top.is_symlink():
        return not os.path.lexists(top)
    for directory, _, _ in os.walk(top, topdown=False, followlinks=False):
        try:
            Path(directory).rmdir()
        except OSError:
            return False  # not empty: what lies here isn't ours to delete
    return True
