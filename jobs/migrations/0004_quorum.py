"""What the database itself holds of approvals: nobody decides on their own request, on a stale digest or twice, decisions are
never changed, and no job runs without its quorum. And the rules of policy that Levee ships with."""

from typing import Any, ClassVar

from django.db import migrations

CREATE = """
-- Approvals of a job's digest that count now: from people who still hold the role on its table, and whom its requester has neither
-- made nor given that role since the request. A rule that refuses tokens counts none that came by one.
create function jobs_approvals(asked uuid, asked_digest varchar) returns integer language sql stable as $$
    select count(distinct d.person_id)::integer
    from jobs_job j
    join tables_table t on t.id = j.table_id
    join jobs_decision d on d.job_id = j.id
    join accounts_person p on p.id = d.person_id
    where j.id = asked and d.digest = asked_digest and d.decision = 'approve' and d.voided_at is null
      and d.person_id <> j.requested_by_id and p.is_active
      and (d.token_id is null or not coalesce((j.policy->>'refuses_tokens')::boolean, false))
      and not exists (select 1 from jobs_edit e where e.job_id = j.id and e.person_id = d.person_id)
      and not coalesce(p.created_by_id = j.requested_by_id and p.created_at > j.requested_at, false)
      and exists (
          select 1 from accounts_grant g
          where g.person_id = p.id and g.role = coalesce(j.policy->>'role', 'approver')
            and (g.scope = 'everything' or g.root_id = t.root_id or g.table_id = t.id)
            and not coalesce(g.granted_by_id = j.requested_by_id and g.granted_at > j.requested_at, false))
$$;

create function jobs_check_quorum() returns trigger language plpgsql as $$
declare
    needed integer := coalesce((new.policy->>'required_approvals')::integer, 0);
begin
    if needed = 0 or old.state = new.state or new.state not in ('queued', 'running') then
        return new;
    end if;
    -- Given back or tried again: it was counted when it was claimed, and is again when it is claimed next.
    if new.state = 'queued' and old.state not in ('previewing', 'awaiting_approval') then
        return new;
    end if;
    if jobs_approvals(new.id, new.digest) < needed then
        raise exception 'job % lacks its quorum of %', new.id, needed using errcode = '23514', constraint = 'job_quorum';
    end if;
    return new;
end $$;

create trigger job_quorum before update of state on jobs_job for each row execute function jobs_check_quorum();

create function jobs_check_decision() returns trigger language plpgsql as $$
declare
    job jobs_job%rowtype;
begin
    select * into job from jobs_job where id = new.job_id for share;
    if job.requested_by_id = new.person_id
       or exists (select 1 from jobs_edit e where e.job_id = new.job_id and e.person_id = new.person_id) then
        raise exception 'nobody decides on their own request' using errcode = '23514', constraint = 'decision_not_own';
    end if;
    if job.digest is null or job.digest <> new.digest then
        raise exception 'the request has changed since' using errcode = '23514', constraint = 'decision_stale';
    end if;
    if not (job.state = 'awaiting_approval' or (job.state = 'queued' and new.decision = 'reject')) then
        raise exception 'a job that is % takes no such decision', job.state using errcode = '23514', constraint = 'decision_state';
    end if;
    if new.voided_at is not null then
        raise exception 'a decision begins valid' using errcode = '23514', constraint = 'decision_voided';
    end if;
    new.decided_at := clock_timestamp();
    return new;
end $$;

create trigger decision_allowed before insert on jobs_decision for each row execute function jobs_check_decision();

create function jobs_keep_decision() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' and old.voided_at is null and new.voided_at is not null
       and (to_jsonb(old) - 'voided_at') = (to_jsonb(new) - 'voided_at') then
        return new;
    end if;
    raise exception 'decisions are never changed or removed' using errcode = '42501';
end $$;

create trigger decision_kept before update or delete on jobs_decision for each row execute function jobs_keep_decision();
create trigger edit_kept before update or delete on jobs_edit for each row execute function jobs_keep_decision();
"""

DROP = """
drop trigger edit_kept on jobs_edit;
drop trigger decision_kept on jobs_decision;
drop function jobs_keep_decision();
drop trigger decision_allowed on jobs_decision;
drop function jobs_check_decision();
drop trigger job_quorum on jobs_job;
drop function jobs_check_quorum();
drop function jobs_approvals(uuid, varchar);
"""

SHIPPED = (
    {"name": "A convert writes only _delta_log", "command": "convert", "required_approvals": 0},
    {"name": "A delete is seen by a second person", "command": "delete", "required_approvals": 1},
    {"name": "A restore is seen by a second person", "command": "restore", "required_approvals": 1},
    {
        "name": "A whole table is seen by two", "command": "delete", "required_approvals": 2,
        "table_class": "whole_table", "enabled": False,
    },
)  # fmt: skip


def ship(apps: Any, schema_editor: Any) -> None:
    rules = apps.get_model("jobs", "PolicyRule")
    rules.objects.bulk_create(rules(**rule) for rule in SHIPPED)


def withdraw(apps: Any, schema_editor: Any) -> None:
    apps.get_model("jobs", "PolicyRule").objects.all().delete()


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0003_approvals"), ("accounts", "0002_grants_and_tokens")]
    operations: ClassVar = [migrations.RunSQL(CREATE, DROP), migrations.RunPython(ship, withdraw)]
