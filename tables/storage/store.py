"""Where a log lies: a small protocol over a directory of files.

Nothing above this room knows whether a table is on a disk, in an object store or on HDFS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import BinaryIO, Protocol, TypeVar

CHUNK = 1 << 20
T = TypeVar("T")
NO_FILE = "{path} is there, but is no regular file"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a folder: its name, bytes, and last modification in milliseconds since 1970 (UTC)."""

    name: str
    size: int
    modified_ms: int


class StorageError(Exception):
    """A file or folder that can't be read; the text says why. `missing` tells absent from unreadable."""

    def __init__(self, message: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.missing = missing


class Chunks(Protocol):
    """What reading a log's files line by line needs of a storage."""

    def chunks(self, path: str, size: int) -> Iterator[bytes]:
        """The file's content in pieces of at most `CHUNK` bytes; `size` is what the listing said. Raises StorageError."""


class Storage(Chunks, Protocol):
    """Files below one table's directory, named by paths relative to it with `/` between the parts.

    `ahead` is how many files are worth fetching at once, 1 where each is there at once; `chunks` is then called from several threads.
    """

    ahead: int

    def names(self, folder: str, after: str = "") -> Iterator[str]:
        """Names of the files directly in the folder that sort after `after`, in any order. A missing folder has none."""

    def entries(self, folder: str, after: str = "") -> Iterator[Entry]:
        """As `names`, with sizes and times."""

    def entry(self, path: str) -> Entry | None:
        """One file's size and time, None when it is absent. Raises StorageError for a folder that is a link."""

    def each(self, paths: Iterable[str]) -> Iterator[Entry | None]:
        """`entry` of many files, in their order: quick for those of one folder that follow each other."""

    def lacks(self, paths: Iterable[str]) -> Iterator[bool]:
        """Whether nothing lies at each path, in their order, as `each` goes about it: True only where storage says so.

        Raises StorageError wherever it doesn't tell (no permission, a fault, no answer), and for what lies there and is no regular file.
        """

    def open(self, path: str) -> BinaryIO:
        """The file for random reads, which raise StorageError or OSError, as this does."""


def asked_at_once(storage: Storage, paths: Iterable[str]) -> Iterator[Entry | None]:
    """`entry` of each path, in order, as many at once as the storage is worth asking. Raises StorageError."""
    yield from told_at_once(storage, storage.entry, paths)


def told_at_once(storage: Storage, ask: Callable[[str], T], paths: Iterable[str]) -> Iterator[T]:
    """The same of another question to the storage about each path."""
    with ThreadPoolExecutor(storage.ahead) as pool:
        yield from pool.map(ask, paths)
