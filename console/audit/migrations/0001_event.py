"""The event table belongs to levee_audit, a role that nobody logs in with: the application may insert and select, triggers
refuse the rest and set the time and the row's own hash."""

import uuid
from typing import ClassVar

from django.db import migrations, models

CREATE = """
set local role levee_audit;

create table audit.event (
    id uuid primary key,
    at timestamptz not null default now(),
    actor_kind varchar(6) not null check (actor_kind in ('person', 'token', 'system')),
    actor_id uuid,
    actor_name varchar(64) not null,
    token_id uuid,
    session varchar(64) not null default '',
    address varchar(64) not null default '',
    action varchar(40) not null check (action ~ '^[a-z]+[.][a-z_]+$'),
    object_kind varchar(10) not null,
    object_id text not null,
    object_name text not null,
    outcome varchar(7) not null check (outcome in ('allowed', 'refused', 'failed')),
    reason text not null default '',
    before jsonb,
    after jsonb,
    job uuid,
    digest varchar(64),
    table_version bigint,
    request_id varchar(64) not null default '',
    hash varchar(64) not null default '',
    check ((actor_kind = 'system') = (actor_id is null)),
    check ((actor_kind = 'token') = (token_id is not null))
);
create index event_at on audit.event (at desc, id desc);
create index event_object on audit.event (object_kind, object_id, at desc);
create index event_actor on audit.event (actor_id, at desc);
create index event_job on audit.event (job, at desc) where job is not null;

create function audit.refuse() returns trigger language plpgsql as $$
begin
    raise exception 'audit events are never changed or removed' using errcode = '42501';
end $$;

create function audit.seal_row() returns trigger language plpgsql set timezone to 'UTC' as $$
begin
    new.at := clock_timestamp();
    new.hash := '';
    new.hash := encode(sha256(convert_to((to_jsonb(new) - 'hash')::text, 'UTF8')), 'hex');
    return new;
end $$;

create trigger seal_row before insert on audit.event for each row execute function audit.seal_row();
create trigger refuse_change before update or delete on audit.event for each row execute function audit.refuse();
create trigger refuse_truncate before truncate on audit.event for each statement execute function audit.refuse();
alter table audit.event enable always trigger seal_row;
alter table audit.event enable always trigger refuse_change;
alter table audit.event enable always trigger refuse_truncate;
grant insert, select on audit.event to levee_app;

reset role;
"""


class Migration(migrations.Migration):
    initial = True
    dependencies: ClassVar = []
    operations: ClassVar = [
        migrations.CreateModel(
            name="Event",
            fields=[("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False))],
            options={"db_table": '"audit"."event"', "managed": False, "ordering": ["-at", "-id"]},
        ),
        migrations.RunSQL(CREATE, migrations.RunSQL.noop),
    ]
