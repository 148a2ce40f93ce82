"""A table's directory in an object store, by obstore."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Self, cast

import obstore
from obstore.exceptions import BaseError, InvalidPathError
from obstore.store import ObjectStore

from tables.storage.objects import buckets as object_stores
from tables.storage.objects.errors import turning_panics
from tables.storage.store import CHUNK, Entry, StorageError, asked_at_once


class ObjectStorage:
    """Keys below one prefix, in its bucket as it is described. Raises StorageError."""

    ahead = 32  # over 30 ms each that reads a long log three times as fast as 8 do; at most 1 MiB of each is held

    def __init__(self, uri: str) -> None:
        self._store: ObjectStore
        self._store, key = object_stores.opened(uri)
        self._prefix = f"{key}/" if key else ""

    @classmethod
    def of(cls, store: ObjectStore, prefix: str = "") -> Self:
        """A table's directory in a store that the caller opened; the prefix is the key of the directory."""
        storage = cls.__new__(cls)
        storage._store = store
        storage._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        return storage

    def _listed(self, folder: str, after: str) -> Iterator[Entry]:
        prefix = f"{self._prefix}{folder}/"
        seen = f"{prefix}{after}" if after else ""
        try:
            try:
                with turning_panics:
                    for batch in obstore.list(self._store, prefix, offset=seen or None):
                        page = cast(list[dict[str, Any]], batch)
                        yield from _direct_children(page, prefix)
                        seen = str(page[-1]["path"]) if page else seen
            except InvalidPathError:  # a key like a//b somewhere below, for which obstore drops its page
                with turning_panics:
                    found = obstore.list_with_delimiter(self._store, prefix)
                direct = cast(list[dict[str, Any]], found["objects"])
                yield from _direct_children([meta for meta in direct if str(meta["path"]) > seen], prefix)
        except FileNotFoundError:
            return
        except BaseError as error:
            raise StorageError(f"{folder} can't be listed: {object_stores.refused(self._store, error)}") from None

    def names(self, folder: str, after: str = "") -> Iterator[str]:
        return (entry.name for entry in self._listed(folder, after))

    def entries(self, folder: str, after: str = "") -> Iterator[Entry]:
        return self._listed(folder, after)

    def entry(self, path: str) -> Entry | None:
        try:
            with turning_panics:
                meta = cast(dict[str, Any], obstore.head(self._store, self._prefix + path))
            return _entry(path.rsplit("/", 1)[-1], meta)
        except FileNotFoundError:
            return None
        except BaseError as error:
            raise StorageError(f"the object can't be asked for: {object_stores.refused(self._store, error)}") from None

    def each(self, paths: Iterable[str]) -> Iterator[Entry | None]:
        return asked_at_once(self, paths)

    def lacks(self, paths: Iterable[str]) -> Iterator[bool]:
        return (entry is None for entry in asked_at_once(self, paths))  # there are only objects, and keys without one

    def chunks(self, path: str, size: int) -> Iterator[bytes]:
        try:
            with turning_panics:
                for chunk in obstore.get(self._store, self._prefix + path).stream(min_chunk_size=CHUNK):
                    view = memoryview(chunk)
                    for start in range(0, len(view), CHUNK):
                        yield bytes(view[start : start + CHUNK])
        except FileNotFoundError:
            raise StorageError("the object is missing", missing=True) from None
        except BaseError as error:
            raise StorageError(f"the object can't be read: {object_stores.refused(self._store, error)}") from None

    def open(self, path: str) -> BinaryIO:
        try:
            with turning_panics:
                reader = obstore.open_reader(self._store, self._prefix + path)
            return cast(BinaryIO, io.BufferedReader(_Object(self._store, reader), 4 * CHUNK))
        except FileNotFoundError:
            raise StorageError("the object is missing", missing=True) from None
        except BaseError as error:
            raise StorageError(f"the object can't be opened: {object_stores.refused(self._store, error)}") from None


class _Object(io.RawIOBase):
    """obstore's reader as a file of the standard library, which is what pyarrow asks for."""

    def __init__(self, store: ObjectStore, reader: Any) -> None:
        self._store = store
        self._reader = reader

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._reader.seek(offset, whence))

    def tell(self) -> int:
        return int(self._reader.tell())

    def readinto(self, buffer: Any) -> int:
        try:
            with turning_panics:
                piece = memoryview(self._reader.read(len(buffer)))
        except BaseError as error:
            raise StorageError(f"the object can't be read: {object_stores.refused(self._store, error)}") from None
        buffer[: len(piece)] = piece
        return len(piece)


def _direct_children(batch: list[dict[str, Any]], prefix: str) -> Iterator[Entry]:
    for meta in batch:
        name = str(meta["path"]).removeprefix(prefix)
        if "/" not in name:
            yield _entry(name, meta)


def _entry(name: str, meta: dict[str, Any]) -> Entry:
    return Entry(name, int(meta["size"]), int(meta["last_modified"].timestamp() * 1000))
