"""What tells a log from the same log after a change, without a look into any of its files.

A sync that finds nothing new looks at the names in the log, at the newest commit's file, and at the file of live files that Levee keeps
(log_extent, replay/sync). Where all of these are as they were, and the code that judges them is too, it would write nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tables.deltalog.read.filenames import LOG
from tables.deltalog.replay.log import DeltaLog

APP = Path(__file__).parents[1]
_ROOMS = ("models", "deltalog", "rules", "record", "history", "sync")  # whose code decides what a sync writes


def listed(log: DeltaLog) -> str:
    """The names in the log, as a digest. Taken before a sync reads on: what comes meanwhile is seen the next time. Raises StorageError."""
    return _digest(name.encode("utf-8", "surrogateescape") for name in sorted(log.storage.names(LOG)))


def fingerprint(names: str, live_files: Path) -> str:
    """The digest of a log's names with that of the live files as they were saved from it; empty where there are none."""
    try:
        saved = live_files.stat()
        beside = sorted(path.name for path in live_files.parent.iterdir())
    except FileNotFoundError:
        return ""
    parts = (names, code(), saved.st_ino, saved.st_size, saved.st_mtime_ns, *beside)
    return _digest(str(part).encode() for part in parts)


@cache
def code() -> str:
    """Of the code that reads and judges logs: another release reads each table in full once."""
    return _digest(path.read_bytes() for path in sources())


def sources() -> Iterator[Path]:
    """The files of that code."""
    for room in _ROOMS:
        yield from sorted((APP / room).rglob("*.py"))


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8) + part)
    return digest.hexdigest()


code()  # with the import: later, another release may lie there than the one that runs
