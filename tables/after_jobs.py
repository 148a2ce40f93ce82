"""What jobs need of the catalog: a job's mark in a table's history, and the catalog in step after a change."""

from __future__ import annotations

import uuid

from django.db.models.functions import Now

from tables import facets, facts
from tables import sync as syncing
from tables.deltalog import Commit, NoTable, Snapshot, StorageError, load, open_log
from tables.deltalog.filenames import LOG, commit_name
from tables.models import Root, Table
from tables.queries import scan_waits

SYNC_CLAIM = syncing.CLAIM


def find_mark(location: str, job_id: uuid.UUID) -> Commit | None:
    """The commit that carries the job's id in its `userMetadata`; None when the log has none, or there is no log."""
    try:
        return open_log(location).find_mark(str(job_id))
    except (NoTable, FileNotFoundError):
        return None


def head_version(location: str, since: int | None = None) -> int | None:
    """The newest version in the log now; None when there is no log, or it can't be read.

    `since` is a version that it had some time ago: of a long log only the names from there on are looked at.
    """
    try:
        log = open_log(location)
        newest = log.head_version(since)
        # A log that ends before it is another one: the table was made anew.
        return log.head_version() if newest is None and since is not None else newest
    except (NoTable, StorageError, FileNotFoundError):
        return None


def commit_mark(location: str, version: int) -> str:
    """What tells this commit from another one of the same number; empty when its file was cleaned up or can't be read."""
    try:
        return facts.mark(open_log(location).storage.entry(f"{LOG}/{commit_name(version)}"))
    except (NoTable, StorageError, FileNotFoundError):
        return ""


def sync(table_id: uuid.UUID) -> Table:
    """The catalog's entry after a job. What is wrong with the table is in the entry; it never raises for that."""
    return syncing.sync(table_id)


def live_files(table: Table) -> Snapshot | None:
    """The table with its live files at the version that the last sync read; None when they must be read again."""
    try:
        return load(syncing.files_path(table.pk))
    except (OSError, ValueError):
        return None


def sync_soon(table_id: uuid.UUID) -> None:
    """Has the light worker sync the table next."""
    Table.objects.filter(pk=table_id).update(next_sync_at=Now())


def syncs_due() -> bool:
    """Whether the light worker is waited for: a table to be synced, a root to be scanned or counted."""
    due = Table.objects.filter(next_sync_at__lte=Now(), hidden_at=None)
    return due.exists() or Root.objects.filter(scan_waits()).exists() or facets.next_late() is not None
