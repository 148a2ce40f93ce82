"""Checkpoints that are made up of files elsewhere. Delta's engine follows a sidecar's path wherever it leads, before Levee can check it.

So this errs on the side of seeing one: whatever may be taken for a checkpoint counts, in whatever case its columns are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tables.deltalog.checkpoints.last_checkpoint import LARGEST
from tables.deltalog.checkpoints.reading import CheckpointError, CheckpointReader
from tables.deltalog.read.filenames import LAST_CHECKPOINT, LOG, LogFileKind
from tables.deltalog.read.lines import parse_json, read_actions
from tables.deltalog.read.paths import is_outside
from tables.deltalog.read.problems import Problems
from tables.deltalog.state.listing import Checkpoint
from tables.storage.store import Entry, Storage, StorageError

_CHECKPOINT = re.compile(r"[0-9]+\.checkpoint\..*(?:parquet|json)")
_MAYBE = re.compile(rb"sidecar|v2checkpoint|\\u", re.IGNORECASE)


def foreign_sidecar(storage: Storage) -> str | None:
    """The first path that a checkpoint, or `_last_checkpoint`, names outside the log's own `_sidecars`; None where there is none.

    Raises StorageError for what can't be read: it could lead anywhere.
    """
    return next((path for path in _named(storage) if is_outside(path)), None)


def _named(storage: Storage) -> Iterator[str]:
    yield from _in_last_checkpoint(storage)
    for entry in storage.entries(LOG):
        if _CHECKPOINT.fullmatch(entry.name):
            yield from _in_json(storage, entry) if entry.name.endswith(".json") else _in_parquet(storage, entry)


def _in_last_checkpoint(storage: Storage) -> Iterator[str]:
    """Paths of the checkpoint that it describes. One that is no JSON to Python may be some to Delta, which stops at the first object."""
    entry = storage.entry(f"{LOG}/{LAST_CHECKPOINT}")
    if entry is None:
        return
    if entry.size > LARGEST:
        raise StorageError(f"{LAST_CHECKPOINT} is longer than {LARGEST >> 20} MiB")
    content = b"".join(storage.chunks(f"{LOG}/{LAST_CHECKPOINT}", entry.size))
    try:
        value = parse_json(content.strip())
    except ValueError as error:
        if _MAYBE.search(content):
            raise StorageError(f"{LAST_CHECKPOINT} is {error}") from error
        return
    yield from _paths(value)


def _paths(value: Any) -> Iterator[str]:
    """Every text under a `path`, however deep."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting += node.values()
            yield from (str(held) for name, held in node.items() if name.lower() == "path" and held is not None)
        elif isinstance(node, list):
            waiting += node


def _in_json(storage: Storage, entry: Entry) -> Iterator[str]:
    problems = Problems()
    for name, value in read_actions(storage, f"{LOG}/{entry.name}", entry.size, entry.name, problems):
        if name.lower() == "sidecar":
            yield from _paths(value)
    if problems:
        raise StorageError(f"{entry.name} is not readable to its end")


def _in_parquet(storage: Storage, entry: Entry) -> Iterator[str]:
    reader = CheckpointReader(storage, Checkpoint(0, LogFileKind.V2, (entry,)), Problems())
    try:
        for value in reader.column(f"{LOG}/{entry.name}", "sidecar"):
            yield from _paths(value)
    except CheckpointError as error:
        raise StorageError(str(error)) from error
