"""The name nodes that this process has asked: one client for each, left alone for a while after it refused everything."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tables.storage import patience
from tables.storage.hdfs.client import AWAY_SECONDS, HdfsRefused, NameNode, user_name
from tables.storage.store import StorageError

_URI = re.compile(r"hdfs://([^/]+)(/.*)?", re.DOTALL)
_lock = threading.Lock()
_opened: dict[tuple[str, str, float], NameNode] = {}


def split(uri: str) -> tuple[str, str]:
    """The name node (host and port, or nameservice) and the absolute path of an `hdfs://` URI. Raises ValueError for anything else."""
    match = _URI.fullmatch(uri)
    if match is None:
        raise ValueError(f"{uri!r} is no place on HDFS")
    return match[1], (match[2] or "/").rstrip("/") or "/"


def known(uri: str) -> tuple[NameNode, str]:
    """The URI's name node and its path there, though it may have refused everything a moment ago."""
    authority, path = split(uri)
    key = (authority, user_name(), patience.now().answer_s)
    with _lock:
        return _opened.setdefault(key, NameNode(*key)), path


def opened(uri: str) -> tuple[NameNode, str]:
    """The URI's name node and its path there. Raises StorageError, at once for one that refused everything a moment ago."""
    node, path = known(uri)
    if node.away is not None and time.monotonic() < node.away[0]:
        raise StorageError(
            f"{node.away[1]}, a moment ago; {node.authority} is asked again within {AWAY_SECONDS:.0f} seconds"
        )
    return node, path


def is_away(uri: str) -> bool:
    """Whether the URI's name node refused everything a moment ago."""
    node, _ = known(uri)
    return node.away is not None and time.monotonic() < node.away[0]


def ask_again(uri: str) -> None:
    """Has this process ask a name node again that refused everything a moment ago."""
    known(uri)[0].away = None


def holds_directory(uri: str) -> bool:
    """Whether a directory is there. Raises StorageError."""
    node, path = opened(uri)
    try:
        with as_storage_error():
            return bool(node.status(path).isdir)
    except FileNotFoundError:
        return False


@contextmanager
def as_storage_error(what: str = "") -> Iterator[None]:
    """Raises HDFS's refusal as StorageError, which begins with `what` could not be done."""
    try:
        yield
    except HdfsRefused as refused:
        raise StorageError(f"{what}: {refused}" if what else str(refused)) from None
