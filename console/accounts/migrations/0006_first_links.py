"""Links with which a person who was added sets their first password; and who has dismissed the guided first story."""

import uuid
from typing import Any, ClassVar

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

# Somebody else's link for a person would be that person's account: an admin could approve as them. So only who added them makes one,
# as long as they have no password of their own and nobody has vouched for them on the machine. A word on the machine in turn waits until no
# link is open and the person has replaced the password that they were given: until then they may be whoever added them. Both
# lock the person, so that neither misses the other.
CREATE = """
create function accounts_check_first_link() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        perform from accounts_person where id = new.person_id for no key update;
        if new.ended_at is not null or new.expires_at > clock_timestamp() + interval '73 hours' or not exists (
            select from accounts_person p where p.id = new.person_id and p.created_by_id = new.made_by_id
            and p.password like '!%') or exists (
            select from accounts_appointment a where a.person_id = new.person_id and a.vouched_at is not null) then
            raise exception 'a first link is made by who added the person, before they have a password'
                using errcode = '23514', constraint = 'first_link_by_maker';
        end if;
        return new;
    end if;
    if tg_op = 'DELETE' or old.ended_at is not null or new.ended_at is null
       or (to_jsonb(old) - 'ended_at') <> (to_jsonb(new) - 'ended_at') then
        raise exception 'first links are never rewritten' using errcode = '42501';
    end if;
    new.ended_at := clock_timestamp();
    return new;
end $$;

create trigger first_link_checked before insert or update or delete on accounts_firstlink
    for each row execute function accounts_check_first_link();

create function accounts_check_word() returns trigger language plpgsql as $$
begin
    perform from accounts_person where id = new.person_id for no key update;
    if exists (select from accounts_firstlink l
               where l.person_id = new.person_id and l.ended_at is null and l.expires_at > clock_timestamp())
       or exists (select from accounts_person p where p.id = new.person_id and p.must_change_password) then
        raise exception 'nobody vouches for a person who has to set a password first'
            using errcode = '23514', constraint = 'vouched_for_after_password';
    end if;
    return new;
end $$;

create trigger appointment_word_checked before update on accounts_appointment
    for each row execute function accounts_check_word();
"""

DROP = """
drop trigger appointment_word_checked on accounts_appointment;
drop function accounts_check_word();
drop trigger first_link_checked on accounts_firstlink;
drop function accounts_check_first_link();
"""


def to_person(name: str) -> Any:
    on_delete = django.db.models.deletion.PROTECT
    return models.ForeignKey(on_delete=on_delete, related_name=name, to=settings.AUTH_USER_MODEL)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("accounts", "0005_notices")]
    operations: ClassVar = [
        migrations.AddField("person", "story_dismissed_at", models.DateTimeField(null=True, blank=True)),
        migrations.CreateModel(
            name="FirstLink",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("secret_sha256", models.CharField(max_length=64, unique=True)),
                ("made_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("made_by", to_person("+")),
                ("person", to_person("first_links")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=["person"],
                        condition=models.Q(("ended_at", None)),
                        name="first_link_one_open_per_person",
                    )
                ],
            },
        ),
        migrations.RunSQL(CREATE, DROP),
    ]
