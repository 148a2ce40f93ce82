"""Directory trees as inspections read them, in the driver and in Spark's Python workers, which have no copy of Levee.

So this module, and the adapters' trees and copies, travel to those by value (`stores.TRAVELLING`): they stand on the standard library and
on what their own store takes (obstore, hdfs-native).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

FILE, DIRECTORY, LINK, OTHER = "file", "directory", "link", "other"
# A store answers in tens of milliseconds, whatever the number of questions.
ASKED_AT_ONCE = 16
# Hadoop's first client of S3 (s3n, EMR) put an empty object of this name beside the keys of each directory. s3a, by which Spark lists,
# passes over such keys (`Listing.AcceptAllButSelfAndS3nDirs` of hadoop-aws 3.5.0); copied to a disk they are files like others.
MARKER = "_$folder$"
BLOCK = 8 << 20  # bytes of a copy that are held at once
T = TypeVar("T")


class Unreachable(Exception):
    """An object store or HDFS that doesn't answer, or refuses; the message names the place. Says nothing about what is there."""


class Denied(Unreachable):
    """The storage answers that this key or user may not do that."""


class Tree(Protocol):
    """What lies at and below `root`. Names below it are relative paths; raises FileNotFoundError, NotADirectoryError, Unreachable."""

    root: str
    is_near: bool  # on this machine: no answer takes a network

    def entries(self, relative: str) -> Iterator[tuple[str, str, Any]]:
        """(name, kind, handle) of a directory."""

    def stat(self, handle: Any) -> tuple[int, int]:
        """(size, changed_ns) of a file's handle, while its directory is being listed."""

    def tail(self, relative: str, length: int) -> bytes:
        """The last `length` bytes of a file, or all of it."""

    def lines(self, relative: str) -> Iterator[bytes]:
        """The lines of a text file, one at a time."""

    def missing(self, places: Iterable[str]) -> list[str]:
        """Which of these full paths are no longer files, in their order."""


class Copies(Protocol):
    """A directory that files are copied from, or to, by relative paths; opened once, so that swapping its name leads nowhere else.

    Raises FileNotFoundError, other OSError, without the store's own words.
    """

    def size(self, relative: str) -> int:
        """The bytes of a file."""

    def blocks(self, relative: str) -> Iterator[bytes]:
        """A file's content."""

    def write(self, relative: str, blocks: Iterable[bytes]) -> None:
        """Makes a file, or one anew."""

    def take(self, source: Copies, name: str, relative: str) -> int | None:
        """Copies a file of the source by the storage itself, and returns the bytes of the copy; None where it can't."""


class Reach(Protocol):
    """How tasks reach a store: it travels to them, and is never shown."""

    def opened(self, path: str) -> Tree:
        """The tree whose root is `path`."""

    def copies(self, path: str) -> Copies:
        """The directory at `path`, for copies. Raises ValueError for a kind of storage on which Levee copies none."""


def reached(ask: Callable[[str], T], path: str) -> T:
    """What a store's adapter says of a path, in the driver. Raises Unreachable."""
    from tables.storage.store import StorageError

    try:
        return ask(path)
    except (StorageError, ValueError) as error:
        raise Unreachable(f"{path} can't be read: {error}") from None


def missing_of(places: Iterable[str], is_file: Callable[[str], bool]) -> list[str]:
    """Those of the places that aren't files, in their order, many asked at once."""
    wanted = list(places)
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        there = list(pool.map(is_file, wanted))
    return [place for place, is_there in zip(wanted, there, strict=True) if not is_there]


def lines_of(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a text that comes in pieces."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line + b"\n" for line in lines)
    if rest:
        yield rest
