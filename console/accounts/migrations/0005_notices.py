"""What touches who guards what, until somebody has seen it who neither did it nor gained by it."""

import uuid
from typing import Any, ClassVar

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

CREATE = """
create function accounts_check_notice() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        if new.acknowledged_at is not null or new.acknowledged_by_id is not null then
            raise exception 'a notice begins as one that nobody has seen' using errcode = '23514', constraint = 'notice_begins';
        end if;
        return new;
    end if;
    if tg_op = 'DELETE' or old.acknowledged_at is not null or new.acknowledged_by_id is null
       or (to_jsonb(old) - 'acknowledged_at' - 'acknowledged_by_id') <> (to_jsonb(new) - 'acknowledged_at' - 'acknowledged_by_id') then
        raise exception 'notices are never rewritten' using errcode = '42501';
    end if;
    if new.acknowledged_by_id = new.about_id
       or (new.by_id is not null and not accounts_independent(new.acknowledged_by_id, new.by_id)) then
        raise exception 'a notice is acknowledged by one of the others' using errcode = '23514', constraint = 'notice_by_others';
    end if;
    new.acknowledged_at := clock_timestamp();
    return new;
end $$;

create trigger notice_checked before insert or update or delete on accounts_notice
    for each row execute function accounts_check_notice();
"""

DROP = """
drop trigger notice_checked on accounts_notice;
drop function accounts_check_notice();
"""


def to(model: str) -> Any:
    return models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=model)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("accounts", "0004_appointments"), ("tables", "0015_names_by_root")]
    operations: ClassVar = [
        migrations.CreateModel(
            name="Notice",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("event", models.UUIDField()),
                ("text", models.TextField()),
                ("acknowledged_at", models.DateTimeField(null=True)),
                ("about", to(settings.AUTH_USER_MODEL)),
                ("acknowledged_by", to(settings.AUTH_USER_MODEL)),
                ("by", to(settings.AUTH_USER_MODEL)),
                ("root", to("tables.root")),
                ("table", to("tables.table")),
            ],
            options={
                "ordering": ["-at"],
                "indexes": [
                    models.Index(condition=models.Q(("acknowledged_at", None)), fields=["-at"], name="notice_open")
                ],
            },
        ),
        migrations.RunSQL(CREATE, DROP),
    ]
