"""Who has appointed whom: written by triggers, never removed, and asked by two functions of the database.

`accounts_line(person)` is everybody who stands above a person: who added them, who made them an admin, and so on upwards, whenever it
was. What was done on the machine itself has nobody above it, and what was vouched for there neither. Two people are independent when
nobody stands above both.
"""

from typing import ClassVar

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

# The audit knows the admins who were made once and are none now; its table is read by a function of its owner.
PAST = """
set local role levee_audit;
create function audit.appointed() returns table (person text, by_id uuid, action varchar, role text, at timestamptz)
    language sql stable security definer set search_path = pg_catalog as $$
    select e.object_id, e.actor_id, e.action, e.after->>'role', e.at from audit.event e
    where e.action in ('person.add', 'grant.add') and e.outcome = 'allowed' and e.actor_id is not null
$$;
grant execute on function audit.appointed() to levee_migrate;
reset role;

insert into accounts_appointment (person_id, by_id, role, at)
select p.id, coalesce(p.created_by_id, made.by_id), '', p.created_at
from accounts_person p
left join lateral (
    select a.by_id from audit.appointed() a
    where a.action = 'person.add' and a.person = p.id::text and exists (select from accounts_person b where b.id = a.by_id)
    order by a.at limit 1
) made on true;

insert into accounts_appointment (person_id, by_id, role, grant_id, at)
select person_id, granted_by_id, role, id, granted_at from accounts_grant;

insert into accounts_appointment (person_id, by_id, role, at)
select distinct on (p.id, a.by_id) p.id, a.by_id, 'admin', a.at
from audit.appointed() a join accounts_person p on p.id::text = a.person join accounts_person b on b.id = a.by_id
where a.action = 'grant.add' and a.role = 'admin'
  and not exists (select from accounts_appointment k where k.person_id = p.id and k.by_id = a.by_id and k.role = 'admin')
order by p.id, a.by_id, a.at;

set local role levee_audit;
drop function audit.appointed();
reset role;
set constraints all immediate;  -- the triggers below are made on tables without pending checks
"""

RULES = """
create function accounts_note_person() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    insert into accounts_appointment (person_id, by_id, role, at) values (new.id, new.created_by_id, '', clock_timestamp());
    return null;
end $$;
create trigger person_noted after insert on accounts_person for each row execute function accounts_note_person();

create function accounts_note_grant() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    insert into accounts_appointment (person_id, by_id, role, grant_id, at)
    values (new.person_id, new.granted_by_id, new.role, new.id, clock_timestamp());
    return null;
end $$;
create trigger grant_noted after insert on accounts_grant for each row execute function accounts_note_grant();

create function accounts_keep_maker() returns trigger language plpgsql as $$
begin
    raise exception 'who added a person or gave a role is never rewritten' using errcode = '42501';
end $$;
create trigger person_maker_kept before update on accounts_person for each row
    when (old.created_by_id is distinct from new.created_by_id) execute function accounts_keep_maker();
create trigger grant_kept before update on accounts_grant for each row execute function accounts_keep_maker();

create function accounts_keep_appointment() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' and old.vouched_at is null and new.vouched_at is not null
       and (to_jsonb(old) - 'vouched_at') = (to_jsonb(new) - 'vouched_at') then
        return new;
    end if;
    raise exception 'appointments are never changed or removed' using errcode = '42501';
end $$;
create trigger appointment_kept before update or delete on accounts_appointment
    for each row execute function accounts_keep_appointment();
revoke insert, delete on accounts_appointment from levee_app;

-- A person and everybody who stands above them.
create function accounts_line(who uuid) returns setof uuid language sql stable as $$
    with recursive line(id) as (
        select who
        union
        select a.by_id from line join accounts_appointment a on a.person_id = line.id
        where a.by_id is not null and a.vouched_at is null and a.role in ('', 'admin')
    )
    select id from line
$$;

create function accounts_independent(one uuid, other uuid) returns boolean language sql stable as $$
    select not exists (select accounts_line(one) intersect select accounts_line(other))
$$;

-- Whether one person may judge what another one asks for: independent, with a role there that nobody of the other's line gave.
create function accounts_may_judge(judge uuid, author uuid, wanted varchar, on_root uuid, on_table uuid)
    returns boolean language sql stable as $$
    select accounts_independent(judge, author) and exists (
        select from accounts_grant g join accounts_appointment a on a.grant_id = g.id
        where g.person_id = judge and g.role = wanted and (g.scope = 'everything' or g.root_id = on_root or g.table_id = on_table)
          and (a.by_id is null or a.vouched_at is not null or accounts_independent(a.by_id, author)))
$$;
"""

UNDO = """
drop function accounts_may_judge(uuid, uuid, varchar, uuid, uuid);
drop function accounts_independent(uuid, uuid);
drop function accounts_line(uuid);
drop trigger appointment_kept on accounts_appointment;
drop function accounts_keep_appointment();
drop trigger grant_kept on accounts_grant;
drop trigger person_maker_kept on accounts_person;
drop function accounts_keep_maker();
drop trigger grant_noted on accounts_grant;
drop function accounts_note_grant();
drop trigger person_noted on accounts_person;
drop function accounts_note_person();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("accounts", "0003_access_and_attempts"), ("audit", "0001_event")]
    operations: ClassVar = [
        migrations.CreateModel(
            name="Appointment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("role", models.CharField(blank=True, default="", max_length=10)),
                ("grant_id", models.UUIDField(null=True)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("vouched_at", models.DateTimeField(null=True)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="appointments",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(fields=["person"], name="appointment_person"),
                    models.Index(fields=["grant_id"], name="appointment_grant"),
                ],
            },
        ),
        migrations.RunSQL(PAST, migrations.RunSQL.noop),
        migrations.RunSQL(RULES, UNDO),
    ]
