"""Copies files byte for byte from one directory to another, in Spark's tasks: on disks, in object stores, and between the two.

A task's code runs in Python workers that are only certain to have the standard library and obstore: this module, storage, the reader
of directories and what turns obstore's panics travel to them by value. On a disk no link is followed or made; within one bucket the
store copies by itself.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from pyspark import cloudpickle
from pyspark.sql import DataFrame

from tables.storage import stores
from tables.storage.local import directories as places
from tables.storage.s3 import errors as store_errors
from tables.storage.s3.errors import turning_panics
from tables.storage.s3.tree import Bucket
from tables.storage.trees import Reach

BLOCK = 8 << 20
# The largest object that S3 copies in one request.
MOST_COPIED = 5 << 30
TASKS_PER_SLOT = 4
# File systems that can't copy a range of this file to that one.
NOT_IN_KERNEL = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class CopyOrder(NamedTuple):
    """From where to where: canonical directories or prefixes, and how they are reached."""

    source: str
    target: str
    source_reach: Reach
    target_reach: Reach


class Copied(NamedTuple):
    """What tasks have copied, or the first fault that one met: `missing` tells a file that isn't there from every other fault."""

    files: int = 0
    bytes: int = 0
    fault: str = ""
    missing: bool = False


class SizeDiffers(OSError):
    """A file isn't as long as the log says."""


def order_of(source: str, target: str) -> CopyOrder:
    """How tasks reach both places. Raises Unreachable, ValueError for storage that files aren't copied on."""
    for place in (source, target):
        if not stores.kind_of(place).copies:
            raise ValueError(f"files aren't copied {stores.kind_of(place).where}")
    return CopyOrder(source, target, stores.reach_of(source), stores.reach_of(target))


def copy_files(files: DataFrame, order: CopyOrder) -> Copied:
    """Copies each row's file: `source` and `target` are decoded paths below the two directories, `size` in bytes (null: any).

    A file that is there already, of an earlier try of the same task, is replaced. Returns the first fault that a task met; the
    others end with theirs.
    """
    slots = max(1, files.sparkSession.sparkContext.defaultParallelism)
    tasks = files.select("source", "target", "size").repartition(TASKS_PER_SLOT * slots).rdd
    done = tasks.mapPartitions(partial(_copied, order=order)).collect()
    faults = [each for each in done if each.fault]
    return faults[0] if faults else Copied(sum(each.files for each in done), sum(each.bytes for each in done))


def _copied(rows: Iterable[Any], order: CopyOrder) -> Iterator[Copied]:
    """One task: copies the files of its rows, and returns how many."""
    files = size = 0
    copier: _Copier | None = None
    for row in rows:
        copier = copier or _Copier(order)
        try:
            size += copier.copy(row[0], row[1], row[2])
        except OSError as error:
            yield Copied(fault=f"{row[0]}: {error.strerror or error}", missing=isinstance(error, FileNotFoundError))
            return
        files += 1
    yield Copied(files, size)


class _Copier:
    """Copies files between the two places, each opened once."""

    def __init__(self, order: CopyOrder) -> None:
        self.source, self.target = (
            _place(order.source, order.source_reach),
            _place(order.target, order.target_reach),
        )
        self.same_bucket = isinstance(order.source_reach, Bucket) and order.source_reach == order.target_reach

    def copy(self, source: str, target: str, size: int | None) -> int:
        """The bytes of the copy. Raises FileNotFoundError, SizeDiffers, other OSError."""
        if isinstance(self.source, _Disk) and isinstance(self.target, _Disk):
            copied = _on_disk(self.source, source, self.target, target)
        else:
            known = self.source.size(source)
            if self.same_bucket and known <= MOST_COPIED:
                self.target.take(self.source, source, target)
            else:
                self.target.write(target, self.source.blocks(source))
            copied = self.target.size(target)
            size = known if size is None else size
        if size is not None and copied != size:
            raise SizeDiffers(errno.EIO, f"{copied:,} bytes were read, and the log says {size:,}")
        return copied


def _place(root: str, reach: Reach) -> Any:
    return _Store(root, reach) if isinstance(reach, Bucket) else _Disk(root)


class _Disk:
    """A directory of this machine, opened once: swapping its name doesn't lead a copy elsewhere."""

    def __init__(self, root: str) -> None:
        self._held = places.Held(root, listed=False)

    @property
    def descriptor(self) -> int:
        return self._held.descriptor

    def size(self, relative: str) -> int:
        descriptor = places.file(self.descriptor, relative)
        try:
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)

    def blocks(self, relative: str) -> Iterator[bytes]:
        with os.fdopen(places.file(self.descriptor, relative), "rb", buffering=0) as file:
            while block := file.read(BLOCK):
                yield block

    def write(self, relative: str, blocks: Iterable[bytes]) -> None:
        with os.fdopen(self.create(relative), "wb", buffering=0) as file:
            for block in blocks:
                _write_all(file.fileno(), block)

    def create(self, relative: str) -> int:
        """A new file, open for writing; the directories on the way are made. Raises Linked, other OSError."""
        folder, _, name = relative.rpartition("/")
        parent = _made(os.dup(self.descriptor), folder)
        try:
            try:
                return os.open(name, _NEW, 0o666, dir_fd=parent)
            except FileExistsError:
                os.unlink(name, dir_fd=parent)
                return os.open(name, _NEW, 0o666, dir_fd=parent)
        finally:
            os.close(parent)


def _made(descriptor: int, folder: str) -> int:
    """A directory below an open one, which it closes; missing ones are made, and no link is followed."""
    for part in filter(None, folder.split("/")):
        try:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=descriptor)
            inner = places.below(descriptor, part)
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _on_disk(source: _Disk, name: str, target: _Disk, new: str) -> int:
    """Copies within the kernel where it can. Returns the bytes."""
    reading = places.file(source.descriptor, name)
    try:
        writing = target.create(new)
        try:
            return _by_kernel(reading, writing)
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _by_kernel(reading: int, writing: int) -> int:
    copied = 0
    try:
        while done := os.copy_file_range(reading, writing, 1 << 30):
            copied += done
    except OSError as error:
        if copied or error.errno not in NOT_IN_KERNEL:
            raise
        while block := os.read(reading, BLOCK):
            _write_all(writing, block)
            copied += len(block)
    return copied


def _write_all(descriptor: int, block: bytes) -> None:
    rest = memoryview(block)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class _Store:
    """The objects below a prefix of a bucket."""

    def __init__(self, root: str, bucket: Bucket) -> None:
        from obstore.store import S3Store

        self._store = S3Store(bucket.name, **bucket.settings)
        self._key = bucket.key(root)

    def key(self, relative: str) -> str:
        return f"{self._key}/{relative}" if self._key else relative

    def size(self, relative: str) -> int:
        import obstore

        with _answering():
            return int(obstore.head(self._store, self.key(relative))["size"])

    def blocks(self, relative: str) -> Iterator[bytes]:
        import obstore

        with _answering():
            yield from map(bytes, obstore.get(self._store, self.key(relative)).stream(min_chunk_size=BLOCK))

    def write(self, relative: str, blocks: Iterable[bytes]) -> None:
        import obstore

        with _answering():
            obstore.put(self._store, self.key(relative), iter(blocks))

    def take(self, source: _Store, name: str, relative: str) -> None:
        """A copy that the store makes by itself."""
        import obstore

        with _answering():
            obstore.copy(self._store, source.key(name), self.key(relative))


@contextmanager
def _answering() -> Iterator[None]:
    """Turns what obstore raises, but for a missing object, into an OSError without the store's own words."""
    from obstore.exceptions import BaseError

    try:
        with turning_panics:
            yield
    except FileNotFoundError:
        raise
    except BaseError as error:
        raise OSError(errno.EIO, f"the object store refused it ({type(error).__name__})") from None


@dataclass(frozen=True, slots=True)
class CopyRoom:
    """The bytes that a disk has left for Levee, and those that a copy takes."""

    free: int
    needed: int

    @property
    def is_enough(self) -> bool:
        return self.needed <= self.free


def room_for(target: str, size: int) -> CopyRoom | None:
    """What the disk of a local directory has left; None for an object store, which doesn't tell. Raises OSError."""
    if "://" in target:
        return None
    stat = os.statvfs(target)
    return CopyRoom(stat.f_bavail * stat.f_frsize, size)


# Executors need no copy of Levee: the code that runs there travels with the task.
for _module in (*stores.TRAVELLING, store_errors, sys.modules[__name__]):
    cloudpickle.register_pickle_by_value(_module)
