"""Commits fetched a few ahead of their reading: over a network it is the waiting that takes time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from tables.deltalog.read.filenames import LOG
from tables.storage.store import CHUNK, Chunks, Entry, Storage

LARGEST = CHUNK
"""Bytes of a commit that is fetched whole; a larger one is streamed when its turn comes. At most `storage.ahead` of them are held."""


@contextmanager
def reading_ahead(storage: Storage, commits: Iterable[Entry]) -> Iterator[Chunks]:
    """The storage for reading these commits in their order. A storage that gains nothing by it is left as it is."""
    if storage.ahead < 2:
        yield storage
        return
    pool = ThreadPoolExecutor(storage.ahead, "read-ahead")
    try:
        yield _ReadAhead(storage, commits, pool)
    finally:
        pool.shutdown(cancel_futures=True)


class _ReadAhead:
    def __init__(self, storage: Storage, commits: Iterable[Entry], pool: ThreadPoolExecutor) -> None:
        self._storage = storage
        self._coming = iter(commits)
        self._pool = pool
        self._fetching: dict[str, Future[bytes | None]] = {}

    def chunks(self, path: str, size: int) -> Iterator[bytes]:
        """As Storage.chunks, for any file of the storage."""
        self._fetch_on()
        future = self._fetching.pop(path, None)
        content = future.result() if future is not None else None
        self._fetch_on()
        if content is None:
            yield from self._storage.chunks(path, size)
        else:
            yield content

    def _fetch_on(self) -> None:
        while len(self._fetching) < self._storage.ahead:
            entry = next(self._coming, None)
            if entry is None:
                return
            if entry.size <= LARGEST:
                path = f"{LOG}/{entry.name}"
                self._fetching[path] = self._pool.submit(self._whole, path, entry.size)

    def _whole(self, path: str, size: int) -> bytes | None:
        """The file's content, None when it has grown beyond what is held. Raises StorageError."""
        content = bytearray()
        for chunk in self._storage.chunks(path, size):
            content += chunk
            if len(content) > LARGEST:
                return None
        return bytes(content)
