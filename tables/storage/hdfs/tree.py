"""A directory on HDFS as inspections read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tables.storage.hdfs.client import HdfsRefused, NameNode
from tables.storage.trees import DIRECTORY, FILE, Copies, Denied, Unreachable, lines_of, missing_of


@dataclass(frozen=True)
class HdfsUser:
    """How HDFS is reached, for the tasks that list it: the name node, and whom Levee is there."""

    authority: str
    user: str

    def opened(self, path: str) -> HdfsTree:
        return HdfsTree(path, NameNode(self.authority, self.user), path.removeprefix(f"hdfs://{self.authority}"))

    def copies(self, path: str) -> Copies:
        raise ValueError(f"files on HDFS aren't copied: {path}")


class HdfsTree:
    """Files below an `hdfs://` directory. Links are left to HDFS, which has them switched off."""

    is_near = False

    def __init__(self, root: str, node: NameNode, path: str) -> None:
        self.root = root.rstrip("/")
        self._node, self._top = node, path.rstrip("/")

    def _path(self, relative: str) -> str:
        return f"{self._top}/{relative}" if relative else self._top or "/"

    def entries(self, relative: str) -> Iterator[tuple[str, str, Any]]:
        """(name, kind, handle) of a directory. Raises FileNotFoundError, NotADirectoryError, Unreachable."""
        with _hdfs_answering(self.root):
            for page in self._node.pages(self._path(relative)):
                for row in page:
                    yield row.path.rpartition("/")[2], DIRECTORY if row.isdir else FILE, row

    def stat(self, handle: Any) -> tuple[int, int]:
        """(size, changed_ns) of a file's handle. HDFS tells times in milliseconds."""
        return int(handle.length), int(handle.modification_time) * 1_000_000

    def tail(self, relative: str, length: int) -> bytes:
        """The last `length` bytes of a file, or all of it. Raises FileNotFoundError, Unreachable."""
        with _hdfs_answering(self.root):
            file = self._node.open(self._path(relative))
            return file.range(max(0, file.size - length), length)

    def lines(self, relative: str) -> Iterator[bytes]:
        """The lines of a text file, one at a time. Raises FileNotFoundError, Unreachable."""
        with _hdfs_answering(self.root):
            yield from lines_of(self._node.open(self._path(relative)).chunks())

    def missing(self, places: Iterable[str]) -> list[str]:
        """Which of these full URIs are no longer files, in their order. Raises Unreachable."""
        return missing_of(places, self._is_file)

    def _is_file(self, place: str) -> bool:
        top = f"{self.root}/"
        try:
            with _hdfs_answering(self.root):
                return place.startswith(top) and not self._node.status(self._path(place.removeprefix(top))).isdir
        except FileNotFoundError:
            return False


@contextmanager
def _hdfs_answering(place: str) -> Iterator[None]:
    try:
        yield
    except HdfsRefused as refused:
        raise (Denied if refused.denied else Unreachable)(f"{place} can't be read: {refused}") from None
