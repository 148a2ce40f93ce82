"""Older versions rebuilt from the log inside a request: as much of it is read as the version needs, so one at a time in a process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from console.base.errors import Problem
from console.base.waiting import REBUILDS
from tables.deltalog.replay.log import NoTable, open_log
from tables.deltalog.state.snapshot import Snapshot
from tables.models import Root, Table
from tables.rules.locations import LocationError, resolve
from tables.storage.store import StorageError

PATIENCE = 8.0  # seconds that a request waits for the one before it
BUSY_SECONDS = 2  # after which one that found no place may come again

_rebuilding = threading.Lock()


@contextmanager
def turn(busy: str) -> Iterator[None]:
    """This request's turn. Raises Problem 503 `busy`, in these words, when it doesn't come in time."""
    with REBUILDS.place("anybody") as there:
        if not _rebuilding.acquire(timeout=PATIENCE if there else 0):
            raise Problem(503, "busy", busy, retry_after=BUSY_SECONDS)
        try:
            yield
        finally:
            _rebuilding.release()


def snapshot_at(table: Table, version: int, target: Path) -> Snapshot:
    """The version with all of its files, which are saved at `target`.

    Raises Problem 403 `outside_roots`, 404 `no_table`, 410 `version_gone`, 422 `unreadable`.
    """
    try:
        resolve(table.path, Root.objects.all())
        snapshot = open_log(table.path).snapshot(version, target)
    except LocationError as error:
        raise Problem(error.status, "no_table" if error.status == 404 else error.code, str(error)) from None
    except NoTable:
        raise gone(version) from None
    except StorageError as error:
        raise Problem(422, "unreadable", f"The log can't be read: {error}") from None
    if not snapshot.complete:
        raise gone(version)
    return snapshot


def gone(version: int) -> Problem:
    """Problem 410 `version_gone`."""
    detail = f"The log no longer holds what version {version} is rebuilt from, so Levee can’t list its files."
    return Problem(410, "version_gone", detail)
