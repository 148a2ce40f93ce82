"""The layout of any version: the newest from the catalog, others rebuilt from the log when asked for.

A rebuild takes its turn, and its answer is kept for a while.
"""

from __future__ import annotations

import tempfile
import uuid
from collections import OrderedDict
from pathlib import Path
from typing import Any

from django.http import Http404

from tables.history import rebuilding
from tables.models import Table
from tables.record.file_layout import summarize
from tables.record.log_extent import can_be_rebuilt

KEPT = 64  # rebuilt layouts; each holds some hundred rows at most
BUSY = "Levee is rebuilding another version. Nothing was changed; try version {version} again in a moment."

Key = tuple[uuid.UUID, int, int]
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
        raise rebuilding.gone(version)
    key = (table.pk, table.incarnation, version)
    if retained := _retained.get(key):
        return dict(retained)
    with rebuilding.turn(BUSY.format(version=version)):
        return dict(_in_turn(table, key))


def forget() -> None:
    """Drops what is kept: for tests, which use the same process for many lakes."""
    _retained.clear()


def _in_turn(table: Table, key: Key) -> dict[str, Any]:
    """Rebuilds it, unless the request before this one has done so."""
    if key not in _retained:
        _retained[key] = _rebuilt(table, key[2])
    while len(_retained) > KEPT:
        _retained.popitem(last=False)
    return _retained[key]


def _rebuilt(table: Table, version: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="levee-layout-") as folder:
        return summarize(rebuilding.snapshot_at(table, version, Path(folder) / "files.arrow"))
