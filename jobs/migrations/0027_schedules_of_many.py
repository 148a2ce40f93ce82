"""Schedules for every table of a root or with a tag; their runs are planned when they are due, and opened one after the other."""

from importlib import import_module
from typing import ClassVar

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

RUNS_TABLES = """
set constraints all immediate;
update jobs_schedulerun r set table_id = s.table_id from jobs_schedule s where s.id = r.schedule_id;
"""

COVERS = """
-- Whether a schedule is for a table now. It keeps its plan, as those that count approvals do (0021).
create function jobs_schedule_covers(wanted uuid, on_table uuid) returns boolean language plpgsql stable as $$ begin return exists (
    select from jobs_schedule s cross join tables_table t
    where s.id = wanted and t.id = on_table
      and (t.id = s.table_id or t.root_id = s.root_id or (s.tag <> '' and t.tags @> array[s.tag]::varchar[])));
end $$;
"""

# As in 0021; a schedule for many tables is judged by those who hold the role on its whole root, for a tag on everything.
SCHEDULE_APPROVERS = """
select d.person_id
from jobs_schedule s
left join tables_table t on t.id = s.table_id
join jobs_scheduledecision d on d.schedule_id = s.id
join accounts_person p on p.id = d.person_id
where s.id = wanted and s.digest = wanted_digest and d.digest = wanted_digest and d.decision = 'approve' and d.voided_at is null
  and d.person_id <> s.run_by_id and not s.edited_by @> to_jsonb(d.person_id::text) and p.is_active
  and (d.token_id is null or not refuses_tokens)
  and jobs_may_judge_schedule(s.id, d.person_id, role, coalesce(t.root_id, s.root_id), t.id)
"""

# As in 0021; a run of a schedule for many tables is of one that it is for now, whatever that one is like.
APPROVALS = """
select count(distinct counted.person_id)::integer from (
    select d.person_id
    from jobs_job j
    join tables_table t on t.id = j.table_id
    join jobs_decision d on d.job_id = j.id
    join accounts_person p on p.id = d.person_id
    where j.id = asked and d.digest = asked_digest and d.decision = 'approve' and d.voided_at is null
      and d.person_id <> j.requested_by_id and p.is_active
      and (d.token_id is null or not coalesce((j.policy->>'refuses_tokens')::boolean, false))
      and not exists (select 1 from jobs_edit e where e.job_id = j.id and e.person_id = d.person_id)
      and accounts_may_judge(d.person_id, j.requested_by_id, coalesce(j.policy->>'role', 'approver'), t.root_id, t.id)
      and (j.schedule_id is null
           or jobs_may_judge_schedule(j.schedule_id, d.person_id, coalesce(j.policy->>'role', 'approver'), t.root_id, t.id))
    union
    select a.person_id
    from jobs_job j
    join jobs_schedule s on s.id = j.schedule_id
    join jobs_schedulerun r on r.job_id = j.id and r.schedule_id = s.id and r.table_id = j.table_id,
    jobs_schedule_approvers(
        s.id, r.digest, coalesce((j.policy->>'refuses_tokens')::boolean, false), coalesce(j.policy->>'role', 'approver')) a
    where j.id = jobs_approvals.asked and j.digest = jobs_approvals.asked_digest and j.revision = 1
      and s.state = 'active' and s.removed_at is null
      and j.requested_by_id = s.run_by_id and jobs_schedule_covers(s.id, j.table_id) and j.command = s.command
      and j.parameters_sha256 = r.parameters_sha256
      and coalesce(j.preview->>'class', 'ordinary') = s.table_class
      and (s.table_id is null or coalesce(j.preview->>'table_id', s.shape->>'table_id') = s.shape->>'table_id')
      and not exists (select 1 from jobs_edit e where e.job_id = j.id)
) counted
"""

# As in 0018; where a schedule runs is a part of its definition, and a planned run gets its job once, checked like that of one opened at once.
CHECKS = """
create or replace function jobs_check_schedule() returns trigger language plpgsql as $$
begin
    if new.digest = old.digest
       and (new.command, new.schema_version, new.parameters, new.table_id, new.root_id, new.tag, new.shape, new.table_class, new.cron,
            new.time_zone, new.window_minutes, new.max_bytes, new.max_minutes)
           is distinct from (old.command, old.schema_version, old.parameters, old.table_id, old.root_id, old.tag, old.shape,
            old.table_class, old.cron, old.time_zone, old.window_minutes, old.max_bytes, old.max_minutes) then
        raise exception 'a definition changes with its digest' using errcode = '23514', constraint = 'schedule_digest_follows';
    end if;
    if (new.digest <> old.digest or new.run_by_id <> old.run_by_id)
       and exists (select from jobs_scheduledecision d where d.schedule_id = new.id and d.digest = new.digest and d.voided_at is null) then
        raise exception 'a new definition has no approvals' using errcode = '23514', constraint = 'schedule_digest_new';
    end if;
    if not new.edited_by @> old.edited_by then
        raise exception 'who shaped a schedule is never forgotten' using errcode = '23514', constraint = 'schedule_authors_kept';
    end if;
    return new;
end $$;

create or replace function jobs_check_schedule_run() returns trigger language plpgsql as $$
declare
    opens boolean;
begin
    if tg_op = 'UPDATE' then
        opens := old.is_planned and not new.is_planned and old.job_id is null and new.job_id is not null
                 and old.outcome = '' and new.outcome = '';
        if new.schedule_id <> old.schedule_id or new.table_id <> old.table_id or new.digest <> old.digest
           or new.is_planned and not old.is_planned
           or old.is_planned and not new.is_planned and not opens
           or (not opens and (new.parameters_sha256 <> old.parameters_sha256
                              or (new.job_id is not null and new.job_id is distinct from old.job_id))) then
            raise exception 'what a schedule ran is never changed' using errcode = '42501';
        end if;
        if not opens then
            return new;
        end if;
    elsif new.table_id is null then  -- written by a part from before this migration
        new.table_id := (select s.table_id from jobs_schedule s where s.id = new.schedule_id);
    end if;
    if new.job_id is not null and not exists (
        select from jobs_job j join jobs_schedule s on s.id = j.schedule_id
        where j.id = new.job_id and s.id = new.schedule_id and s.digest = new.digest and s.state = 'active' and s.removed_at is null
          and j.state = 'previewing' and j.requested_by_id = s.run_by_id and j.table_id = new.table_id and j.command = s.command
          and j.schema_version = s.schema_version and j.parameters_sha256 = new.parameters_sha256
          and j.parameters->>'table' = case when s.table_id is null then new.table_id::text else s.parameters->>'table' end
          and jobs_schedule_covers(s.id, new.table_id)
          and j.parameters - '{predicate,path,tree,zorder_by,table}'::text[]
            = s.parameters - '{predicate,path,tree,zorder_by,table}'::text[]) then
        raise exception 'the job is no run of this schedule' using errcode = '23514', constraint = 'schedule_run_as_defined';
    end if;
    return new;
end $$;
"""

BEFORE = """
create or replace function jobs_check_schedule() returns trigger language plpgsql as $$
begin
    if new.digest = old.digest
       and (new.command, new.schema_version, new.parameters, new.table_id, new.shape, new.table_class, new.cron, new.time_zone,
            new.window_minutes, new.max_bytes, new.max_minutes)
           is distinct from (old.command, old.schema_version, old.parameters, old.table_id, old.shape, old.table_class, old.cron,
            old.time_zone, old.window_minutes, old.max_bytes, old.max_minutes) then
        raise exception 'a definition changes with its digest' using errcode = '23514', constraint = 'schedule_digest_follows';
    end if;
    if (new.digest <> old.digest or new.run_by_id <> old.run_by_id)
       and exists (select from jobs_scheduledecision d where d.schedule_id = new.id and d.digest = new.digest and d.voided_at is null) then
        raise exception 'a new definition has no approvals' using errcode = '23514', constraint = 'schedule_digest_new';
    end if;
    if not new.edited_by @> old.edited_by then
        raise exception 'who shaped a schedule is never forgotten' using errcode = '23514', constraint = 'schedule_authors_kept';
    end if;
    return new;
end $$;

create or replace function jobs_check_schedule_run() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' then
        if new.schedule_id <> old.schedule_id or new.digest <> old.digest or new.parameters_sha256 <> old.parameters_sha256
           or (new.job_id is not null and new.job_id is distinct from old.job_id) then
            raise exception 'what a schedule ran is never changed' using errcode = '42501';
        end if;
        return new;
    end if;
    if new.job_id is not null and not exists (
        select from jobs_job j join jobs_schedule s on s.id = j.schedule_id
        where j.id = new.job_id and s.id = new.schedule_id and s.digest = new.digest and s.state = 'active' and s.removed_at is null
          and j.state = 'previewing' and j.requested_by_id = s.run_by_id and j.table_id = s.table_id and j.command = s.command
          and j.schema_version = s.schema_version and j.parameters_sha256 = new.parameters_sha256
          and j.parameters - '{predicate,path,tree,zorder_by}'::text[] = s.parameters - '{predicate,path,tree,zorder_by}'::text[]) then
        raise exception 'the job is no run of this schedule' using errcode = '23514', constraint = 'schedule_run_as_defined';
    end if;
    return new;
end $$;
drop function jobs_schedule_covers(uuid, uuid);
"""

_plans = import_module("jobs.migrations.0021_plans_of_approvals")
COUNT = "\n".join(
    [
        f"create or replace function {_plans.APPROVERS_OF} language plpgsql stable as $$ begin return query {SCHEDULE_APPROVERS}; end $$;",
        "create or replace function jobs_approvals(asked uuid, asked_digest varchar) returns integer language plpgsql stable as $$"
        f" begin return ({APPROVALS}); end $$;",
    ]
)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0026_stream_damaged_lines"), ("tables", "0034_unreadable_properties")]
    operations: ClassVar = [
        migrations.AlterField(
            model_name="schedule",
            name="table",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="schedules", to="tables.table"
            ),
        ),
        migrations.AddField(
            model_name="schedule",
            name="root",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="schedules", to="tables.root"
            ),
        ),
        migrations.AddField(
            model_name="schedule",
            name="tag",
            field=models.CharField(blank=True, db_default="", default="", max_length=50),
        ),
        migrations.AddField(
            model_name="schedule",
            name="resumed_at",
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
        ),
        migrations.AddConstraint(
            model_name="schedule",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("root", None), ("table__isnull", False), ("tag", "")),
                    models.Q(("root__isnull", False), ("table", None), ("tag", "")),
                    models.Q(("root", None), ("table", None), models.Q(("tag", ""), _negated=True)),
                    _connector="OR",
                ),
                name="schedule_one_place",
            ),
        ),
        migrations.AddField(
            model_name="schedulerun",
            name="table",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="tables.table"
            ),
        ),
        migrations.AddField(
            model_name="schedulerun",
            name="is_planned",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunSQL(RUNS_TABLES, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name="schedulerun",
            name="table",
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="tables.table"),
        ),
        migrations.RemoveConstraint(model_name="schedulerun", name="schedule_one_open_run"),
        migrations.AddConstraint(
            model_name="schedulerun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("outcome", "")), fields=("schedule", "table"), name="schedule_one_open_run"
            ),
        ),
        migrations.AddIndex(
            model_name="schedulerun",
            index=models.Index(fields=["schedule", "table", "-id"], name="schedule_run_of_table"),
        ),
        migrations.AddIndex(
            model_name="schedulerun",
            index=models.Index(
                condition=models.Q(("is_planned", True), ("outcome", "")),
                fields=["schedule", "-id"],
                name="schedule_run_planned",
            ),
        ),
        migrations.AddIndex(
            model_name="schedulerun",
            index=models.Index(
                condition=models.Q(("is_planned", False), ("outcome", "")), fields=["id"], name="schedule_run_opened"
            ),
        ),
        migrations.AddIndex(
            model_name="schedulerun",
            index=models.Index(
                condition=models.Q(("outcome", "failed")), fields=["schedule", "-id"], name="schedule_run_failed"
            ),
        ),
        migrations.RunSQL(f"{COVERS}{COUNT}{CHECKS}", f"{_plans.KEEP_PLANS}{BEFORE}"),
    ]
