"""Keeps what looks into storage told of a table's files: in its health for the newest version, in its reach for older ones."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from tables.deltalog.read.data_files import Unlike
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules import lost_versions
from tables.models import Table
from tables.record import file_check, lost_files
from tables.storage.store import StorageError
from tables.storage.stores import with_canonical_scheme
from tables.sync import table as syncing

FIELDS = ["file_check", "lost_files", "health", "health_codes"]


def keep(table_id: uuid.UUID, table_delta_id: str | None, check: file_check.Check) -> None:
    """A look at all live files of a version takes the place of what was known, unless another table lies there by now.

    Files that a later commit has removed meanwhile are no finding of the newest version: the next sync takes them out.
    """

    def write(table: Table) -> None:
        table.file_check = check

    _write(table_id, table_delta_id, write)


def note_found(table_id: uuid.UUID, asked: int, found: Sequence[Unlike]) -> None:
    """What a job found of the live files that it was to read, beside what was known."""

    def write(table: Table) -> None:
        if table.version is not None:
            table.file_check = file_check.with_found(table.file_check, table.version, timezone.now(), asked, found)

    _write(table_id, None, write)


def note_missing(table_id: uuid.UUID, version: int, paths: Collection[str]) -> None:
    """That storage lacks files which an older version needs, by their decoded places, whole or below the table; none: it has them all."""
    if not paths and not Table.objects.filter(pk=table_id).exclude(lost_files=[]).exists():
        return
    at = timezone.now()

    def write(table: Table) -> None:
        if paths:
            lost_files.note(table, _observed(table, version, paths, at))
        else:
            known = lost_versions.with_whole(lost_versions.of_json(table.lost_files), version)
            table.lost_files = [each.as_json() for each in known]

    _write(table_id, None, write)


def _observed(table: Table, version: int, paths: Collection[str], at: datetime) -> lost_versions.Lost:
    """Of this version alone where nothing tells how long the files were needed: they lie elsewhere, or the log can't be read."""
    inside = {_relative(path, table.path) for path in paths} - {None}
    try:
        if inside:
            return lost_files.observed(open_log(table.path), table, version, inside, at)  # type: ignore[arg-type]  # without None
    except (StorageError, OSError):
        pass
    return lost_versions.Lost(0, version, version, min(paths), len(paths), at)


def _relative(path: str, location: str) -> str | None:
    """A decoded path below the table; None for one elsewhere."""
    inner = with_canonical_scheme(path).removeprefix(f"{location.rstrip('/')}/")
    return None if inner.startswith("/") or "://" in inner else inner


def _write(table_id: uuid.UUID, table_delta_id: str | None, write: Callable[[Table], None]) -> None:
    """In a sync's turn: each writes what it read at its beginning."""
    with transaction.atomic():
        syncing.wait_for_turn(table_id)
        table = syncing.entry(table_id)
        if table_delta_id not in (None, table.table_id):
            return
        write(table)
        syncing.judge(table, timezone.now())
        table.save(update_fields=FIELDS)
