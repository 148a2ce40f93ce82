"""Lists directories and reads the ends of files, in the driver and in Spark's Python workers.

It reads canonical local paths through the operating system, `s3://` URIs through obstore, `hdfs://` URIs through hdfs-native.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tables.storage.hdfs.client import HdfsRefused, NameNode, user_name
from tables.storage.local.directories import Held, mode
from tables.storage.local.directories import file as opened_file
from tables.storage.local.directories import opened as opened_directory

FILE, DIRECTORY, LINK, OTHER = "file", "directory", "link", "other"
# An object store answers in tens of milliseconds, whatever the number of questions.
ASKED_AT_ONCE = 16
# Hadoop's first client of S3 (s3n, EMR) put an empty object of this name beside the keys of each directory. s3a, by which Spark lists,
# passes over such keys (`Listing.AcceptAllButSelfAndS3nDirs` of hadoop-aws 3.5.0); copied to a disk they are files like others.
MARKER = "_$folder$"
FORBIDDEN = re.compile(r"\b403\b")
T = TypeVar("T")


class Local:
    """Local files, below a directory that is opened once and held, so that swapping its path can't redirect later reads.

    It reports links and never follows them, and opens only regular files.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self._held: Held | None = None

    def _top(self) -> int:
        self._held = self._held or Held(self.root, listed=False)
        return self._held.descriptor

    def place(self, relative: str) -> str:
        """The full path of `relative` below the root."""
        return f"{self.root}/{relative}" if relative else self.root

    def entries(self, relative: str) -> Iterator[tuple[str, str, Any]]:
        """(name, kind, handle) of a directory. Raises FileNotFoundError, NotADirectoryError, PermissionError, Linked."""
        with opened_directory(self._top(), relative) as descriptor, os.scandir(descriptor) as entries:
            for entry in entries:
                yield entry.name, _kind(entry), entry

    def stat(self, handle: Any) -> tuple[int, int]:
        """(size, changed_ns) of a file's handle, while its directory is being listed."""
        info = handle.stat(follow_symlinks=False)
        return info.st_size, info.st_mtime_ns

    def tail(self, relative: str, length: int) -> bytes:
        """The last `length` bytes of a file, or all of it. Raises Linked, Irregular, OSError."""
        with os.fdopen(opened_file(self._top(), relative), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - length))
            return file.read()

    def lines(self, relative: str) -> Iterator[bytes]:
        """The lines of a text file, one at a time. Raises Linked, Irregular, OSError."""
        with os.fdopen(opened_file(self._top(), relative), "rb") as file:
            yield from file

    def missing(self, places: Iterable[str]) -> list[str]:
        """Which of these full paths are no longer files, in their order."""
        return [place for place in places if not self._is_file(place)]

    def _is_file(self, place: str) -> bool:
        top = self.root.rstrip("/") + "/"
        try:
            return place.startswith(top) and stat.S_ISREG(mode(self._top(), place.removeprefix(top)))
        except OSError:
            return False


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return LINK
    if entry.is_dir(follow_symlinks=False):
        return DIRECTORY
    return FILE if entry.is_file(follow_symlinks=False) else OTHER


class Unreachable(Exception):
    """An object store or HDFS that doesn't answer, or refuses; the message names the place. Says nothing about what is there."""


class Denied(Unreachable):
    """The storage answers that this key or user may not do that."""


@dataclass(frozen=True)
class HdfsUser:
    """How HDFS is reached, for the tasks that list it: the name node, and whom Levee is there."""

    authority: str
    user: str


@dataclass(frozen=True)
class Bucket:
    """How a bucket is reached, for the tasks that list it: obstore's own settings. They hold the key, so they are never shown."""

    name: str
    settings: dict[str, Any] = field(repr=False)


class Remote:
    """Objects below an `s3://` URI, through obstore. Directories are parts of keys: one without objects isn't there.

    An object store has no links, and nothing in it can lead to another place.
    """

    def __init__(self, root: str, store: Any, key: str) -> None:
        self.root = root.rstrip("/")
        self._store, self._key = store, key

    def _prefix(self, relative: str) -> str:
        parts = [part for part in (self._key, relative) if part]
        return "/".join(parts)

    def entries(self, relative: str) -> Iterator[tuple[str, str, Any]]:
        """(name, kind, handle) of a directory. Raises FileNotFoundError, Unreachable."""
        import obstore

        prefix = f"{self._prefix(relative)}/".lstrip("/")
        with _answering(self.root):
            found = obstore.list_with_delimiter(self._store, prefix or None)
        if not found["common_prefixes"] and not found["objects"]:
            raise FileNotFoundError(errno.ENOENT, "There are no objects", f"{self.root}/{relative}")
        for directory in found["common_prefixes"]:
            yield str(directory).removeprefix(prefix).rstrip("/"), DIRECTORY, None
        for item in found["objects"]:
            key = str(item["path"])
            if key.startswith(prefix) and not key.endswith(
                MARKER
            ):  # nor the marker that s3a writes for the directory itself
                yield key.removeprefix(prefix), FILE, item

    def stat(self, handle: Any) -> tuple[int, int]:
        """(size, changed_ns) of an object's handle. Object stores tell times in seconds."""
        return int(handle["size"]), int(handle["last_modified"].timestamp()) * 1_000_000_000

    def tail(self, relative: str, length: int) -> bytes:
        """The last `length` bytes of an object, or all of it. Raises FileNotFoundError, Unreachable."""
        import obstore

        key = self._prefix(relative)
        with _answering(self.root):
            size = int(obstore.head(self._store, key)["size"])
            return bytes(obstore.get_range(self._store, key, start=max(0, size - length), end=size)) if size else b""

    def lines(self, relative: str) -> Iterator[bytes]:
        """The lines of a text object, one at a time. Raises FileNotFoundError, Unreachable."""
        import obstore

        with _answering(self.root):
            yield from _lines(map(bytes, obstore.get(self._store, self._prefix(relative)).stream()))

    def missing(self, places: Iterable[str]) -> list[str]:
        """Which of these full URIs are no longer objects, in their order. Raises Unreachable."""
        wanted = list(places)
        with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
            there = list(pool.map(self._is_object, wanted))
        return [place for place, is_there in zip(wanted, there, strict=True) if not is_there]

    def _is_object(self, place: str) -> bool:
        import obstore

        top = f"{self.root}/"
        if not place.startswith(top):
            return False
        try:
            with _answering(self.root):
                obstore.head(self._store, self._prefix(place.removeprefix(top)))
        except FileNotFoundError:
            return False
        return True


class Hdfs:
    """Files below an `hdfs://` directory. Links are left to HDFS, which has them switched off."""

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
            yield from _lines(self._node.open(self._path(relative)).chunks())

    def missing(self, places: Iterable[str]) -> list[str]:
        """Which of these full URIs are no longer files, in their order. Raises Unreachable."""
        wanted = list(places)
        with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
            there = list(pool.map(self._is_file, wanted))
        return [place for place, is_there in zip(wanted, there, strict=True) if not is_there]

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


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line + b"\n" for line in lines)
    if rest:
        yield rest


@contextmanager
def _answering(place: str) -> Iterator[None]:
    """Turns what obstore raises, but for a missing object, into Unreachable or Denied."""
    from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

    try:
        with _turning_panics():
            yield
    except BaseError as error:
        # Of a listing, obstore keeps the refusal as text alone.
        denied = isinstance(error, PermissionDeniedError | UnauthenticatedError) or FORBIDDEN.search(str(error))
        raise (Denied if denied else Unreachable)(
            _unreadable(place, error)
        ) from None  # its text holds the store's answer


def _turning_panics() -> AbstractContextManager[None]:
    try:
        from tables.storage.s3.errors import turning_panics
    except ImportError:  # in a task, which has no copy of Levee
        return nullcontext()
    return turning_panics


def _unreadable(place: str, error: Exception) -> str:
    try:
        from tables.storage.s3.errors import refusal
    except ImportError:  # in a task, which has no copy of Levee
        return f"{place} can't be read: {type(error).__name__}"
    return f"{place} can't be read: {refusal(error)}"


Storage = Local | Remote | Hdfs
Reached = Bucket | HdfsUser


def opened(path: str, bucket: Reached | None = None) -> Storage:
    """The storage whose root is `path`. Tasks are given the `bucket`; the driver finds it by the path. Raises Unreachable."""
    if "://" not in path:
        return Local(path)
    if isinstance(bucket, HdfsUser):
        return Hdfs(path, NameNode(bucket.authority, bucket.user), path.removeprefix(f"hdfs://{bucket.authority}"))
    if path.startswith("hdfs://"):
        from tables.storage.hdfs import name_nodes

        return Hdfs(path, *_described(name_nodes.opened, path))
    from obstore.store import S3Store

    if bucket is None:
        from tables.storage.s3 import buckets as object_stores

        return Remote(path, *_described(object_stores.opened, path))
    key = path.removeprefix(f"s3://{bucket.name}").strip("/")
    return Remote(path, S3Store(bucket.name, **bucket.settings), key)


def bucket_of(path: str) -> Reached | None:
    """How tasks reach the bucket or HDFS that a path lies in; None for a local path. Raises Unreachable."""
    if "://" not in path:
        return None
    if path.startswith("hdfs://"):
        return HdfsUser(path.split("/")[2], user_name())
    from tables.storage.s3 import buckets as object_stores

    options = _described(object_stores.options_of, path)
    return Bucket(options.bucket, options.for_obstore())


def _described(ask: Callable[[str], T], path: str) -> T:
    from tables.storage.store import StorageError

    try:
        return ask(path)
    except (StorageError, ValueError) as error:
        raise Unreachable(f"{path} can't be read: {error}") from None
