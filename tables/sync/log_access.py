"""The catalog for jobs: a job's mark in a table's history, and syncs after a change."""

from __future__ import annotations

import uuid

from django.db.models.functions import Now

from tables.deltalog.read.commits import LogCommit
from tables.deltalog.read.filenames import LOG, commit_name
from tables.deltalog.replay.log import NoTable, open_log
from tables.models import SyncTimes, Table
from tables.record import table_fields
from tables.storage.store import StorageError
from tables.sync import table as syncing

SYNC_CLAIM = syncing.CLAIM


def find_mark(location: str, job_id: uuid.UUID, since: int | None) -> LogCommit | None:
    """The commit after `since` that carries the job's id in its `userMetadata`; None when the log has none.

    Without `since`, a place that holds no log has none either. With it, the log once held that version: StorageError is raised
    where it no longer holds all that came after.
    """
    try:
        return open_log(location).find_mark(str(job_id), since)
    except (NoTable, FileNotFoundError):
        return None


def find_marks(location: str, job_id: uuid.UUID, since: int | None) -> list[LogCommit]:
    """All of them, oldest first: of a job whose run makes several commits. Raises as `find_mark` does."""
    try:
        return open_log(location).find_marks(str(job_id), since)
    except (NoTable, FileNotFoundError):
        return []


def look_for_mark(location: str, job_id: uuid.UUID, since: int, most: int) -> tuple[LogCommit | None, int]:
    """The same in `most` commits at most, with the last version that was looked at; for looks that are taken again and again."""
    try:
        return open_log(location).look_for_mark(str(job_id), since, most)
    except (NoTable, FileNotFoundError):
        return None, since


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
        return table_fields.mark(open_log(location).storage.entry(f"{LOG}/{commit_name(version)}"))
    except (NoTable, StorageError, FileNotFoundError):
        return ""


def sync(table_id: uuid.UUID) -> Table:
    """The catalog's entry after a job. What is wrong with the table is in the entry; it never raises for that."""
    return syncing.sync(table_id)


def glance(table_id: uuid.UUID) -> Table:
    """As `sync`, for pages that look again and again: a table that was looked at just now and hasn't moved isn't written."""
    return syncing.sync(table_id, glancing=True)


def sync_soon(table_id: uuid.UUID) -> None:
    """Has the light worker sync the table next."""
    SyncTimes.objects.filter(pk=table_id).update(next_sync_at=Now())
