"""Removes some of the keys below a prefix of an object store."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore

from tables.storage.objects import buckets
from tables.storage.objects.errors import turning_panics
from tables.storage.store import StorageError


def remove_keys(uri: str, wanted: Callable[[str, str], bool]) -> None:
    """Removes the objects of which `wanted` says so, by their directory's path below the prefix and their name. Raises StorageError."""
    store, prefix = buckets.opened(uri)
    top = f"{prefix}/" if prefix else ""
    try:
        with turning_panics:
            for keys in _pages(store, top):
                own = [key for key in keys if wanted(*_split(key.removeprefix(top)))]
                if own:
                    obstore.delete(store, own)
    except BaseError as error:
        raise StorageError(str(buckets.refused(store, error))) from None


def _split(relative: str) -> tuple[str, str]:
    folder, _, name = relative.rpartition("/")
    return folder, name


def _pages(store: ObjectStore, top: str) -> Iterator[list[str]]:
    for page in obstore.list(store, top or None):
        yield [str(item["path"]) for item in page]
