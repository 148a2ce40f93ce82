"""Which tables a worker syncs next: those that are longest overdue, deferred so that no other worker takes them meanwhile.

Several workers and their threads share what is due. A claim takes many tables of which a look may tell that they are unchanged, and
one that must be read: a long log holds up no table that another worker could read.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from tables.sync.table import CLAIM

WINDOW = 200  # tables that a claim chooses among, the longest overdue
_LOCKS = 0x6C767363  # the space of advisory locks in which claims take turns

# The database has no statistics yet of a lake that has just come in, or those of an empty catalog, and would read its tables whole for each
# claim. So nothing is left to choose: what is due is read in the order of its index, never sorted, and each lookup is by one id alone:
# `offset 0` keeps it apart. Joined first, a root would lead to all its tables; a condition inside, through the whole of a partial index.
_BY_INDEX = "set local enable_sort = off; set local enable_seqscan = off"
_CLAIM = """
with oldest as materialized (
    select s.table_id, s.next_sync_at, s.fingerprint <> '' and entry.catalog_entry is null and root.removed_at is null as settled,
        entry.root_id, entry.path, entry.version, entry.head_mark, root.uri, root.sync_seconds
    from tables_synctimes s cross join lateral (
        select t.root_id, t.path, t.version, t.head_mark, t.catalog_entry, t.hidden_at from tables_table t
        where t.id = s.table_id offset 0
    ) as entry cross join lateral (
        select r.uri, r.sync_seconds, r.removed_at from tables_root r where r.id = entry.root_id offset 0
    ) as root
    where s.next_sync_at <= statement_timestamp() and entry.hidden_at is null
    order by s.next_sync_at limit %(window)s
), wanted as materialized (
    select * from oldest where settled
    union all (select * from oldest where not settled order by next_sync_at limit 1)
)
select free.place, wanted.root_id, wanted.table_id, wanted.settled, free.due_at, free.quiet_syncs, free.fingerprint, wanted.path,
    wanted.version, wanted.head_mark, wanted.uri, wanted.sync_seconds
from wanted cross join lateral (
    select s.ctid::text as place, s.next_sync_at as due_at, s.quiet_syncs, s.fingerprint from tables_synctimes s
    where s.table_id = wanted.table_id offset 0 for update skip locked
) as free
where free.due_at <= statement_timestamp()
"""

# A statement of its own, which sees the roots as they are once the rows are held: one that was resumed meanwhile keeps its claim.
_PAUSED = "select id from tables_root where id = any(%(roots)s) and paused_at is not null"

# Rows that are held, by where they lie: their ids would be looked for in a whole index of a table that is believed to be empty.
_BY_PLACE = "set local enable_indexscan = off; set local enable_bitmapscan = off; set local enable_seqscan = off"
_TAKE = """
update tables_synctimes set
    next_sync_at = case when table_id = any(%(resting)s::uuid[]) then null else statement_timestamp() + %(claim)s end
where ctid = any(%(places)s::tid[])
returning table_id, next_sync_at
"""

_RELEASE = """
update tables_synctimes s set next_sync_at = claimed.due_at, fingerprint = ''
from unnest(%(ids)s::uuid[], %(due)s::timestamptz[], %(until)s::timestamptz[]) as claimed (table_id, due_at, until)
where s.table_id = claimed.table_id and s.next_sync_at = claimed.until
    and s.table_id in (select table_id from tables_synctimes where table_id = any(%(ids)s) for update skip locked)
"""

_NEXT_UNREAD = """
with oldest as materialized (
    select s.table_id, s.next_sync_at, entry.path,
        root.paused_at is not null or (s.fingerprint <> '' and entry.catalog_entry is null and root.removed_at is null) as left_alone
    from tables_synctimes s cross join lateral (
        select t.root_id, t.path, t.catalog_entry, t.hidden_at from tables_table t where t.id = s.table_id offset 0
    ) as entry cross join lateral (
        select r.paused_at, r.removed_at from tables_root r where r.id = entry.root_id offset 0
    ) as root
    where s.next_sync_at <= statement_timestamp() and entry.hidden_at is null
    order by s.next_sync_at limit %(window)s
)
select free.place, late.path from (
    select table_id, path from oldest where not left_alone order by next_sync_at offset 0
) as late cross join lateral (
    select s.ctid::text as place, s.next_sync_at as due_at from tables_synctimes s
    where s.table_id = late.table_id offset 0 for update skip locked
) as free
where free.due_at <= statement_timestamp() limit 1 -- one after the other, so that one row alone is held
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
        cursor.execute(_BY_INDEX)
        cursor.execute(_CLAIM, {"window": WINDOW})
        held = cursor.fetchall()
        if not held:
            return []
        cursor.execute(_PAUSED, {"roots": list({root_id for _, root_id, *_ in held})})
        paused = {root_id for (root_id,) in cursor.fetchall()}
        resting = [table_id for _, root_id, table_id, *_ in held if root_id in paused]
        until = _take(cursor, [place for place, *_ in held], resting)
        found: list[list[Any]] = [values for _, _, *values in held]
    return [Claimed(*[*values[:3], until[values[0]], *values[3:]]) for values in found if values[0] in until]


def claim_unread() -> tuple[uuid.UUID, str] | None:
    """One more table that must be read, of those that are longest overdue, and its path; None when none of them is free. A short
    transaction.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_BY_INDEX)
        cursor.execute(_NEXT_UNREAD, {"window": NEAR})
        row = cursor.fetchone()
        if row is None:
            return None
        place, path = row
        taken = _take(cursor, [place], resting=[])
    return next(((table_id, path) for table_id in taken), None)


def _take(
    cursor: CursorWrapper, places: Sequence[str], resting: Sequence[uuid.UUID]
) -> dict[uuid.UUID, datetime | None]:
    """Until when each of the held rows is claimed; those of `resting` are due no more."""
    cursor.execute(_BY_PLACE)
    values: dict[str, Any] = {"places": places, "resting": resting, "claim": CLAIM}
    cursor.execute(_TAKE, values)
    return dict(cursor.fetchall())


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
