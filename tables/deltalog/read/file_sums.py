"""What the file actions of one commit come to: files, bytes, rows, and whether rows left the table with them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tables.deltalog.read.actions import AddFile, RemoveFile
from tables.deltalog.read.usual_adds import BareAdds


class Removal(StrEnum):
    """What the `remove` actions of a commit did to the table's rows, whatever the commit is called.

    By PROTOCOL.md ("Add File and Remove File") a removal that changes no data (`dataChange` false) has its rows in files that the same
    commit adds. A writer that leaves `dataChange` out means true (delta-io/delta, actions.scala, `RemoveFile`).
    """

    NONE = "none"  # no removal of a row, or none that changes data beside files that bring new rows
    REARRANGED = "rearranged"  # rows in other files, as an OPTIMIZE does
    REPLACED = "replaced"  # data changed, and at least as many rows added as removed
    UNSAID = "unsaid"  # as many rows added, and no file action says whether data changes: its operation has to tell
    LOST = "lost"  # more rows removed than added, or unknown how many


@dataclass(slots=True)
class FileSums:
    """Sums over a commit's file actions; one is None as soon as a part of it is unknown. Rows are those a reader sees.

    `changed_…` are sums over the actions that change data, or don't say that they don't; `said` counts those that say so. `awaited`
    counts removed files whose rows are still looked for in an older state: `await_rows` counts one, `found` adds its rows.
    """

    added: int = 0
    removed: int = 0
    added_bytes: int | None = 0
    removed_bytes: int | None = 0
    rows_added: int | None = 0
    known_rows_removed: int | None = 0
    changed_added: int = 0
    changed_removed: int = 0
    changed_rows_added: int | None = 0
    changed_rows_removed: int | None = 0
    said: int = 0
    awaited: int = 0

    def add(self, action: AddFile) -> None:
        rows = action.rows
        self.added += 1
        self.added_bytes = _plus(self.added_bytes, action.size)
        self.rows_added = _plus(self.rows_added, rows)
        self.said += action.data_change is True
        if action.data_change is not False:
            self.changed_added += 1
            self.changed_rows_added = _plus(self.changed_rows_added, rows)

    def add_bare(self, adds: BareAdds) -> None:
        """Counts added files of which nothing tells the rows."""
        self.added += len(adds)
        self.added_bytes = _plus(self.added_bytes, sum(adds.sizes))
        self.rows_added = None
        self.said += adds.data_changes
        if adds.data_changes:
            self.changed_added += adds.data_changes
            self.changed_rows_added = None

    def remove(self, action: RemoveFile, rows: int | None) -> None:
        """Counts a removed file that had so many rows."""
        self._count(action)
        self._add_removed_rows(rows, changes_data=action.data_change is not False)

    def await_rows(self, action: RemoveFile) -> None:
        """Counts a removed file whose rows come later, by `found`."""
        self._count(action)
        self.awaited += 1

    def found(self, rows: int | None, *, changes_data: bool) -> None:
        """The rows of an awaited file."""
        self.awaited -= 1
        self._add_removed_rows(rows, changes_data=changes_data)

    def _count(self, action: RemoveFile) -> None:
        self.removed += 1
        self.removed_bytes = _plus(self.removed_bytes, action.size)
        self.said += action.data_change is True
        self.changed_removed += action.data_change is not False

    def _add_removed_rows(self, rows: int | None, *, changes_data: bool) -> None:
        self.known_rows_removed = _plus(self.known_rows_removed, rows)
        if changes_data:
            self.changed_rows_removed = _plus(self.changed_rows_removed, rows)

    @property
    def rows_removed(self) -> int | None:
        return None if self.awaited else self.known_rows_removed

    @property
    def removal(self) -> Removal:
        """What became of the rows. Rows that are known to be gone are, whatever `dataChange` says."""
        if not self.removed:
            return Removal.NONE
        is_covered = _covers(self.rows_added, self.rows_removed)
        if is_covered is False:
            return Removal.LOST
        if not self._may_be_rearranged():
            return self._replaced if is_covered else Removal.LOST
        if not self.changed_removed:
            return Removal.NONE if self.changed_added else Removal.REARRANGED
        changed_removed = None if self.awaited else self.changed_rows_removed
        if changed_removed == 0:
            return Removal.NONE
        if is_covered or _covers(self.changed_rows_added, changed_removed):
            return self._replaced
        return Removal.LOST

    @property
    def _replaced(self) -> Removal:
        return Removal.REPLACED if self.said or not self.changed_removed else Removal.UNSAID

    def _may_be_rearranged(self) -> bool:
        """Whether the rows of removals that change no data may lie in files that were added so: where none was, nothing holds them."""
        if self.removed == self.changed_removed:
            return True
        removed = _minus(self.rows_removed, self.changed_rows_removed)
        if self.added == self.changed_added:
            return removed == 0
        return _covers(_minus(self.rows_added, self.changed_rows_added), removed) is not False


def _covers(added: int | None, removed: int | None) -> bool | None:
    return None if added is None or removed is None else removed <= added


def _plus(total: int | None, part: int | None) -> int | None:
    """A sum that is unknown as soon as one part of it is."""
    return None if total is None or part is None else total + part


def _minus(total: int | None, part: int | None) -> int | None:
    return None if total is None or part is None else total - part
