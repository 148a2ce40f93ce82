"""Copies of files in a directory of this machine: no link is followed or made."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from tables.storage.local import directories as places
from tables.storage.trees import BLOCK, Copies

# File systems that can't copy a range of this file to that one.
NOT_IN_KERNEL = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class LocalCopies:
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

    def take(self, source: Copies, name: str, relative: str) -> int | None:
        return _on_disk(source, name, self, relative) if isinstance(source, LocalCopies) else None

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


def _on_disk(source: LocalCopies, name: str, target: LocalCopies, new: str) -> int:
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
