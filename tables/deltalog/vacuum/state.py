"""The files that a table needs, and those that it no longer does, by their keys."""

from __future__ import annotations

from array import array

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.read.paths import is_absolute
from tables.deltalog.state.snapshot import Snapshot
from tables.deltalog.vacuum.keys import KEY, below, column, key, with_parents
from tables.deltalog.vacuum.removals import FileChanges, vector_of

_NAMES = ("time", "size", "version")


def live_files(snapshot: Snapshot, root: str) -> tuple[pa.Array, set[str]]:
    """The keys of the newest version's files and deletion vectors, and the directories that its files lie in."""
    found, folders = array("Q"), set[str]()
    for batch in snapshot.files().select(["path", "deletion_vector"]).to_batches(max_chunksize=65_536):
        last = None
        for path in batch.column("path").to_pylist():
            if (place := below(path, root)) is not None:
                found.append(key(place))
                folder = place.rpartition("/")[0]
                if folder != last:
                    folders.update(with_parents(folder))
                    last = folder
        for vector in batch.column("deletion_vector").drop_null().to_pylist():
            stored = {"storageType": vector["storage"], "pathOrInlineDv": vector["path_or_inline"]}
            if (file := vector_of(stored)) is not None:
                found.append(key(file[0]))
    return column(found, KEY), folders


def files_below(snapshot: Snapshot, root: str) -> pa.Array:
    """The keys, below another table's directory `root`, of the files and deletion vectors there that the newest version needs.

    Of a shallow clone both are named by absolute paths.
    """
    found = array("Q")
    for batch in snapshot.files().select(["path", "deletion_vector"]).to_batches(max_chunksize=65_536):
        vectors = batch.column("deletion_vector").drop_null().to_pylist()
        named = [vector["path_or_inline"] for vector in vectors if vector["storage"] == "p"]
        for path in (*batch.column("path").to_pylist(), *named):
            if is_absolute(path) and (place := below(path, root)) is not None:
                found.append(key(place))
    return column(found, KEY)


def newest_tombstones(changes: FileChanges, known_since_ms: int) -> pa.Table:
    """One row per removed file: `key`, `time` of its newest tombstone after `known_since_ms` (0: none is), `size`, `version`.

    Delta forgets tombstones that are older than the table's own retention.
    """
    removed = changes.removed.table()
    known = pc.if_else(pc.greater(removed["time"], known_since_ms), removed["time"], 0)
    newest = removed.set_column(1, "time", known).group_by("key").aggregate([(name, "max") for name in _NAMES])
    return newest.rename_columns({f"{name}_max": name for name in _NAMES}).select(["key", *_NAMES])
