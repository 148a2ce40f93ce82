"""The chain of events, its signed heads, what the pages search by, and the result of the last verification.

Every insert of an event leaves a row in `pending` in the same transaction; sealing takes pending rows away and links them, so that
an event whose transaction commits late is sealed late and never missed. Only the owner's function seals.
"""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now

CREATE = """
set local role levee_audit;

alter table audit.event add column table_id uuid;

-- The hash of a row as it is stored, under TimeZone UTC. Rows from before `table_id` have none, and hash as they did then.
create function audit.row_hash(e audit.event) returns text language sql stable as $$
    select encode(sha256(convert_to((case when e.table_id is null then to_jsonb(e) - 'hash' - 'table_id' else to_jsonb(e) - 'hash' end)::text, 'UTF8')), 'hex')
$$;

-- Which table an event is about is asked of the job where the act doesn't say it: no act can forget it.
create or replace function audit.seal_row() returns trigger language plpgsql set timezone to 'UTC' as $$
begin
    if new.table_id is null and new.object_kind = 'table' and new.object_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
        new.table_id := new.object_id::uuid;
    elsif new.table_id is null and new.job is not null then
        select j.table_id into new.table_id from public.jobs_job j where j.id = new.job;
    end if;
    new.at := clock_timestamp();
    new.hash := '';
    new.hash := audit.row_hash(new);
    return new;
end $$;

create table audit.pending (
    position bigint generated always as identity primary key,
    event uuid not null
);
insert into audit.pending (event) select id from audit.event order by at, id;

create function audit.await_seal() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
begin
    insert into audit.pending (event) values (new.id);
    return null;
end $$;
create trigger await_seal after insert on audit.event for each row execute function audit.await_seal();
alter table audit.event enable always trigger await_seal;

create table audit.seal (
    sequence bigint primary key,
    event uuid not null unique,
    previous varchar(64) not null,
    hash varchar(64) not null,
    sealed_at timestamptz not null default clock_timestamp()
);

create function audit.link_hash(sequence bigint, previous text, event uuid, event_hash text) returns text language sql immutable as $$
    select encode(sha256(convert_to(sequence || ':' || previous || ':' || event || ':' || event_hash, 'UTF8')), 'hex')
$$;

-- Links at most that many committed events to the chain's end; how many it linked. One sealer at a time, others do nothing.
create function audit.seal_events(most integer) returns integer language plpgsql security definer set search_path = pg_catalog as $$
declare
    next record;
    reached bigint;
    previous text;
    linked text;
    did integer := 0;
begin
    if not pg_try_advisory_xact_lock(1818584691, 1) then
        return 0;
    end if;
    select s.sequence, s.hash into reached, previous from audit.seal s order by s.sequence desc limit 1;
    reached := coalesce(reached, 0);
    previous := coalesce(previous, repeat('0', 64));
    for next in
        with taken as (
            delete from audit.pending where position in (select p.position from audit.pending p order by p.position limit most)
            returning position, event
        )
        select t.event, coalesce(e.hash, '') as hash from taken t left join audit.event e on e.id = t.event order by t.position
    loop
        reached := reached + 1;
        linked := audit.link_hash(reached, previous, next.event, next.hash);
        insert into audit.seal (sequence, event, previous, hash) values (reached, next.event, previous, linked);
        previous := linked;
        did := did + 1;
    end loop;
    return did;
end $$;
revoke execute on function audit.seal_events(integer) from public;

create table audit.head (
    sequence bigint primary key,
    hash varchar(64) not null,
    signed_at timestamptz not null,
    key varchar(64) not null,
    signature varchar(128) not null
);

create trigger refuse_change before update or delete on audit.seal for each row execute function audit.refuse();
create trigger refuse_truncate before truncate on audit.seal for each statement execute function audit.refuse();
create trigger refuse_change before update or delete on audit.head for each row execute function audit.refuse();
create trigger refuse_truncate before truncate on audit.head for each statement execute function audit.refuse();
alter table audit.seal enable always trigger refuse_change;
alter table audit.seal enable always trigger refuse_truncate;
alter table audit.head enable always trigger refuse_change;
alter table audit.head enable always trigger refuse_truncate;

drop index audit.event_object;
drop index audit.event_actor;
drop index audit.event_job;
create index event_actor on audit.event (actor_id, at desc, id desc);
create index event_actor_name on audit.event (actor_name, at desc, id desc);
create index event_action on audit.event (action, at desc, id desc);
create index event_outcome on audit.event (outcome, at desc, id desc);
create index event_object on audit.event (object_id, at desc, id desc);
create index event_object_name on audit.event (object_name, at desc, id desc);
create index event_job on audit.event (job, at desc, id desc) where job is not null;
create index event_table on audit.event (table_id, at desc, id desc) where table_id is not null;
create index event_reason on audit.event using gin (to_tsvector('simple', reason)) where reason <> '';

grant select on audit.pending, audit.seal to levee_app;
grant select, insert on audit.head to levee_app;
grant execute on function audit.seal_events(integer) to levee_app;

reset role;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0001_event"), ("jobs", "0001_initial")]
    operations: ClassVar = [
        migrations.RunSQL(CREATE, migrations.RunSQL.noop),
        migrations.CreateModel(
            name="Seal",
            fields=[
                ("sequence", models.BigIntegerField(primary_key=True, serialize=False)),
                (
                    "event",
                    models.OneToOneField(
                        db_column="event",
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="seal",
                        to="audit.event",
                    ),
                ),
            ],
            options={"db_table": '"audit"."seal"', "managed": False, "ordering": ["sequence"]},
        ),
        migrations.CreateModel(
            name="Head",
            fields=[("sequence", models.BigIntegerField(primary_key=True, serialize=False))],
            options={"db_table": '"audit"."head"', "managed": False, "ordering": ["sequence"]},
        ),
        migrations.CreateModel(
            name="Verification",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("started_at", models.DateTimeField(db_default=Now())),
                ("finished_at", models.DateTimeField(null=True)),
                ("asked_by", models.CharField(max_length=64)),
                ("first", models.BigIntegerField(default=0)),
                ("last", models.BigIntegerField(default=0)),
                ("hash", models.CharField(max_length=64)),
                ("checked", models.BigIntegerField(default=0)),
                ("seconds", models.FloatField(default=0)),
                ("problems", models.JSONField(default=list)),
                ("problem_count", models.BigIntegerField(default=0)),
            ],
            options={"ordering": ["-id"]},
        ),
    ]
