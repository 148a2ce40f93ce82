"""Which tables a worker syncs next: those that are longest overdue, deferred so that no other worker takes them meanwhile.

Several workers and their threads share what is due. A claim takes many tables of which a look may tell that they are unchanged, and
one that must be read: a long log holds up no table that another worker could read.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from tables.sync.table import CLAIM

WINDOW = 200  # tables that a claim chooses among, the longest overdue
_LOCKS = 0x6C767363  # the space of advisory locks in which claims take turns

_CLAIM = """
with oldest as (
    select s.table_id, s.next_sync_at,
        s.fingerprint <> '' and t.catalog_entry is null and r.removed_at is null as settled
    from tables_synctimes s join tables_table t on t.id = s.table_id join tables_root r on r.id = t.root_id
    where s.next_sync_at <= statement_timestamp() and t.hidden_at is null
    order by s.next_sync_at limit %(window)s
), wanted as (
    select table_id, settled from oldest where settled
    union all (select table_id, settled from oldest where not settled order by next_sync_at limit 1)
), free as (
    select s.table_id, s.next_sync_at as due_at, wanted.settled
    from tables_synctimes s join wanted using (table_id)
    where s.next_sync_at <= statement_timestamp() for update of s skip locked
)
update tables_synctimes s set next_sync_at = statement_timestamp() + %(claim)s
from free, tables_table t, tables_root r
where s.table_id = free.table_id and t.id = s.table_id and r.id = t.root_id
returning s.table_id, free.settled, free.due_at, s.next_sync_at, s.quiet_syncs, s.fingerprint, t.path, t.version, t.head_mark,
    r.uri, r.sync_seconds
"""

# A statement of its own, which sees the roots as they are once the rows are held: one that was resumed meanwhile keeps its claim.
_LEAVE = """
update tables_synctimes s set next_sync_at = null from tables_table t, tables_root r
where s.table_id = any(%(ids)s) and t.id = s.table_id and r.id = t.root_id and r.paused_at is not null
returning s.table_id
"""

_RELEASE = """
update tables_synctimes s set next_sync_at = claimed.due_at, fingerprint = ''
from unnest(%(ids)s::uuid[], %(due)s::timestamptz[], %(until)s::timestamptz[]) as claimed (table_id, due_at, until)
where s.table_id = claimed.table_id and s.next_sync_at = claimed.until
    and s.table_id in (select table_id from tables_synctimes where table_id = any(%(ids)s) for update skip locked)
"""

_NEXT_UNREAD = """
update tables_synctimes set next_sync_at = statement_timestamp() + %(claim)s
where table_id = (
    select s.table_id
    from (
        select due.table_id from tables_synctimes due join tables_table shown on shown.id = due.table_id
        where due.next_sync_at <= statement_timestamp() and shown.hidden_at is null
        order by due.next_sync_at limit %(window)s
    ) oldest
        join tables_synctimes s using (table_id) join tables_table t on t.id = s.table_id join tables_root r on r.id = t.root_id
    where s.next_sync_at <= statement_timestamp() and t.hidden_at is null and r.paused_at is null
        and not (s.fingerprint <> '' and t.catalog_entry is null and r.removed_at is null)
    order by s.next_sync_at limit 1 for update of s skip locked
)
returning table_id
"""
NEAR = 20  # of the longest overdue, among which the next unread one is looked for: a claim has just taken what was before it


@dataclass(frozen=True, slots=True)
class Claimed:
    """A table that a worker has for itself until `until`, as the catalog had it then.

    `settled`: as far as the catalog knows, a look at its log can tell that nothing has changed. `until` is None for a table of a
    root that is paused: a sync that ran while it was being paused had set the next time, and now it has none.
    """

    table_id: uuid.UUID
    settled: bool
    due_at: datetime
    until: datetime | None
    quiet_syncs: int
    fingerprint: str
    path: str
    version: int | None
    head_mark: str
    root_uri: str
    sync_seconds: int | None


def claim() -> list[Claimed]:
    """The settled ones among the WINDOW tables that are longest overdue, and the first of the others; none when none is due."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(%s, 0)", [_LOCKS])  # else two would choose among the same tables
        values: dict[str, Any] = {"window": WINDOW, "claim": CLAIM}
        cursor.execute(_CLAIM, values)
        claimed = [Claimed(*row) for row in cursor.fetchall()]
        cursor.execute(_LEAVE, {"ids": [each.table_id for each in claimed]})
        paused = {table_id for (table_id,) in cursor.fetchall()}
        return [replace(each, until=None) if each.table_id in paused else each for each in claimed]


def claim_unread() -> uuid.UUID | None:
    """One more table that must be read, of those that are longest overdue; None when none of them is free. One short statement."""
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"window": NEAR, "claim": CLAIM}
        cursor.execute(_NEXT_UNREAD, values)
        row = cursor.fetchone()
    return row[0] if row else None


def release(claimed: Sequence[Claimed]) -> None:
    """Gives tables back that have to be read: they are due as they were, for whichever worker is free."""
    if not claimed:
        return
    values: dict[str, Any] = {
        "ids": [each.table_id for each in claimed],
        "due": [each.due_at for each in claimed],
        "until": [each.until for each in claimed],
    }
    with connection.cursor() as cursor:
        cursor.execute(_RELEASE, values)
