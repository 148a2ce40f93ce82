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

from console.errors import Problem
from tables.deltalog import NoTable, StorageError, open_log
from tables.kept import can_be_rebuilt
from tables.layout import summarize
from tables.locations import LocationError, resolve
from tables.models import Root, Table

KEPT = 64  # rebuilt layouts; each holds some hundred rows at most
PATIENCE = 8.0  # seconds that a request waits for the one before it

Key = tuple[uuid.UUID, int, int]
_rebuilding = threading.Lock()
_kept: OrderedDict[Key, dict[str, Any]] = OrderedDict()


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
    return dict(_kept.get(key) or _in_turn(table, key))


def forget() -> None:
    """Drops what is kept: for tests, which use the same process for many lakes."""
    _kept.clear()


def _in_turn(table: Table, key: Key) -> dict[str, Any]:
    """Rebuilds it when it is this request's turn, unless the one before has done so."""
    if not _rebuilding.acquire(timeout=PATIENCE):
        detail = f"Levee is rebuilding the layout of another version. Nothing was changed; ask for version {key[2]} again in a moment."
        raise Problem(503, "busy", detail)
    try:
        if key not in _kept:
            _kept[key] = _rebuilt(table, key[2])
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
        return _kept[key]
    finally:
        _rebuilding.release()


def _rebuilt(table: Table, version: int) -> dict[str, Any]:
    try:
        resolve(table.path, Root.objects.all())
        with tempfile.TemporaryDirectory(prefix="levee-layout-") as folder:
            snapshot = open_log(table.path).snapshot(version, Path(folder) / "files.arrow")
            found = summarize(snapshot)
    except LocationError as error:
        raise Problem(error.status, "no_table" if error.status == 404 else error.code, str(error)) from None
    except NoTable:
        raise _gone(version) from None
    except StorageError as error:
        raise Problem(422, "unreadable", f"The log can't be read: {error}") from None
    if not snapshot.complete:
        raise _gone(version)
    return found


def _gone(version: int) -> Problem:
    detail = f"The log no longer holds what version {version} is rebuilt from, so its files can’t be named."
    return Problem(410, "version_gone", detail)
