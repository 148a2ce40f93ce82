"""Live files that a writer may have put where the log's text says, and not where it says once it is decoded, as the protocol asks.

DuckDB 1.5 names a directory `p=a%20b`, and the log has that very text: Delta looks for `p=a b`, finds nothing, and its vacuum takes the
file for a leftover, though it is the only copy of its rows.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.read.paths import is_absolute, is_plain
from tables.deltalog.state.snapshot import Snapshot
from tables.deltalog.vacuum.keys import KEY, below, column, key


class Misnamed:
    """The live files whose names in the log are encoded, by the keys of both readings."""

    def __init__(self, snapshot: Snapshot, root: str) -> None:
        self._snapshot, self._root = snapshot, root
        self._decoded, self._raw = array("Q"), array("Q")
        self._there: list[pa.Array] = []
        for path, place in self._encoded():
            self._decoded.append(key(place))
            self._raw.append(key(path))

    def _encoded(self) -> Iterator[tuple[str, str]]:
        """Both readings of each name that has two."""
        for batch in self._snapshot.files().select(["path"]).to_batches(max_chunksize=65_536):
            for path in batch.column("path").to_pylist():
                if not is_plain(path) and not is_absolute(path):
                    place = below(path, self._root)
                    if place is not None and place != path:
                        yield path, place

    def saw(self, keys: pa.Array) -> None:
        """Files with these keys are listed."""
        if self._decoded:
            self._there.append(pc.unique(keys.filter(pc.is_in(keys, value_set=column(self._decoded, KEY)))))

    def lost(self, gone: pa.Array) -> pa.Array:
        """Of the files that go, by their keys, those that are the only ones which the log may mean by the name of a live file."""
        if not self._decoded:
            return pa.array([], KEY)
        there = pa.concat_arrays(self._there) if self._there else pa.array([], KEY)
        absent = pc.invert(pc.is_in(column(self._decoded, KEY), value_set=there))
        return gone.filter(pc.is_in(gone, value_set=column(self._raw, KEY).filter(absent)))

    def names(self, lost: pa.Array, most: int) -> list[str]:
        """The names of the first of these files, as the log has them."""
        keys = set(lost.to_pylist())
        return list(islice((path for path, _ in self._encoded() if key(path) in keys), most))
