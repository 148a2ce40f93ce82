"""Copies of objects below a prefix of a bucket; within one bucket the store copies by itself."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tables.storage.objects.errors import turning_panics
from tables.storage.trees import BLOCK, Copies

# The largest object that S3 copies in one request.
MOST_COPIED = 5 << 30


class BucketCopies:
    """The objects below a prefix of a bucket."""

    def __init__(self, bucket: Any, key: str) -> None:
        self._store = bucket.open()
        self.bucket, self._key = bucket, key

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

    def take(self, source: Copies, name: str, relative: str) -> int | None:
        import obstore

        if not isinstance(source, BucketCopies) or source.bucket != self.bucket:
            return None
        known = source.size(name)
        if known > MOST_COPIED:
            return None
        with _answering():
            obstore.copy(self._store, source.key(name), self.key(relative))
        copied = self.size(relative)
        if copied != known:
            raise OSError(errno.EIO, f"{copied:,} bytes were copied of {known:,}")
        return copied


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
