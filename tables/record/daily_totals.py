"""A table's history by day, counted when commits are kept: a drawing of years reads a row per day, not every commit."""

from __future__ import annotations

from typing import Any

from django.db import connection

from tables.models import Table, TableDay
from tables.rules.commit_kinds import KIND_SQL

_MOST = 9223372036854775807  # of a bigint
_FIGURES = f"""count(*),
       case when count(bytes_added) = count(*) and count(bytes_removed) = count(*)
             and abs(sum(bytes_added::numeric - bytes_removed)) < {_MOST}
            then sum(bytes_added::numeric - bytes_removed) end,
       case when count(rows_changed) = count(*) and abs(sum(rows_changed)) < {_MOST} then sum(rows_changed) end,
       count(*) filter (where kind = 'append'), count(*) filter (where kind = 'change'),
       count(*) filter (where kind = 'removal'), count(*) filter (where kind = 'upkeep'),
       least(sum(greatest(rows_changed, 0)), {_MOST}), least(sum(greatest(-rows_changed::numeric, 0)), {_MOST}),
       least(sum(greatest(bytes_added::numeric - bytes_removed, 0)), {_MOST}),
       least(sum(greatest(bytes_removed::numeric - bytes_added, 0)), {_MOST}),
       count(*) filter (where rows_changed is null or bytes_added is null or bytes_removed is null)"""  # nosec B608
_COLUMNS = (
    "commits", "bytes_grown", "rows_grown", "appends", "changes", "removals", "upkeeps",
    "rows_in", "rows_out", "bytes_in", "bytes_out", "untold",
)  # fmt: skip
# Unknown for a day is what any of its commits doesn't tell, or what no bigint holds. Days are UTC's.
_RECOUNT = f"""
insert into tables_tableday (table_id, incarnation, day, {", ".join(_COLUMNS)})
select table_id, incarnation, day, {_FIGURES}
from (
    select *, (committed_at at time zone 'UTC')::date as day, {KIND_SQL} as kind
    from tables_commit
    where table_id = %(table)s and incarnation = %(incarnation)s and committed_at >= (
        select date_trunc('day', min(committed_at) at time zone 'UTC') at time zone 'UTC'
        from tables_commit
        where table_id = %(table)s and incarnation = %(incarnation)s and version >= %(first)s)
) made
group by 1, 2, 3
on conflict (table_id, incarnation, day) do update
set {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)}
"""  # noqa: S608  # nosec B608 - constants of this file and of commit_kinds


def count_anew(table: Table) -> None:
    """Counts all days again, after facts about some commits have changed."""
    TableDay.objects.filter(table=table, incarnation=table.incarnation).delete()
    recount(table, 0)


def recount(table: Table, first: int) -> None:
    """Counts the days again on which the commits from version `first` on were made. One statement."""
    values: dict[str, Any] = {"table": table.pk, "incarnation": table.incarnation, "first": first}
    with connection.cursor() as cursor:
        cursor.execute(_RECOUNT, values)
