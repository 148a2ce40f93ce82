"""The files in which two versions differ, by the log: rebuilt from it when asked for, inside a request, one at a time in a process."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from console.base.errors import Problem
from console.base.waiting import REBUILDS
from tables.deltalog.read.storage import StorageError
from tables.deltalog.replay.log import NoTable, open_log
from tables.deltalog.state.livefiles import sum_of, without
from tables.models import Root, Table
from tables.rules.locations import LocationError, resolve

PATIENCE = 8.0  # seconds that a request waits for the one before it
BUSY_SECONDS = 2  # after which one that found no place may come again
BUSY = "Levee is comparing the files of other versions. Nothing was changed; try again in a moment."
_comparing = threading.Lock()


@dataclass(frozen=True, slots=True)
class Apart:
    """The files that only one of two versions has; a file with another deletion vector counts in both. `rows` None: unknown."""

    files: int
    bytes: int
    rows: int | None


def apart(table: Table, first: int, last: int) -> Apart:
    """What the two versions don't share.

    Raises Problem 403 `outside_roots`, 404 `no_table`, 410 `version_gone`, 422 `unreadable`, 503 `busy` while others are compared.
    """
    with REBUILDS.place("anybody") as there:
        if not _comparing.acquire(timeout=PATIENCE if there else 0):
            raise Problem(503, "busy", BUSY, retry_after=BUSY_SECONDS)
        try:
            return _apart(table, first, last)
        finally:
            _comparing.release()


def _apart(table: Table, first: int, last: int) -> Apart:
    try:
        resolve(table.path, Root.objects.all())
    except LocationError as error:
        raise Problem(error.status, "no_table" if error.status == 404 else error.code, str(error)) from None
    with tempfile.TemporaryDirectory(prefix="levee-apart-") as folder:
        old, new = (_files(table, version, Path(folder)) for version in (first, last))
        alone = pa.concat_tables([without(old, new), without(new, old)])
        return Apart(alone.num_rows, sum_of(alone, "size") or 0, sum_of(alone, "num_records"))


def _files(table: Table, version: int, folder: Path) -> pa.Table:
    try:
        snapshot = open_log(table.path).snapshot(version, folder / f"{version}.arrow")
    except NoTable:
        raise _gone(version) from None
    except StorageError as error:
        raise Problem(422, "unreadable", f"The log can't be read: {error}") from None
    if not snapshot.complete:
        raise _gone(version)
    return snapshot.files().select(["path", "size", "num_records", "deletion_vector"])


def _gone(version: int) -> Problem:
    return Problem(410, "version_gone", f"The log no longer holds what version {version:,} is rebuilt from.")
