"""Programs that wait to be signed in by somebody's word in a browser."""

import uuid
from typing import ClassVar

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

# One decision, in time, by which nothing else changes; the token that it makes is the deciding person's, with the secret and no more than
# the scopes that were asked for. What still waits isn't deleted.
CREATE = """
create function accounts_check_sign_in() returns trigger language plpgsql as $$
declare
    decision text[] := array['decided_at', 'decided_by_id', 'token_id'];
begin
    if tg_op = 'INSERT' then
        if new.decided_at is not null or new.expires_at > clock_timestamp() + interval '11 minutes' then
            raise exception 'a sign-in begins undecided and waits for minutes'
                using errcode = '23514', constraint = 'sign_in_begins_undecided';
        end if;
        return new;
    end if;
    if tg_op = 'DELETE' then
        if old.expires_at > clock_timestamp() then
            raise exception 'a sign-in is kept until it has expired' using errcode = '42501';
        end if;
        return old;
    end if;
    if old.decided_at is not null or new.decided_at is null or old.expires_at <= clock_timestamp()
       or (to_jsonb(old) - decision) <> (to_jsonb(new) - decision) then
        raise exception 'a sign-in is decided once, in time' using errcode = '42501';
    end if;
    if new.token_id is not null and not exists (
        select from accounts_token t where t.id = new.token_id and t.person_id = new.decided_by_id
        and t.prefix = old.prefix and t.secret_sha256 = old.secret_sha256 and t.scopes <@ old.scopes) then
        raise exception 'the token of a sign-in is its own' using errcode = '23514', constraint = 'sign_in_token_is_its_own';
    end if;
    return new;
end $$;

create trigger sign_in_checked before insert or update or delete on accounts_signinrequest
    for each row execute function accounts_check_sign_in();
"""

DROP = """
drop trigger sign_in_checked on accounts_signinrequest;
drop function accounts_check_sign_in();
"""
PROTECT = django.db.models.deletion.PROTECT


class Migration(migrations.Migration):
    dependencies: ClassVar = [("accounts", "0009_plans_of_independence")]
    operations: ClassVar = [
        migrations.CreateModel(
            name="SignInRequest",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("code_hmac", models.CharField(max_length=64, unique=True)),
                ("machine", models.CharField(max_length=100)),
                ("address", models.CharField(max_length=64)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10), size=None),
                ),
                ("prefix", models.CharField(max_length=12, unique=True)),
                ("secret_sha256", models.CharField(max_length=64)),
                ("requested_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(null=True)),
                (
                    "decided_by",
                    models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
                ("token", models.OneToOneField(null=True, on_delete=PROTECT, related_name="+", to="accounts.token")),
            ],
            options={
                "indexes": [models.Index(fields=["expires_at"], name="sign_in_age")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("decided_at", None), ("decided_by", None), ("token", None))
                        | models.Q(("decided_at__isnull", False), ("decided_by__isnull", False)),
                        name="sign_in_decided_by_somebody",
                    )
                ],
            },
        ),
        migrations.RunSQL(CREATE, DROP),
    ]
