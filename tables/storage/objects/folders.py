"""The directories of an object store, which knows keys alone, for walks."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import obstore
from obstore.exceptions import BaseError, InvalidPathError

from tables.storage.folders import PAGE, FolderEntry, StoreRefused
from tables.storage.objects import buckets as object_stores
from tables.storage.objects.errors import refusal, turning_panics
from tables.storage.store import StorageError

_LAST = "\U0010ffff"  # sorts after all that a key may go on with


@dataclass(frozen=True, slots=True)
class _Key:
    """A key, or what several begin with. An empty one is a mark that consoles put where a directory should be."""

    name: str
    size: int = 0
    modified: float = 0.0
    holds_keys: bool = False

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self.holds_keys

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self.size > 0

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        return SimpleNamespace(st_size=self.size, st_mtime=self.modified)


Pages = Iterator[list[dict[str, Any]]]


class StoredFolders:
    """Those of an object store, which knows keys alone: they are read in pages, in order.

    Where a page ends inside a directory, the next one begins behind it: a directory costs a page for each thousand of the names in it
    and below it, and at most one for each of the directories in it.
    """

    steps = 1

    def __init__(self) -> None:
        self._ahead: tuple[str, Pages] | None = None  # pages that `is_directory` has begun to read

    def is_directory(self, path: str) -> bool:
        pages = self._pages(path)
        try:
            first = next(pages, None)
        except _EmptyPart:
            return True  # a key lies there
        if not first:
            return False
        self._ahead = (path, _again(first, pages))
        return True

    def exists(self, path: str) -> bool:
        return True

    def head(self, path: str, length: int) -> bytes:
        """A refusal is of this object alone (archived, encrypted by a key of its own): a store that is away says so to the next listing."""
        try:
            store, key = object_stores.opened(path)
            with turning_panics:
                return bytes(obstore.get_range(store, key, start=0, length=length))
        except StorageError as error:
            raise StoreRefused(str(error), everywhere=True) from None
        except BaseError as error:
            raise StoreRefused(str(refusal(error)), everywhere=False) from None

    def entries(self, path: str) -> Generator[FolderEntry]:
        begun, self._ahead = self._ahead, None
        pages = begun[1] if begun is not None and begun[0] == path else self._pages(path)
        prefix, last, key = _prefix(path), "", ""
        while True:
            inside = False
            try:
                for page in pages:
                    for meta in page:
                        key = str(meta["path"])
                        name, inside = _name(key, prefix)
                        if inside and name != last:
                            last = name
                            yield _Key(name, holds_keys=True)
                        elif name and not inside:
                            yield _of(name, meta)
                    if inside and len(page) >= PAGE:
                        break
                    inside = False
            except _EmptyPart:
                yield from self._direct(path, prefix, key)
                return
            if not inside:
                return
            pages = self._pages(path, after=f"{prefix}{last}/{_LAST}")

    def _direct(self, path: str, prefix: str, seen: str) -> Generator[FolderEntry]:
        """What lies directly in a directory behind a key, without a look at what lies deeper. Raises StoreRefused."""
        with _asking(path) as store:
            found = obstore.list_with_delimiter(store, prefix or None)
        for below in sorted(str(each).rstrip("/") for each in found["common_prefixes"]):
            if f"{below}/" > seen:
                yield _Key(below.removeprefix(prefix), holds_keys=True)
        for meta in cast(list[dict[str, Any]], found["objects"]):
            name = str(meta["path"]).removeprefix(prefix)
            if name and str(meta["path"]) > seen:
                yield _of(name, meta)

    def _pages(self, path: str, after: str | None = None) -> Pages:
        with _asking(path) as store:
            for page in obstore.list(store, _prefix(path) or None, offset=after, chunk_size=PAGE):
                yield cast(list[dict[str, Any]], page)


class _EmptyPart(StoreRefused):
    """A key on the page has an empty part, as `a//b` has: obstore then tells nothing of the page."""


@contextmanager
def _asking(path: str) -> Iterator[Any]:
    """The store of a place; what it refuses is raised as StoreRefused."""
    try:
        store, _ = object_stores.opened(path)
    except StorageError as error:
        raise StoreRefused(str(error), everywhere=True) from None
    try:
        with turning_panics:
            yield store
    except BaseError as error:
        refused = object_stores.refused(store, error)
        kind = _EmptyPart if isinstance(error, InvalidPathError) else StoreRefused
        raise kind(str(refused), everywhere=refused.everywhere) from None


def _of(name: str, meta: dict[str, Any]) -> _Key:
    return _Key(name, int(meta["size"]), meta["last_modified"].timestamp())


def _again(first: list[dict[str, Any]], pages: Pages) -> Pages:
    yield first
    yield from pages


def _prefix(path: str) -> str:
    _, key = object_stores.split(path)
    return f"{key}/" if key else ""


def _name(key: str, prefix: str) -> tuple[str, bool]:
    """The name of a key in the directory, and whether it is of a directory there; an empty name for the directory's own mark."""
    if not key.startswith(prefix):
        return "", False
    name, slash, _ = key[len(prefix) :].partition("/")
    return name, bool(slash)
