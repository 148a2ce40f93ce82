"""A prefix of an object store as inspections read it."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tables.storage.objects.copies import BucketCopies
from tables.storage.objects.errors import refusal, turning_panics
from tables.storage.trees import DIRECTORY, FILE, MARKER, Denied, Unreachable, lines_of, missing_of

FORBIDDEN = re.compile(r"\b403\b")


@dataclass(frozen=True)
class Bucket:
    """How a bucket is reached, for the tasks that list it: a class of obstore's, and its settings.

    They hold the key, so they are never shown.
    """

    store: str
    name: str
    prefix: str  # of the canonical paths in it
    settings: dict[str, Any] = field(repr=False)

    def open(self) -> Any:
        """The bucket as obstore has it."""
        from obstore import store

        return getattr(store, self.store)(self.name, **self.settings)

    def opened(self, path: str) -> ObjectTree:
        return ObjectTree(path, self.open(), self.key(path))

    def copies(self, path: str) -> BucketCopies:
        return BucketCopies(self, self.key(path))

    def key(self, path: str) -> str:
        """The key of a canonical path in the bucket."""
        return path.removeprefix(self.prefix).strip("/")


class ObjectTree:
    """Objects below a prefix of a bucket, through obstore. Directories are parts of keys: one without objects isn't there.

    An object store has no links, and nothing in it can lead to another place.
    """

    is_near = False

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
            yield from lines_of(map(bytes, obstore.get(self._store, self._prefix(relative)).stream()))

    def missing(self, places: Iterable[str]) -> list[str]:
        """Which of these full URIs are no longer objects, in their order. Raises Unreachable."""
        return missing_of(places, self._is_object)

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


@contextmanager
def _answering(place: str) -> Iterator[None]:
    """Turns what obstore raises, but for a missing object, into Unreachable or Denied."""
    from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

    try:
        with turning_panics:
            yield
    except BaseError as error:
        # Of a listing, obstore keeps the refusal as text alone.
        denied = isinstance(error, PermissionDeniedError | UnauthenticatedError) or FORBIDDEN.search(str(error))
        raise (Denied if denied else Unreachable)(
            f"{place} can't be read: {refusal(error)}"
        ) from None  # its text holds the store's answer
