"""The directories of HDFS, for walks."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from tables.storage.folders import FolderEntry, StoreRefused
from tables.storage.hdfs import name_nodes
from tables.storage.hdfs.client import HdfsRefused
from tables.storage.store import StorageError


class HdfsFolders:
    """Those of HDFS. It has no links."""

    steps = 1

    def is_directory(self, path: str) -> bool:
        with _telling():
            node, place = name_nodes.opened(path)
            try:
                return bool(node.status(place).isdir)
            except FileNotFoundError:
                return False

    def entries(self, path: str) -> Generator[FolderEntry]:
        with _telling():
            node, place = name_nodes.opened(path)
            for page in node.pages(place):
                for row in page:
                    name = row.path.rpartition("/")[2]
                    yield _Named(name, row.isdir, int(row.length), row.modification_time / 1000)

    def exists(self, path: str) -> bool:
        return True

    def head(self, path: str, length: int) -> bytes:
        with _telling():
            node, place = name_nodes.opened(path)
            return node.open(place).range(0, length)


@contextmanager
def _telling() -> Iterator[None]:
    """Raises what HDFS refuses, and a name node that is away, as StoreRefused."""
    try:
        yield
    except HdfsRefused as refused:
        raise StoreRefused(str(refused), everywhere=refused.everywhere) from None
    except StorageError as error:
        raise StoreRefused(str(error), everywhere=True) from None


@dataclass(frozen=True, slots=True)
class _Named:
    """A directory or file of HDFS."""

    name: str
    directory: bool
    size: int
    modified: float

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self.directory

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return not self.directory

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        return SimpleNamespace(st_size=self.size, st_mtime=self.modified)
