"""What object stores and HDFS have in common for whoever only asks whether something is there, or can be asked for."""

from __future__ import annotations

from tables.storage.hdfs import name_nodes
from tables.storage.s3 import buckets as object_stores


def is_remote(path: str) -> bool:
    """Whether a canonical path lies elsewhere than on this machine's file systems."""
    return object_stores.is_object_store(path) or name_nodes.is_hdfs(path)


def is_there(uri: str) -> bool:
    """Whether a key lies below a prefix, or a directory is at a place on HDFS. Raises StorageError."""
    return name_nodes.holds_directory(uri) if name_nodes.is_hdfs(uri) else object_stores.holds_key(uri)


def is_away(uri: str) -> bool:
    """Whether the storage at a URI refused everything a moment ago."""
    return name_nodes.is_away(uri) if name_nodes.is_hdfs(uri) else object_stores.is_away(uri)
