"""When a table was and will be read moves out of its wide row: a sync that finds nothing new writes a small one."""

import django.db.models.deletion
from django.db import migrations, models

FILL = """
insert into tables_synctimes (table_id, synced_at, next_sync_at, quiet_syncs)
select id, synced_at, next_sync_at, quiet_syncs from tables_table;

create function tables_begin_sync_times() returns trigger language plpgsql as $$
begin
    insert into tables_synctimes (table_id, quiet_syncs) values (new.id, 0);
    return null;
end $$;
create trigger table_has_sync_times after insert on tables_table
    for each row execute function tables_begin_sync_times();
"""
RETURN = """
drop trigger table_has_sync_times on tables_table;
drop function tables_begin_sync_times();
update tables_table t set synced_at = s.synced_at, next_sync_at = s.next_sync_at, quiet_syncs = s.quiet_syncs
from tables_synctimes s where s.table_id = t.id;
set constraints all immediate;
"""


class Migration(migrations.Migration):
    dependencies = [("tables", "0016_destruction")]

    operations = [
        migrations.CreateModel(
            name="SyncTimes",
            fields=[
                (
                    "table",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="times",
                        serialize=False,
                        to="tables.table",
                    ),
                ),
                ("synced_at", models.DateTimeField(null=True)),
                ("next_sync_at", models.DateTimeField(null=True)),
                ("quiet_syncs", models.PositiveIntegerField(default=0)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("next_sync_at__isnull", False)), fields=["next_sync_at"], name="sync_due"
                    ),
                    models.Index(fields=["synced_at"], name="sync_by_time"),
                ],
            },
        ),
        migrations.RunSQL(FILL, RETURN),
        migrations.RunSQL("set constraints all immediate", migrations.RunSQL.noop),
        migrations.RemoveIndex(model_name="table", name="table_due"),
        migrations.RemoveIndex(model_name="table", name="table_by_sync"),
        migrations.RemoveField(model_name="table", name="synced_at"),
        migrations.RemoveField(model_name="table", name="next_sync_at"),
        migrations.RemoveField(model_name="table", name="quiet_syncs"),
    ]
