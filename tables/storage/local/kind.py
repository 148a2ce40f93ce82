"""The file systems of this machine, as a kind of storage."""

from __future__ import annotations

from tables.storage.kind import StoreKind
from tables.storage.local import directories
from tables.storage.local.files import LocalStorage
from tables.storage.local.folders import LocalFolders
from tables.storage.local.probe import probe
from tables.storage.local.tree import LocalReach, LocalTree
from tables.storage.store import StorageError


def _is_there(path: str) -> bool:
    try:
        directories.walk(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise StorageError(f"{path} can't be looked at: {error.strerror}") from error
    return True


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
    is_there=_is_there,
    is_away=_is_away,
    probe=probe,
)
