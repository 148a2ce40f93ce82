"""The file systems of this machine, as a kind of storage."""

from __future__ import annotations

import os

from tables.storage.kind import StoreKind
from tables.storage.local.files import LocalStorage
from tables.storage.local.folders import LocalFolders
from tables.storage.local.probe import probe
from tables.storage.local.tree import LocalReach, LocalTree


def _is_away(_path: str) -> bool:
    return False  # the operating system says so for each question anew


LOCAL = StoreKind(
    scheme="",
    what="directories of this machine",
    one="a directory of the machine that runs Levee",
    example="/lake",
    where="on this machine",
    files=LocalStorage,
    folders=LocalFolders,
    tree=LocalTree,
    reach=lambda _path: LocalReach(),
    is_there=os.path.isdir,
    is_away=_is_away,
    probe=probe,
)
