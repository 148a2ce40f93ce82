"""Which files in storage a version needs, deletion vectors included, and until which version one of them is needed."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.read.actions import AddFile, DeletionVector, RemoveFile
from tables.deltalog.read.data_files import below
from tables.deltalog.read.problems import Problems, harms_state
from tables.deltalog.read.vector_files import vector_file
from tables.deltalog.replay.log import DeltaLog

MOST_COMMITS = 1_000
RELATIVE, ABSOLUTE = "u", "p"  # storage types of a vector: a name below the table, a whole path


def live_names(files: pa.Table) -> list[tuple[str, int | None]]:
    """The paths of data files with their sizes, as the log has them, and of deletion vector files, whose sizes it doesn't say.

    Each vector file comes once, however many vectors it holds.
    """
    named: list[tuple[str, int | None]] = list(
        zip(files.column("path").to_pylist(), files.column("size").to_pylist(), strict=True)
    )
    return [*named, *((path, None) for path in vector_names(files))]


def vector_names(files: pa.Table) -> list[str]:
    """The paths of their deletion vector files alone."""
    with_vector = files.filter(pc.is_valid(files.column("deletion_vector"))).column("deletion_vector").to_pylist()
    return sorted({path for each in with_vector if (path := vector_path(each["storage"], each["path_or_inline"]))})


def vector_path(storage: str | None, stored: str | None) -> str | None:
    """The path of a vector's file; None for one that lies in the log itself, or whose name can't be read."""
    if stored is None or storage not in (RELATIVE, ABSOLUTE):
        return None
    if storage == ABSOLUTE:
        return stored
    try:
        return vector_file(stored)
    except ValueError:
        return None


def needed_until(log: DeltaLog, location: str, version: int, head: int, paths: Collection[str]) -> int:
    """The newest version known to need one of the files, which `version` needs: `paths` are decoded, below the table.

    Reads the commits after it, MOST_COMMITS at most, and none beyond one that can't be read: it may be needed longer.
    """
    left = set(paths)
    for later in range(version + 1, min(head, version + MOST_COMMITS) + 1):
        problems = Problems()
        removed, added = set[str](), set[str]()
        for action in log.actions(later, problems):
            if isinstance(action, RemoveFile):
                removed.update(_stored(action.path, action.deletion_vector, location))
            elif isinstance(action, AddFile):
                added.update(_stored(action.path, action.deletion_vector, location))
        if harms_state(problems.found()):
            return later - 1
        left = (left - removed) | (added & set(paths))
        if not left:
            return later - 1
    return max(version, min(head, version + MOST_COMMITS))


def _stored(path: str, vector: DeletionVector | None, location: str) -> Iterator[str]:
    texts = [path, vector_path(vector.storage, vector.path_or_inline) if vector else None]
    yield from (inner for text in texts if text is not None and (inner := below(location, text)) is not None)
