"""The files that a vacuum looks at: those of the directory, or, for a lite one, those that the log's commits removed."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from jobs.commands.vacuum.rules import is_odd
from jobs.domain.errors import CommandRefused, Refusal
from jobs.engine.directory import LINKS
from jobs.engine.walk import DELTA_LOG, holds_table
from tables.deltalog.vacuum.hidden import is_hidden
from tables.deltalog.vacuum.keys import column, keys_of, sizes_of
from tables.storage.trees import DIRECTORY, FILE, LINK, Tree

AT_ONCE = 100_000
NAMED = 20


@dataclass(slots=True)
class Batch:
    """Some files: their paths below the table, bytes (negative: unknown), and times of their last change in ms."""

    paths: list[str] = field(default_factory=list)
    sizes: array[int] = field(default_factory=lambda: array("q"))
    times: array[int] = field(default_factory=lambda: array("q"))

    def add(self, path: str, size: int, time: int) -> None:
        self.paths.append(path)
        self.sizes.append(size)
        self.times.append(time)

    def table(self) -> pa.Table:
        """Columns `key`, `size` (null: unknown), `time`."""
        times = column(self.times, pa.int64())
        return pa.table({"key": keys_of(self.paths), "size": sizes_of(self.sizes), "time": times})


class DirectoryListing:
    """All files below a table's directory that a vacuum doesn't pass over. Links are refused, never followed.

    After `batches` has ended, `folders` are the directories by their paths, with the number of files in each that are older than the
    cut, those below it included; `nested` are directories with a Delta log of their own.
    """

    def __init__(self, place: Tree, partition_columns: Sequence[str], *, iceberg: bool, cut_ms: int) -> None:
        self._place, self._columns, self._iceberg, self._cut = place, partition_columns, iceberg, cut_ms
        self.folders: dict[str, int] = {}
        self.nested: list[str] = []
        self.nested_count = self.files = 0

    def batches(self) -> Iterator[Batch]:
        """The files, AT_ONCE at a time. Raises CommandRefused `outside_roots`."""
        batch, pending = Batch(), [""]
        while pending:
            folder = pending.pop()
            pending += self._open(folder, batch)
            if len(batch.paths) >= AT_ONCE:
                yield batch
                batch = Batch()
        yield batch

    def _open(self, folder: str, batch: Batch) -> list[str]:
        """Adds the files of one directory; answers the directories in it."""
        prefix = f"{folder}/" if folder else ""
        below, old = [], 0
        try:
            for name, kind, handle in self._place.entries(folder):
                if kind == DIRECTORY and name == DELTA_LOG and folder:
                    self._note_nested(folder)
                if is_hidden(name, self._columns, iceberg=self._iceberg) or is_odd(name, top=not folder):
                    continue
                if kind == DIRECTORY:
                    below.append(prefix + name)
                elif kind == FILE:
                    size, changed_ns = self._place.stat(handle)
                    batch.add(prefix + name, size, changed_ns // 1_000_000)
                    old += changed_ns // 1_000_000 < self._cut
                    self.files += 1
                elif kind == LINK:
                    raise _linked(self._place.root, prefix + name)
        except (FileNotFoundError, NotADirectoryError):
            return below  # gone since its parent was listed
        self._count(folder, old)
        return below

    def _note_nested(self, folder: str) -> None:
        if holds_table(self._place, f"{folder}/{DELTA_LOG}"):
            self.nested_count += 1
            if len(self.nested) < NAMED:
                self.nested.append(folder)

    def _count(self, folder: str, old: int) -> None:
        if folder:
            self.folders[folder] = self.folders.get(folder, 0)
        while folder and old:
            self.folders[folder] = self.folders.get(folder, 0) + old
            folder = folder.rpartition("/")[0]


def _linked(root: str, path: str) -> CommandRefused:
    text = f"The directory holds a link, which Delta would follow out of it: {path}. Nothing of {root} was changed."
    return CommandRefused(Refusal("outside_roots", text, place=f"{root}/{path}", remedy=LINKS))


def still_there(place: Tree, folders: Iterable[str]) -> Iterator[Batch]:
    """The files directly in these directories now."""
    for folder in folders:
        batch, prefix = Batch(), f"{folder}/" if folder else ""
        try:
            for name, kind, handle in place.entries(folder):
                if kind == FILE:
                    batch.add(prefix + name, place.stat(handle)[0], 0)
        except (FileNotFoundError, NotADirectoryError):
            continue
        yield batch
