"""Reads the `_spark_metadata` of a directory that a streaming query wrote: only the files listed there count.

The format is that of Spark's FileStreamSinkLog: a log file per batch, every tenth one compacted (`9.compact`) with all before it;
each has a first line `v1`, then one JSON object per data file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from jobs.domain.errors import CommandRefused, Refusal
from tables.storage.stores import canonical_scheme
from tables.storage.trees import FILE, Tree

DIRECTORY_NAME = "_spark_metadata"
# Levee reads the whole log, as Delta does: the bound only guards against a file that isn't one.
LARGEST_LOG = 1 << 30


def metadata_log_files(place: Tree) -> tuple[tuple[str, int, int], ...] | None:
    """(relative path, size, changed_ns) of the files that the log lists, in path order; None if there is no log.

    Raises CommandRefused (`outside_roots`) if the log lists a file outside the directory.
    """
    try:
        names = [name for name, kind, _ in place.entries(DIRECTORY_NAME) if kind == FILE]
    except (FileNotFoundError, NotADirectoryError):
        return None
    batches = _batches(names)
    if not batches:
        return None
    files: dict[str, tuple[str, int, int]] = {}
    for name in batches:
        for action in _actions(place, name):
            path = _relative(place, action["path"])
            if action["action"] == "delete":
                files.pop(path, None)
            elif not action["isDir"]:
                files[path] = (path, action["size"], action["modificationTime"] * 1_000_000)
    return tuple(files[path] for path in sorted(files))


def _batches(names: list[str]) -> list[str]:
    """The newest compacted file and every batch after it, in order."""
    compacted = [int(name.removesuffix(".compact")) for name in names if _is_batch(name, ".compact")]
    newest = max(compacted, default=-1)
    later = sorted(int(name) for name in names if _is_batch(name, "") and int(name) > newest)
    return ([f"{newest}.compact"] if compacted else []) + [str(batch) for batch in later]


def _is_batch(name: str, suffix: str) -> bool:
    return name.endswith(suffix) and name.removesuffix(suffix).isascii() and name.removesuffix(suffix).isdigit()


def _actions(place: Tree, name: str) -> Iterator[dict[str, Any]]:
    text = place.tail(f"{DIRECTORY_NAME}/{name}", LARGEST_LOG).decode("utf-8")
    version, *lines = text.splitlines()
    if version.strip() != "v1":
        raise CommandRefused(_refused(f"{DIRECTORY_NAME}/{name} has version {version.strip()!r}; Levee knows v1 only"))
    for line in lines:
        yield json.loads(line)


def _relative(place: Tree, uri: str) -> str:
    path, root = _plain(uri), _plain(place.root).rstrip("/")
    if not path.startswith(root + "/") or ".." in path.split("/"):
        raise CommandRefused(
            Refusal(
                code="outside_roots",
                message=f"{DIRECTORY_NAME} lists a file outside the directory",
                place=path,
                remedy="Convert the directory that holds the files, or remove the log if it belongs to another directory.",
            )
        )
    return path[len(root) + 1 :]


def _plain(uri: str) -> str:
    """A path without `file:`; other schemes keep scheme and bucket. Spark writes URIs with escaped names."""
    if not uri.startswith("/") and ":" in uri.split("/")[0]:
        parts = urlsplit(uri)
        scheme = canonical_scheme(parts.scheme)
        bucket = f"{scheme}://{parts.netloc}" if scheme != "file" else ""
        return bucket + unquote(parts.path)
    return uri


def _refused(message: str) -> Refusal:
    return Refusal(code="stray_files", message=message, place=DIRECTORY_NAME)
