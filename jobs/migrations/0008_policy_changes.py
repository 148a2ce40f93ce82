"""A rule is lowered, switched off or removed only by a change on record that a second, independent admin has confirmed, or that a
command on the machine has made; and no rule is ever deleted."""

import uuid
from typing import ClassVar

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

CREATE = """
create function jobs_check_policy_change() returns trigger language plpgsql as $$
declare
    place record;
begin
    if tg_op = 'INSERT' then
        if new.applied_at is not null or new.dropped_at is not null or new.confirmed_by_id is not null then
            raise exception 'a change of a rule begins as one that waits' using errcode = '23514', constraint = 'policy_change_begins';
        end if;
        return new;
    end if;
    if tg_op = 'DELETE' or old.applied_at is not null or old.dropped_at is not null
       or (to_jsonb(old) - 'applied_at' - 'dropped_at' - 'confirmed_by_id')
          <> (to_jsonb(new) - 'applied_at' - 'dropped_at' - 'confirmed_by_id') then
        raise exception 'changes of rules are never rewritten' using errcode = '42501';
    end if;
    if new.applied_at is null then
        return new;
    end if;
    if new.asked_by_id is not null and new.confirmed_by_id is not null then
        select coalesce(r.root_id, t.root_id) as root_id, r.table_id into place
        from jobs_policyrule r left join tables_table t on t.id = r.table_id where r.id = new.rule_id;
        if not accounts_may_judge(new.confirmed_by_id, new.asked_by_id, 'admin', place.root_id, place.table_id) then
            raise exception 'a rule is lowered by two independent admins' using errcode = '23514', constraint = 'policy_change_judged';
        end if;
    end if;
    new.applied_at := clock_timestamp();
    return new;
end $$;

create trigger policy_change_checked before insert or update or delete on jobs_policychange
    for each row execute function jobs_check_policy_change();

create function jobs_check_policy_rule() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        raise exception 'a rule is never deleted, only removed' using errcode = '42501';
    end if;
    if (new.command, new.scope) <> (old.command, old.scope) or new.root_id is distinct from old.root_id
       or new.table_id is distinct from old.table_id or (old.removed_at is not null and new.removed_at is null) then
        raise exception 'the command and the place of a rule never change' using errcode = '42501';
    end if;
    if not old.enabled or old.removed_at is not null or (old.required_approvals = 0 and not old.refuses_tokens) then
        return new;
    end if;
    if new.enabled and new.removed_at is null and new.required_approvals >= old.required_approvals
       and (new.refuses_tokens or not old.refuses_tokens) and new.table_class in ('', old.table_class)
       and coalesce(new.min_share, 0) <= coalesce(old.min_share, 0) then
        return new;
    end if;
    if new.version <> old.version + 1 or not exists (
        select from jobs_policychange c
        where c.rule_id = old.id and c.rule_version = old.version and c.applied_at is not null
          and c.removes = (new.removed_at is not null)
          and (c.removes or c.after = jsonb_build_object('name', new.name, 'required_approvals', new.required_approvals,
              'table_class', new.table_class, 'min_share', new.min_share, 'refuses_tokens', new.refuses_tokens, 'enabled', new.enabled))
    ) then
        raise exception 'nobody lowers a rule alone' using errcode = '23514', constraint = 'policy_rule_lowered';
    end if;
    return new;
end $$;

create trigger policy_rule_kept before update or delete on jobs_policyrule for each row execute function jobs_check_policy_rule();
"""

DROP = """
drop trigger policy_rule_kept on jobs_policyrule;
drop function jobs_check_policy_rule();
drop trigger policy_change_checked on jobs_policychange;
drop function jobs_check_policy_change();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("jobs", "0007_independent_approvals"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations: ClassVar = [
        migrations.CreateModel(
            name="PolicyChange",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("rule_version", models.IntegerField()),
                ("before", models.JSONField()),
                ("after", models.JSONField()),
                ("removes", models.BooleanField(default=False)),
                ("asked_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("applied_at", models.DateTimeField(null=True)),
                ("dropped_at", models.DateTimeField(null=True)),
                (
                    "asked_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "confirmed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "rule",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="changes", to="jobs.policyrule"
                    ),
                ),
            ],
            options={
                "ordering": ["-asked_at"],
                "indexes": [models.Index(fields=["applied_at"], name="policy_change_applied")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("applied_at", None), ("dropped_at", None)),
                        fields=("rule",),
                        name="policy_change_waiting",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("applied_at", None), ("dropped_at", None), _connector="OR"),
                        name="policy_change_once",
                    ),
                ],
            },
        ),
        migrations.RunSQL(CREATE, DROP),
    ]
