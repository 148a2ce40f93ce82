"""A table's history by day, counted when commits are kept: a drawing of years reads a row per day, not every commit."""

from __future__ import annotations

from typing import Any

from django.db import connection

from tables.models import Table, TableDay

# Unknown for a day is what any of its commits doesn't tell, or what no bigint holds. Days are UTC's.
_RECOUNT = """
insert into tables_tableday (table_id, incarnation, day, commits, bytes_grown, rows_grown)
select table_id, incarnation, (committed_at at time zone 'UTC')::date, count(*),
       case when count(bytes_added) = count(*) and count(bytes_removed) = count(*)
             and abs(sum(bytes_added::numeric - bytes_removed)) < 9223372036854775807
            then sum(bytes_added::numeric - bytes_removed) end,
       case when count(rows_changed) = count(*) and abs(sum(rows_changed)) < 9223372036854775807 then sum(rows_changed) end
from tables_commit
where table_id = %(table)s and incarnation = %(incarnation)s and committed_at >= (
    select date_trunc('day', min(committed_at) at time zone 'UTC') at time zone 'UTC'
    from tables_commit
    where table_id = %(table)s and incarnation = %(incarnation)s and version >= %(first)s)
group by 1, 2, 3
on conflict (table_id, incarnation, day) do update
set commits = excluded.commits, bytes_grown = excluded.bytes_grown, rows_grown = excluded.rows_grown
"""


def count_anew(table: Table) -> None:
    """Counts all days again, after facts about some commits have changed."""
    TableDay.objects.filter(table=table, incarnation=table.incarnation).delete()
    recount(table, 0)


def recount(table: Table, first: int) -> None:
    """Counts the days again on which the commits from version `first` on were made. One statement."""
    values: dict[str, Any] = {"table": table.pk, "incarnation": table.incarnation, "first": first}
    with connection.cursor() as cursor:
        cursor.execute(_RECOUNT, values)
