"""A table's directory on HDFS."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, cast

from tables.storage.hdfs import name_nodes
from tables.storage.hdfs.client import File, HdfsRefused
from tables.storage.hdfs.name_nodes import as_storage_error
from tables.storage.store import CHUNK, NO_FILE, Entry, StorageError, asked_at_once, told_at_once


class HdfsStorage:
    """Files below one `hdfs://` directory. Raises StorageError."""

    ahead = 16

    def __init__(self, uri: str) -> None:
        self._node, self._top = name_nodes.opened(uri)

    def _place(self, path: str) -> str:
        return f"{self._top.rstrip('/')}/{path}"

    def names(self, folder: str, after: str = "") -> Iterator[str]:
        return (entry.name for entry in self.entries(folder, after))

    def entries(self, folder: str, after: str = "") -> Iterator[Entry]:
        try:
            with as_storage_error(f"{folder} can't be listed"):
                for page in self._node.pages(self._place(folder)):
                    yield from (entry for row in page if not row.isdir and (entry := _entry(row)).name > after)
        except (FileNotFoundError, NotADirectoryError):
            return

    def entry(self, path: str) -> Entry | None:
        try:
            with as_storage_error("the file can't be asked for"):
                row = self._node.status(self._place(path))
        except FileNotFoundError:
            return None
        return None if row.isdir else _entry(row)

    def _opened(self, path: str) -> File:
        try:
            with as_storage_error("the file can't be opened"):
                return self._node.open(self._place(path))
        except FileNotFoundError:
            raise StorageError("the file is missing", missing=True) from None

    def each(self, paths: Iterable[str]) -> Iterator[Entry | None]:
        return asked_at_once(self, paths)

    def lacks(self, paths: Iterable[str]) -> Iterator[bool]:
        return told_at_once(self, self._lacks, paths)

    def _lacks(self, path: str) -> bool:
        try:
            with as_storage_error(f"{path} can't be asked for"):
                row = self._node.status(self._place(path))
        except FileNotFoundError:
            return True
        if row.isdir:
            raise StorageError(NO_FILE.format(path=path))
        return False

    def chunks(self, path: str, size: int) -> Iterator[bytes]:
        with as_storage_error("the file can't be read"):
            yield from self._opened(path).chunks()

    def open(self, path: str) -> BinaryIO:
        return cast(BinaryIO, io.BufferedReader(_HdfsFile(self._opened(path)), 4 * CHUNK))


class _HdfsFile(io.RawIOBase):
    """A file on HDFS as one of the standard library, which is what pyarrow asks for."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        try:
            piece = self._file.range(self._at, len(buffer))
        except HdfsRefused as refused:
            raise StorageError(f"the file can't be read: {refused}") from None
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


def _entry(row: Any) -> Entry:
    return Entry(row.path.rpartition("/")[2], int(row.length), int(row.modification_time))
