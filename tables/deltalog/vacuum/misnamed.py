"""Live files that a writer may have put where the log's text says, and not where it says once it is decoded, as the protocol asks.

DuckDB 1.5 names a directory `p=a%20b`, and the log has that very text: Delta looks for `p=a b`, finds nothing, and its vacuum takes the
file for a leftover, though it is the only copy of its rows.
"""

from __future__ import annotations

from array import array

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.read.paths import is_absolute, is_plain
from tables.deltalog.state.snapshot import Snapshot
from tables.deltalog.vacuum.keys import KEY, below, column, key


class Misnamed:
    """The live files whose names in the log are encoded, by the keys of both readings."""

    def __init__(self, snapshot: Snapshot, root: str) -> None:
        self._decoded, self._raw = array("Q"), array("Q")
        self._there: list[pa.Array] = []
        for batch in snapshot.files().select(["path"]).to_batches(max_chunksize=65_536):
            for path in batch.column("path").to_pylist():
                if not is_plain(path) and not is_absolute(path) and (place := below(path, root)) not in (None, path):
                    self._decoded.append(key(place or ""))
                    self._raw.append(key(path))

    def saw(self, keys: pa.Array) -> None:
        """Files with these keys are listed."""
        if self._decoded:
            self._there.append(pc.unique(keys.filter(pc.is_in(keys, value_set=column(self._decoded, KEY)))))

    def lost(self, gone: pa.Array) -> int:
        """How many of the files that go, by their keys, are the only ones that the log may mean by the name of a live file."""
        if not self._decoded:
            return 0
        there = pa.concat_arrays(self._there) if self._there else pa.array([], KEY)
        absent = pc.invert(pc.is_in(column(self._decoded, KEY), value_set=there))
        return int(pc.sum(pc.is_in(gone, value_set=column(self._raw, KEY).filter(absent))).as_py() or 0)
