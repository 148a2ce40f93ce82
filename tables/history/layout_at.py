"""The layout of any version: the newest from the catalog, others rebuilt from the log when asked for.

A rebuild reads as much of the log as the version needs, inside a request: one at a time in a process, and its answer is kept for a while.
"""

from __future__ import annotations

import tempfile
import threading
import uuid
from collections import OrderedDict
from pathlib import Path
from typing import Any

from django.http import Http404

from console.base.errors import Problem
from console.base.waiting import REBUILDS
from tables.deltalog.read.storage import StorageError
from tables.deltalog.replay.log import NoTable, open_log
from tables.models import Root, Table
from tables.record.file_layout import summarize
from tables.record.log_extent import can_be_rebuilt
from tables.rules.locations import LocationError, resolve

KEPT = 64  # rebuilt layouts; each holds some hundred rows at most
PATIENCE = 8.0  # seconds that a request waits for the one before it
BUSY_SECONDS = 2  # after which one that found no place may come again

Key = tuple[uuid.UUID, int, int]
_rebuilding = threading.Lock()
_retained: OrderedDict[Key, dict[str, Any]] = OrderedDict()


def at(table: Table, version: int) -> dict[str, Any]:
    """The layout at a version (layout.summarize).

    Raises Http404 for a version that never was; Problem 410 `version_gone`, 422 `unreadable`, 503 `busy` while others are rebuilt.
    """
    if table.version is None or not 0 <= version <= table.version:
        raise Http404
    if version == table.version and table.layout is not None:
        return dict(table.layout)
    if not can_be_rebuilt(table, version):
        raise _gone(version)
    key = (table.pk, table.incarnation, version)
    if retained := _retained.get(key):
        return dict(retained)
    with REBUILDS.place("anybody") as there:
        return dict(_in_turn(table, key, PATIENCE if there else 0))


def forget() -> None:
    """Drops what is kept: for tests, which use the same process for many lakes."""
    _retained.clear()


def _in_turn(table: Table, key: Key, patience: float) -> dict[str, Any]:
    """Rebuilds it when it is this request's turn, unless the one before has done so."""
    if not _rebuilding.acquire(timeout=patience):
        detail = f"Levee is rebuilding the layout of another version. Nothing was changed; try version {key[2]} again in a moment."
        raise Problem(503, "busy", detail, retry_after=BUSY_SECONDS)
    try:
        if key not in _retained:
            _retained[key] = _rebuilt(table, key[2])
        while len(_retained) > KEPT:
            _retained.popitem(last=False)
        return _retained[key]
    finally:
        _rebuilding.release()


def _rebuilt(table: Table, version: int) -> dict[str, Any]:
    try:
        resolve(table.path, Root.objects.all())
        with tempfile.TemporaryDirectory(prefix="levee-layout-") as folder:
            snapshot = open_log(table.path).snapshot(version, Path(folder) / "files.arrow")
            layout = summarize(snapshot)
    except LocationError as error:
        raise Problem(error.status, "no_table" if error.status == 404 else error.code, str(error)) from None
    except NoTable:
        raise _gone(version) from None
    except StorageError as error:
        raise Problem(422, "unreadable", f"The log can't be read: {error}") from None
    if not snapshot.complete:
        raise _gone(version)
    return layout


def _gone(version: int) -> Problem:
    detail = f"The log no longer holds what version {version} is rebuilt from, so Levee can’t list its files."
    return Problem(410, "version_gone", detail)
