"""Rules that forbid: a table or root that no job may change, or none of one command. The database says which rule protects a place, lets no
job of it begin, and lets no such rule end but as a rule is lowered."""

from typing import ClassVar

from django.db import migrations, models

CREATE = """
-- The rules that protect a place and what lies below it. A rule that was lifted within 7 days still holds for whoever lifted it, and for
-- people who aren't independent of them (approvals, rule 6).
create function jobs_protecting(place text, asker uuid) returns setof jobs_policyrule language sql stable as $$
    select r.*
    from jobs_policyrule r
    left join tables_table t on t.id = r.table_id
    left join tables_root o on o.id = r.root_id
    where r.forbids
      and (r.scope = 'everything' or place = coalesce(t.path, o.uri)
           or starts_with(place, rtrim(coalesce(t.path, o.uri), '/') || '/'))
      and (r.enabled and r.removed_at is null or exists (
          select from jobs_policychange c cross join unnest(array[c.asked_by_id, c.confirmed_by_id]) person
          where c.rule_id = r.id and c.applied_at > clock_timestamp() - interval '7 days'
            and person is not null and not accounts_independent(asker, person)))
$$;

-- The rule that forbids a job of this kind there; the widest first. A job that takes rows from another table is forbidden by a rule on
-- that one only if the rule names its command: reading changes nothing there.
create function jobs_protection(kind text, place text, preview jsonb, asker uuid) returns uuid language sql stable as $$
    select id from (
        select r.* from jobs_protecting(place, asker) r where r.command in (kind, 'any')
        union
        select r.* from tables_table s cross join jobs_protecting(s.path, asker) r
        where s.id = (preview->'reads'->>'table')::uuid and r.command = kind
    ) found order by command <> 'any', name, id limit 1
$$;

create function jobs_check_protection() returns trigger language plpgsql as $$
begin
    if new.state = 'running' and old.state <> 'running'
       and jobs_protection(new.command, new.location, new.preview, new.requested_by_id) is not null then
        raise exception 'a rule protects what job % would change', new.id using errcode = '23514', constraint = 'job_protected';
    end if;
    return new;
end $$;

create trigger job_protected before update of state on jobs_job for each row execute function jobs_check_protection();

create function jobs_check_forbidding_rule() returns trigger language plpgsql as $$
begin
    if new.forbids <> old.forbids then
        raise exception 'a rule that forbids stays one, and no other becomes one' using errcode = '42501';
    end if;
    if not old.forbids or not old.enabled or old.removed_at is not null or (new.enabled and new.removed_at is null) then
        return new;
    end if;
    if new.version <> old.version + 1 or not exists (
        select from jobs_policychange c
        where c.rule_id = old.id and c.rule_version = old.version and c.applied_at is not null
          and c.removes = (new.removed_at is not null) and (c.removes or not (c.after->>'enabled')::boolean)
    ) then
        raise exception 'nobody lifts a protection alone' using errcode = '23514', constraint = 'policy_rule_lifted';
    end if;
    return new;
end $$;

create trigger policy_rule_lifted before update on jobs_policyrule for each row execute function jobs_check_forbidding_rule();
"""

DROP = """
drop trigger policy_rule_lifted on jobs_policyrule;
drop function jobs_check_forbidding_rule();
drop trigger job_protected on jobs_job;
drop function jobs_check_protection();
drop function jobs_protection(text, text, jsonb, uuid);
drop function jobs_protecting(text, uuid);
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0023_stream_lags_without_oldest")]
    operations: ClassVar = [
        migrations.AddField(model_name="policyrule", name="forbids", field=models.BooleanField(default=False)),
        migrations.AddConstraint(
            model_name="policyrule",
            constraint=models.CheckConstraint(
                name="policy_rule_forbids",
                condition=models.Q(forbids=False) & ~models.Q(command="any")
                | models.Q(forbids=True, required_approvals=0, table_class="", min_share=None, refuses_tokens=False),
            ),
        ),
        migrations.RunSQL(CREATE, DROP),
    ]
