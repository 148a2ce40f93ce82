"""The times of stored commits, told anew where the newest metadata of the log says that they come from elsewhere.

All stored times are those of one setting of in-commit timestamps: the one in the table's `log_state`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import connection

from tables.deltalog.read.actions import Metadata
from tables.deltalog.read.times import InCommitTimestamps, hull, in_commit_timestamps, overlap
from tables.deltalog.replay.log import DeltaLog
from tables.models import Table

_BATCH = 1_000

_UPDATE = """
update tables_commit set committed_at = told.at
from unnest(%(versions)s::bigint[], %(times)s::timestamptz[]) as told (version, at)
where table_id = %(table)s and incarnation = %(incarnation)s and tables_commit.version = told.version
"""


def told_by(table: Table) -> InCommitTimestamps:
    """The setting by which the table's stored times were told."""
    stored: dict[str, Any] = table.log_state.get("in_commit_timestamps") or {}
    return InCommitTimestamps(bool(stored.get("enabled")), stored.get("since_version"))


def tell_anew(
    table: Table, log: DeltaLog, newest: Metadata | None, *, before: InCommitTimestamps, known: int, mistimed: range
) -> bool:
    """Corrects the times of commits that are stored and still in the log; True when there were any to correct.

    `before` is the setting by which the versions up to `known` were told, `mistimed` are versions of this sync that were told before
    the newest metadata was read. Raises StorageError.
    """
    earlier = overlap(before.differs(in_commit_timestamps(newest)), range(known + 1))
    versions = hull(earlier, mistimed)
    times = iter(log.times(versions, newest)) if versions else iter(())
    while batch := list(islice(times, _BATCH)):
        _write(table, batch)
    return bool(versions)


def _write(table: Table, times: Iterable[tuple[int, datetime]]) -> None:
    versions, told = zip(*times, strict=True)
    values: dict[str, Any] = {
        "table": table.pk,
        "incarnation": table.incarnation,
        "versions": list(versions),
        "times": list(told),
    }
    with connection.cursor() as cursor:
        cursor.execute(_UPDATE, values)
