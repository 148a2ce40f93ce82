"""What the commits of each day were, and by how much they grew and shrank tables; sums for whole roots; commits by their time."""

from typing import ClassVar

from django.db import migrations, models

# The history that is there already, by day, as tables/record/daily_totals.py counts it.
COUNTED = """
delete from tables_tableday;
insert into tables_tableday (
    table_id, incarnation, day, commits, bytes_grown, rows_grown, appends, changes, removals, upkeeps,
    rows_in, rows_out, bytes_in, bytes_out, untold)
select table_id, incarnation, day, count(*),
       case when count(bytes_added) = count(*) and count(bytes_removed) = count(*)
             and abs(sum(bytes_added::numeric - bytes_removed)) < 9223372036854775807
            then sum(bytes_added::numeric - bytes_removed) end,
       case when count(rows_changed) = count(*) and abs(sum(rows_changed)) < 9223372036854775807 then sum(rows_changed) end,
       count(*) filter (where kind = 'append'), count(*) filter (where kind = 'change'),
       count(*) filter (where kind = 'removal'), count(*) filter (where kind = 'upkeep'),
       least(sum(greatest(rows_changed, 0)), 9223372036854775807),
       least(sum(greatest(-rows_changed::numeric, 0)), 9223372036854775807),
       least(sum(greatest(bytes_added::numeric - bytes_removed, 0)), 9223372036854775807),
       least(sum(greatest(bytes_removed::numeric - bytes_added, 0)), 9223372036854775807),
       count(*) filter (where rows_changed is null or bytes_added is null or bytes_removed is null)
from (
    select *, (committed_at at time zone 'UTC')::date as day, case
        when operation in ('DELETE', 'TRUNCATE', 'DROP PARTITION') then 'removal'
        when operation in ('MERGE', 'UPDATE', 'RESTORE', 'CREATE OR REPLACE TABLE', 'CREATE OR REPLACE TABLE AS SELECT', 'REPLACE TABLE',
            'REPLACE TABLE AS SELECT') then 'change'
        when operation in ('OPTIMIZE', 'REORG', 'VACUUM START', 'VACUUM END', 'COMPUTE STATS', 'FSCK') then 'upkeep'
        when operation not in ('WRITE', 'STREAMING UPDATE', 'COPY INTO', 'CREATE TABLE AS SELECT', 'CLONE', 'CONVERT') then 'other'
        when version > 0 and (operation_parameters->>'mode' = 'Overwrite' or operation_parameters->>'outputMode' = 'Complete')
            then 'change'
        else 'append' end as kind
    from tables_commit where committed_at is not null
) made
group by 1, 2, 3
"""


def count() -> models.BigIntegerField:  # type: ignore[type-arg]
    return models.BigIntegerField(db_default=0)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("tables", "0020_object_stores")]
    operations: ClassVar = [
        migrations.AddField("root", "days", models.JSONField(null=True)),
        migrations.AddField("root", "days_at", models.DateTimeField(null=True)),
        migrations.AddField("tableday", "appends", count()),
        migrations.AddField("tableday", "changes", count()),
        migrations.AddField("tableday", "removals", count()),
        migrations.AddField("tableday", "upkeeps", count()),
        migrations.AddField("tableday", "rows_in", count()),
        migrations.AddField("tableday", "rows_out", count()),
        migrations.AddField("tableday", "bytes_in", count()),
        migrations.AddField("tableday", "bytes_out", count()),
        migrations.AddField("tableday", "untold", count()),
        migrations.AddIndex(
            "commit",
            models.Index(fields=["-committed_at", "table", "incarnation", "-version"], name="commit_by_moment"),
        ),
        migrations.AddIndex("tableday", models.Index(fields=["day", "table"], name="day_of_tables")),
        migrations.RunSQL(COUNTED, migrations.RunSQL.noop),
    ]
