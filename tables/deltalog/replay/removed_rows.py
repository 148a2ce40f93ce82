"""How many rows removed files had, by the statistics of their adds: a removal needs none (PROTOCOL.md, "Add File and Remove File")."""

from __future__ import annotations

import pyarrow as pa

from tables.deltalog.read.actions import Action, AddFile, RemoveFile
from tables.deltalog.read.commits import RowsOf
from tables.deltalog.read.file_sums import FileSums
from tables.deltalog.read.usual_adds import BareAdds
from tables.deltalog.state.livefiles import file_key, keys, visible_rows
from tables.deltalog.state.tail import Tail, vector_id

MOST_EARLIER = 200_000
"""Files of the commits before a replay's base whose rows are remembered; those of more are unknown once they are removed."""


class RemovedRows:
    """Counts removed files with the rows of their adds, which are in earlier commits, or in the older state that a replay begins with.

    The older state is looked through once, at the end of the replay: the sums of commits that wait for it are complete by then.
    """

    def __init__(self) -> None:
        self._earlier: dict[str, int | None] = {}
        self._awaited: dict[str, tuple[FileSums, bool]] = {}
        self._sums: dict[int, FileSums] = {}

    def note(self, action: Action | BareAdds) -> None:
        """Remembers the files of a commit that is read for the history alone."""
        if type(action) is AddFile:
            self._note(_key(action), action.rows)
        elif type(action) is BareAdds:
            for path in action.paths:
                self._note(file_key(path, None), None)
        elif type(action) is RemoveFile:
            self._earlier.pop(_key(action), None)

    def _note(self, key: str, rows: int | None) -> None:
        if len(self._earlier) < MOST_EARLIER or key in self._earlier:
            self._earlier[key] = rows

    def of_earlier(self, action: RemoveFile, sums: FileSums) -> None:
        """Counts a file that such a commit removed."""
        sums.remove(action, self._earlier.get(_key(action)))

    def of_tail(self, version: int, tail: Tail) -> RowsOf:
        """Counts files that a commit after the base removed, before the tail takes their removal."""

        def count(action: RemoveFile, sums: FileSums) -> None:
            key = _key(action)
            if tail.holds(key) or not tail.over_base:
                sums.remove(action, tail.rows_of(key))
            elif key in self._awaited:  # removed twice
                sums.remove(action, None)
            else:
                sums.await_rows(action)
                self._awaited[key] = sums, action.data_change is not False
                self._sums[version] = sums

        return count

    def look_in(self, batch: pa.RecordBatch) -> None:
        """Takes the rows of awaited files from a part of the older state."""
        if not self._awaited:
            return
        visible = visible_rows(pa.Table.from_batches([batch]))
        for key, rows in zip(keys(batch).to_pylist(), visible.to_pylist(), strict=True):
            awaited = self._awaited.pop(key, None)
            if awaited is not None:
                sums, changes_data = awaited
                sums.found(rows, changes_data=changes_data)

    def completed(self) -> dict[int, FileSums]:
        """The sums of the commits whose awaited files were all found, by version."""
        return {version: sums for version, sums in self._sums.items() if not sums.awaited}


def _key(action: AddFile | RemoveFile) -> str:
    return file_key(action.path, vector_id(action.deletion_vector))
