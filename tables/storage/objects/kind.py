"""What the kinds of object stores have in common."""

from __future__ import annotations

from typing import Any

from tables.storage.description import Described
from tables.storage.kind import StoreKind
from tables.storage.objects import buckets
from tables.storage.objects.files import ObjectStorage
from tables.storage.objects.folders import StoredFolders
from tables.storage.objects.probe import probe
from tables.storage.objects.removal import remove_keys
from tables.storage.objects.tree import ObjectTree
from tables.storage.trees import Reach, reached


def object_store(described: Described, **own: Any) -> StoreKind:
    """The row of a kind of object stores: what obstore does alike for all of them, and what this one has of its own."""
    return StoreKind(
        where="in an object store",
        one="a prefix of an object store",
        files=ObjectStorage,
        folders=lambda _path: StoredFolders(),
        tree=_tree,
        reach=_reach,
        is_there=buckets.holds_key,
        is_away=buckets.is_away,
        probe=probe,
        described=described,
        remove_keys=remove_keys,
        has_directories=False,
        **own,
    )


def _tree(path: str) -> ObjectTree:
    return ObjectTree(path, *reached(buckets.opened, path))


def _reach(path: str) -> Reach:
    return reached(buckets.options_of, path).for_tasks()
