"""Every kind of storage that Levee reads, a row each: whoever has a path asks its row, and no scheme."""

from __future__ import annotations

import re

from tables.storage import trees
from tables.storage.folders import Folders
from tables.storage.gcs.kind import GCS
from tables.storage.hdfs import client
from tables.storage.hdfs import tree as hdfs_tree
from tables.storage.hdfs.kind import HDFS
from tables.storage.kind import StoreKind
from tables.storage.local import copies as local_copies
from tables.storage.local import directories
from tables.storage.local import tree as local_tree
from tables.storage.local.kind import LOCAL
from tables.storage.objects import copies as object_copies
from tables.storage.objects import errors as object_errors
from tables.storage.objects import tree as object_tree
from tables.storage.s3.kind import S3
from tables.storage.store import Storage
from tables.storage.trees import Reach, Tree

KINDS: tuple[StoreKind, ...] = (LOCAL, S3, GCS, HDFS)
# What runs in Spark's tasks, which have no copy of Levee: it travels to them by value.
TRAVELLING = (
    trees,
    directories,
    local_copies,
    local_tree,
    object_errors,
    object_copies,
    object_tree,
    client,
    hdfs_tree,
)
_CANONICAL = {alias: kind.scheme for kind in KINDS for alias in kind.aliases}
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def kind_of(path: str) -> StoreKind:
    """The kind of storage that a canonical path lies in. Raises ValueError for a path of none."""
    for kind in KINDS:
        if path.startswith(kind.prefix):
            return kind
    raise ValueError(f"{path!r} is neither an absolute path nor a URI of a storage that Levee reads")


def kind_with(scheme: str) -> StoreKind | None:
    """The kind of storage that a URI's scheme, in small letters, stands for; None for one that Levee doesn't read."""
    return next((kind for kind in KINDS if scheme == kind.scheme or scheme in kind.aliases), None)


def canonical_scheme(scheme: str) -> str:
    """The scheme that canonical paths have, of one in small letters that stands for the same."""
    return _CANONICAL.get(scheme, scheme)


def with_canonical_scheme(uri: str) -> str:
    """A URI as canonical paths begin: `s3a://b/a` is `s3://b/a`. Every other text stays as it is."""
    match = SCHEME.match(uri)
    return f"{canonical_scheme(match[1].lower())}://{uri[match.end() :]}" if match else uri


def files_at(location: str) -> Storage:
    """The directory at an absolute path, `file:` and an absolute path, or a URI.

    Paths are literal; only `scheme://` makes a URI. Raises ValueError for a relative path, StorageError.
    """
    if location.startswith("file:"):
        location = "/" + location.removeprefix("file:").lstrip("/")
    return kind_of(location).files(location)


def folders_at(path: str) -> Folders:
    """The directories at and below a canonical path, for walks. Raises ValueError for a path of no kind."""
    return kind_of(path).folders(path)


def tree_at(path: str) -> Tree:
    """The directory at a canonical path as inspections read it, in the driver. Raises Unreachable, ValueError as `kind_of`."""
    return kind_of(path).tree(path)


def reach_of(path: str) -> Reach:
    """How Spark's tasks reach the storage of a canonical path. Raises Unreachable, ValueError as `kind_of`."""
    return kind_of(path).reach(path)


def is_remote(path: str) -> bool:
    """Whether a path is a canonical one of storage elsewhere than on this machine's file systems."""
    return any(kind.is_remote and path.startswith(kind.prefix) for kind in KINDS)


def is_there(path: str) -> bool:
    """Whether a directory, or a key below a prefix, is at a canonical path. Raises StorageError, ValueError as `kind_of`."""
    return kind_of(path).is_there(path)


def is_away(path: str) -> bool:
    """Whether the storage at a canonical path refused everything a moment ago. Raises ValueError as `kind_of`."""
    return kind_of(path).is_away(path)
