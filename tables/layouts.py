"""The layout of any version: the newest from the catalog, others rebuilt from the log when asked for."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.http import Http404

from console.errors import Problem
from tables.deltalog import NoTable, StorageError, open_log
from tables.layout import summarize
from tables.locations import LocationError, resolve
from tables.models import Root, Table


def at(table: Table, version: int) -> dict[str, Any]:
    """The layout at a version (layout.summarize). Raises Http404 for a version that never was, Problem 410 `version_gone`."""
    if table.version is None or not 0 <= version <= table.version:
        raise Http404
    if version == table.version and table.layout is not None:
        return dict(table.layout)
    if table.first_readable is None or version < table.first_readable:
        raise _gone(version)
    return _rebuilt(table, version)


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
