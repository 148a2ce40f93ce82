"""Removes what a failed conversion leaves behind.

Standard library only: the engine uses it after a failure, the dispatcher after a worker's death.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tables.storage.local import directories as places

DELTA_LOG = "_delta_log"
# A commit that Delta hasn't renamed into place yet on a local file system, and Hadoop's checksum of it: on a full disk Delta can
# finish neither, and never removes them.
UNFINISHED = re.compile(r"\.{1,2}\d{20}\.(json|crc)\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp(\.crc)?")


@contextmanager
def remove_empty_log(path: str) -> Iterator[None]:
    """If the block fails, removes a `_delta_log` that wasn't there before it and holds nothing.

    Unfinished commits count as nothing. Anything else in it, above all a commit, keeps the whole directory. The caller holds the
    table's lease.
    """
    log = Path(path) / DELTA_LOG
    # An object store has no directories to remove, and takes a commit whole or not at all.
    ours = path.startswith("/") and not os.path.lexists(log)
    ended_well = False
    try:
        yield
        ended_well = True
    finally:
        if ours and not ended_well:
            remove_empty_directories(log)


def remove_empty_directories(top: Path) -> bool:
    """Removes a directory tree that holds nothing but unfinished commits; True when nothing of it is left.

    It never follows a link.
    """
    try:
        places.walk(str(top))
    except OSError:
        return not os.path.lexists(top)
    tree = list(os.walk(top, topdown=False, followlinks=False))
    if not all(UNFINISHED.fullmatch(name) for _, _, files in tree for name in files):
        return False  # these files aren't ours to delete
    return all(_remove(Path(directory), files) for directory, _, files in tree)


def _remove(directory: Path, unfinished: list[str]) -> bool:
    try:
        for name in unfinished:
            (directory / name).unlink()
        directory.rmdir()
    except OSError:
        return False  # another program wrote here in the meantime
    return True
