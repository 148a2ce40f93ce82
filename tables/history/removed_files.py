"""Bytes that commits removed from a table and no vacuum has deleted since, by day; as they are when a sync stores them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time

from django.db import connection
from django.db.models import Min, Q, QuerySet

from tables.deltalog.rules.retention import deleted_file_retention
from tables.history.reachability import TableReach
from tables.models import Commit, Table
from tables.rules.health import old_files
from tables.rules.health_findings import HealthFinding

MOST_DAYS = 60  # older ones count as one

# A commit that only gives files a deletion vector removes them and adds them again: no byte of those is old.
_BY_DAY = """
select extract(epoch from date_trunc('day', committed_at at time zone 'UTC'))::bigint as day,
    sum(case when coalesce(operation_metrics ->> 'numDeletionVectorsAdded', '0') <> '0'
        then greatest(bytes_removed - coalesce(bytes_added, 0), 0) else bytes_removed end)::numeric as bytes
from tables_commit
where table_id = %s and incarnation = %s and files_removed > 0 and bytes_removed is not null and committed_at >= %s
group by 1 order by 1
"""
# The same, spelt so that the index of removals hasn't it: else the database walks through those of years, not along the days.
_BY_NEW_DAY = _BY_DAY.replace("files_removed > 0", "coalesce(files_removed, 0) > 0")
_MOST = 2**62


def by_day(table: Table, first: int | None = None) -> list[list[int]]:
    """`[day, bytes]` of the table's history as the catalog has it: seconds since 1970 of the day's begin in UTC, oldest first.

    `first` is the first version that was written since `table.removed` was counted: its day and the later ones are counted anew, so
    that a sync costs what is new. All are without it, after a vacuum, and after other properties.
    """
    history = Commit.objects.filter(table=table, incarnation=table.incarnation)
    if not history.filter(files_removed__gt=0).exists():
        return []
    since = TableReach(table).vacuumed_until or datetime.fromtimestamp(0, UTC)
    begin = None if first is None else _begin(history.filter(version__gte=first))
    if begin is None or not table.removed or begin.timestamp() <= table.removed[0][0]:
        return _shortened(_counted(table, _BY_DAY, since))
    kept = [row for row in table.removed if row[0] < begin.timestamp()]
    return _shortened([*kept, *_counted(table, _BY_NEW_DAY, max(since, begin))])


def _begin(new: QuerySet[Commit]) -> datetime | None:
    """When the oldest day of these commits began in UTC; None if they may change what earlier ones count for, or don't tell."""
    if new.filter(Q(operation__startswith="VACUUM") | Q(properties__isnull=False)).exists():
        return None
    if (oldest := new.aggregate(at=Min("committed_at"))["at"]) is None:
        return None
    return datetime.combine(oldest.astimezone(UTC), time(), UTC)


def _counted(table: Table, sql: str, since: datetime) -> list[list[int]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [table.pk, table.incarnation, since])
        return [[int(day), min(int(size), _MOST)] for day, size in cursor.fetchall()]


def _shortened(rows: list[list[int]]) -> list[list[int]]:
    older, newer = rows[:-MOST_DAYS], rows[-MOST_DAYS:]
    return [[older[-1][0], min(sum(size for _, size in older), _MOST)], *newer] if older else newer


def finding_of(table: Table, now: datetime) -> HealthFinding | None:
    """Whether so many of them are old by now that a vacuum is worth it. Asks the database nothing."""
    if not table.is_delta or not table.removed:
        return None
    return old_files(_older_than(table, table.removed, now), table.size_bytes)


def _older_than(table: Table, removed: Sequence[Sequence[int]], now: datetime) -> int:
    """Bytes of the days that ended before the table's retention began."""
    kept = deleted_file_retention(table.configuration)
    until = (now - kept).timestamp() - 86_400
    return sum(size for day, size in removed if day <= until)
