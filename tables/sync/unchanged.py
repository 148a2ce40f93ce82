"""Syncs of tables that nothing has happened to: one look at each log, and one statement for all of them.

What isn't plainly as it was goes the full way (table.sync): a new commit, a log that was rewritten, cleaned or removed, a directory that
is missing or can't be read. A look takes no lock and writes nothing; a result counts only while no other sync has written since.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from tables.deltalog.read.filenames import LOG, commit_name
from tables.deltalog.replay.log import DeltaLog, open_log
from tables.record import table_fields
from tables.record.live_files import files_path
from tables.storage.store import StorageError
from tables.storage.stores import is_remote
from tables.sync import claims
from tables.sync import table as syncing
from tables.sync.claims import Claimed
from tables.sync.fingerprint import fingerprint, listed

PATIENCE_S = 0.25  # as long as a person's question may wait for a turn of syncs
LOOKS_AT_ONCE = 48  # at logs in object stores: two requests for a log at 30 ms each are at most 800 logs a second

_STAMP = """
update tables_synctimes s set synced_at = %(at)s, quiet_syncs = s.quiet_syncs + 1, next_sync_at = unchanged.next_sync_at
from unnest(%(ids)s::uuid[], %(until)s::timestamptz[], %(next)s::timestamptz[], %(pauses)s::int[])
    as unchanged (table_id, until, next_sync_at, pause), tables_table t, tables_root r
where s.table_id = unchanged.table_id and s.next_sync_at = unchanged.until and t.id = s.table_id and r.id = t.root_id
    and case when r.paused_at is null then r.sync_seconds end is not distinct from unchanged.pause
    and s.table_id in (select table_id from tables_synctimes where table_id = any(%(ids)s) for update skip locked)
"""


def sync_claimed(seconds: float = 0) -> bool:
    """Syncs the tables of one claim: all that are unchanged, and one of those that must be read; with `seconds`, others that must be
    read until these have passed. False when none is due.
    """
    until = time.monotonic() + seconds
    due = claims.claim()
    claimed = [each for each in due if each.until is not None]
    settled = [each for each in claimed if each.settled]
    changed = _stamp_unchanged(settled)
    to_read = [each for each in claimed if not each.settled] or changed[:1]
    claims.release([each for each in changed if each not in to_read])
    for each in to_read:
        _read(each.table_id, each.path)
    while to_read and time.monotonic() < until and (unread := claims.claim_unread()):
        _read(*unread)
    return bool(due)


def _read(table_id: uuid.UUID, path: str) -> None:
    """A full sync. Those of a disk's tables leave a processor to people's pages: a lake that comes in keeps them busy for long."""
    with nullcontext() if is_remote(path) else _readers.turn():
        syncing.sync(table_id)


class Readers:
    """How many may read at once. Nobody waits long for another: a log can be long, and a disk can hang."""

    def __init__(self, most: int) -> None:
        self._permits = threading.BoundedSemaphore(most)
        self._one_is_long = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Waits for a permit, PATIENCE_S at most, and not at all while the others were waited for in vain."""
        took = self._permits.acquire(timeout=0 if self._one_is_long else PATIENCE_S)
        self._one_is_long = not took
        try:
            yield
        finally:
            if took:
                self._permits.release()


_readers = Readers(max(1, len(os.sched_getaffinity(0)) - 1))


def _stamp_unchanged(claimed: Sequence[Claimed]) -> list[Claimed]:
    """Notes of all tables whose logs are as they were that they were looked at; answers the others."""
    looked_at = timezone.now()  # before the looks: what comes after it may be unseen
    results = list(zip(claimed, _look(claimed), strict=True))
    unchanged = [each for each, same in results if same]
    if unchanged:
        stamp(unchanged, looked_at)
    return [each for each, same in results if not same]


def _look(claimed: Sequence[Claimed]) -> list[bool]:
    """Whether each log is as it was. Object stores are asked about several at once, a disk answers as fast one by one."""
    remote = [each for each in claimed if is_remote(each.path)]
    logs = [
        _log_of(each) for each in remote
    ]  # here: a thread that asks for a bucket's credential would open the database
    with ThreadPoolExecutor(LOOKS_AT_ONCE) as pool:
        answers = dict(zip((each.table_id for each in remote), pool.map(_is_as_it_was, remote, logs), strict=True))
    return [answers[each.table_id] if each.table_id in answers else is_unchanged(each) for each in claimed]


def is_unchanged(claimed: Claimed) -> bool:
    """Whether a full sync would find nothing new, by a look at the log."""
    return _is_as_it_was(claimed, _log_of(claimed))


def _log_of(claimed: Claimed) -> DeltaLog | None:
    """The log to look at; None for a table that needs the full way."""
    if claimed.version is None or not f"{claimed.path}/".startswith(f"{claimed.root_uri}/"):
        return None
    try:
        return open_log(claimed.path)
    except (StorageError, OSError, ValueError):
        return None


def _is_as_it_was(claimed: Claimed, log: DeltaLog | None) -> bool:
    """Asks the database nothing."""
    if log is None or claimed.version is None:
        return False
    try:
        if fingerprint(listed(log), files_path(claimed.table_id)) != claimed.fingerprint:
            return False
        head = log.storage.entry(f"{LOG}/{commit_name(claimed.version)}")
    except (StorageError, OSError, ValueError):
        return False
    return table_fields.mark(head) == claimed.head_mark


def stamp(unchanged: Sequence[Claimed], looked_at: datetime) -> None:
    """Writes that the tables were looked at and are as they were, except where another sync or a person was faster."""
    now = timezone.now()
    values: dict[str, Any] = {
        "at": looked_at,
        "ids": [each.table_id for each in unchanged],
        "until": [each.until for each in unchanged],
        "next": [syncing.next_sync(each.sync_seconds, each.quiet_syncs + 1, now) for each in unchanged],
        "pauses": [each.sync_seconds for each in unchanged],
    }
    with connection.cursor() as cursor:
        cursor.execute(_STAMP, values)
