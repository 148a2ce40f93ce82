"""Schedules, what people decide about them, and their runs; a run counts the approvals of its schedule's definition."""

import uuid
from typing import ClassVar

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

CREATE = """
-- Whether a person may judge a schedule and its runs: independent of everyone who shaped its definition, as of whom it runs for.
create function jobs_may_judge_schedule(wanted uuid, judge uuid, role varchar, on_root uuid, on_table uuid)
returns boolean language sql stable as $$
    select not exists (
        select from jobs_schedule s, jsonb_array_elements_text(s.edited_by || to_jsonb(s.run_by_id::text)) as shaped(author)
        where s.id = wanted and not accounts_may_judge(judge, shaped.author::uuid, role, on_root, on_table))
$$;

-- Approvals of a schedule's digest that count now, by the same rules as those of a job: nobody's own, from people who hold the role on
-- its table and are independent of its authors; none by token where a rule refuses them.
create function jobs_schedule_approvers(wanted uuid, wanted_digest varchar, refuses_tokens boolean, role varchar)
returns table (person_id uuid) language sql stable as $$
    select d.person_id
    from jobs_schedule s
    join tables_table t on t.id = s.table_id
    join jobs_scheduledecision d on d.schedule_id = s.id
    join accounts_person p on p.id = d.person_id
    where s.id = wanted and s.digest = wanted_digest and d.digest = wanted_digest and d.decision = 'approve' and d.voided_at is null
      and d.person_id <> s.run_by_id and not s.edited_by @> to_jsonb(d.person_id::text) and p.is_active
      and (d.token_id is null or not refuses_tokens)
      and jobs_may_judge_schedule(s.id, d.person_id, role, t.root_id, t.id)
$$;

create function jobs_schedule_approvals(wanted uuid, wanted_digest varchar) returns integer language sql stable as $$
    select count(distinct a.person_id)::integer
    from jobs_schedule s, jobs_schedule_approvers(
        wanted, wanted_digest, coalesce((s.policy->>'refuses_tokens')::boolean, false), coalesce(s.policy->>'role', 'approver')) a
    where s.id = wanted
$$;

-- The approvals of a job: those given to its own digest, and for a schedule's run those of the schedule's definition, while the run is
-- the unchanged command of that very definition, on the same table, and affects no other class of it.
create or replace function jobs_approvals(asked uuid, asked_digest varchar) returns integer language sql stable as $$
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
        join jobs_schedulerun r on r.job_id = j.id and r.schedule_id = s.id,
        jobs_schedule_approvers(
            s.id, r.digest, coalesce((j.policy->>'refuses_tokens')::boolean, false), coalesce(j.policy->>'role', 'approver')) a
        where j.id = jobs_approvals.asked and j.digest = jobs_approvals.asked_digest and j.revision = 1
          and s.state = 'active' and s.removed_at is null
          and j.requested_by_id = s.run_by_id and j.table_id = s.table_id and j.command = s.command
          and j.parameters_sha256 = r.parameters_sha256
          and coalesce(j.preview->>'class', 'ordinary') = s.table_class
          and coalesce(j.preview->>'table_id', s.shape->>'table_id') = s.shape->>'table_id'
          and not exists (select 1 from jobs_edit e where e.job_id = j.id)
    ) counted
$$;

create function jobs_check_schedule_decision() returns trigger language plpgsql as $$
declare
    schedule jobs_schedule%rowtype;
begin
    select * into schedule from jobs_schedule where id = new.schedule_id for share;
    if schedule.run_by_id = new.person_id or schedule.edited_by @> to_jsonb(new.person_id::text) then
        raise exception 'nobody decides on their own schedule' using errcode = '23514', constraint = 'schedule_decision_not_own';
    end if;
    if schedule.digest <> new.digest then
        raise exception 'the schedule has changed since' using errcode = '23514', constraint = 'schedule_decision_stale';
    end if;
    if schedule.removed_at is not null or not (schedule.state = 'awaiting_approval'
       or (schedule.state in ('active', 'paused') and new.decision = 'reject')) then
        raise exception 'a schedule that is % takes no such decision', schedule.state
            using errcode = '23514', constraint = 'schedule_decision_state';
    end if;
    if new.voided_at is not null then
        raise exception 'a decision begins valid' using errcode = '23514', constraint = 'schedule_decision_voided';
    end if;
    new.decided_at := clock_timestamp();
    return new;
end $$;

create trigger schedule_decision_allowed before insert on jobs_scheduledecision
    for each row execute function jobs_check_schedule_decision();
create trigger schedule_decision_kept before update or delete on jobs_scheduledecision
    for each row execute function jobs_keep_decision();

-- Approvals are given to a digest: what it covers changes with it alone, and it never becomes one that has been approved already. Who
-- shaped a definition stays among its authors.
create function jobs_check_schedule() returns trigger language plpgsql as $$
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
create trigger schedule_kept before update on jobs_schedule for each row execute function jobs_check_schedule();

-- A run is of the definition as it is when the run is opened; a predicate's text, columns as the table writes them and what a command
-- reads from its table are filled in by then, so the worker compares those (jobs.schedules.refusals). What it ran is never changed
-- afterwards.
create function jobs_check_schedule_run() returns trigger language plpgsql as $$
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
create trigger schedule_run_checked before insert or update on jobs_schedulerun
    for each row execute function jobs_check_schedule_run();

create function jobs_keep_schedule_of_job() returns trigger language plpgsql as $$
begin
    if new.schedule_id is not null and new.schedule_id is distinct from old.schedule_id then
        raise exception 'a job that was requested becomes no run of a schedule' using errcode = '42501';
    end if;
    return new;
end $$;
create trigger job_schedule_kept before update of schedule_id on jobs_job
    for each row execute function jobs_keep_schedule_of_job();
"""

DROP = """
drop trigger job_schedule_kept on jobs_job;
drop function jobs_keep_schedule_of_job();
drop trigger schedule_run_checked on jobs_schedulerun;
drop function jobs_check_schedule_run();
drop trigger schedule_kept on jobs_schedule;
drop function jobs_check_schedule();
drop trigger schedule_decision_kept on jobs_scheduledecision;
drop trigger schedule_decision_allowed on jobs_scheduledecision;
drop function jobs_check_schedule_decision();
create or replace function jobs_approvals(asked uuid, asked_digest varchar) returns integer language sql stable as $$
    select count(distinct d.person_id)::integer
    from jobs_job j
    join tables_table t on t.id = j.table_id
    join jobs_decision d on d.job_id = j.id
    join accounts_person p on p.id = d.person_id
    where j.id = asked and d.digest = asked_digest and d.decision = 'approve' and d.voided_at is null
      and d.person_id <> j.requested_by_id and p.is_active
      and (d.token_id is null or not coalesce((j.policy->>'refuses_tokens')::boolean, false))
      and not exists (select 1 from jobs_edit e where e.job_id = j.id and e.person_id = d.person_id)
      and accounts_may_judge(d.person_id, j.requested_by_id, coalesce(j.policy->>'role', 'approver'), t.root_id, t.id)
$$;
drop function jobs_schedule_approvals(uuid, varchar);
drop function jobs_schedule_approvers(uuid, varchar, boolean, varchar);
drop function jobs_may_judge_schedule(uuid, uuid, varchar, uuid, uuid);
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("accounts", "0007_preferences"),
        ("jobs", "0017_administration"),
        ("tables", "0022_kinds_of_days"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Schedule",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("reason", models.TextField()),
                ("command", models.CharField(max_length=20)),
                ("schema_version", models.IntegerField()),
                ("parameters", models.JSONField()),
                ("asked", models.JSONField()),
                ("cron", models.CharField(max_length=100)),
                ("time_zone", models.CharField(max_length=60)),
                ("window_minutes", models.PositiveIntegerField()),
                ("max_bytes", models.BigIntegerField(null=True)),
                ("max_minutes", models.PositiveIntegerField(null=True)),
                ("shape", models.JSONField()),
                ("table_class", models.CharField(max_length=15)),
                ("digest", models.CharField(max_length=64)),
                ("policy", models.JSONField(default=dict)),
                ("revision", models.IntegerField(default=1)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("edited_by", models.JSONField(default=list)),
                ("idempotency_key", models.CharField(max_length=200, null=True)),
                ("request_sha256", models.CharField(blank=True, db_default="", default="", max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("awaiting_approval", "Awaiting Approval"),
                            ("active", "Active"),
                            ("paused", "Paused"),
                            ("stopped", "Stopped"),
                        ],
                        max_length=17,
                    ),
                ),
                ("state_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("state_text", models.TextField(blank=True, db_default="", default="")),
                ("next_due_at", models.DateTimeField(null=True)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("removed_at", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "run_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "table",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="schedules", to="tables.table"
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "indexes": [
                    models.Index(fields=["state", "next_due_at"], name="schedule_due"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("removed_at", None)), fields=("name",), name="schedule_name_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("idempotency_key__isnull", False)),
                        fields=("created_by", "idempotency_key"),
                        name="schedule_idempotency",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["awaiting_approval", "active", "paused", "stopped"])),
                        name="schedule_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True), name="schedule_reason_given"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("max_minutes", None), ("max_minutes__lte", models.F("window_minutes")), _connector="OR"
                        ),
                        name="schedule_bound_in_window",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("next_due_at", None), models.Q(("removed_at", None), ("state", "active")), _connector="OR"
                        ),
                        name="schedule_due_while_active",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="job",
            name="schedule",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="jobs", to="jobs.schedule"
            ),
        ),
        migrations.CreateModel(
            name="ScheduleDecision",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("decision", models.CharField(choices=[("approve", "Approve"), ("reject", "Reject")], max_length=7)),
                ("digest", models.CharField(max_length=64)),
                ("comment", models.TextField(blank=True, default="")),
                ("decided_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("voided_at", models.DateTimeField(null=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "schedule",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="decisions", to="jobs.schedule"
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.token"
                    ),
                ),
            ],
            options={
                "ordering": ["decided_at"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("voided_at", None)),
                        fields=("schedule", "person", "digest"),
                        name="schedule_decision_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("decision__in", ["approve", "reject"])), name="schedule_decision_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ScheduleRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("due_at", models.DateTimeField()),
                ("digest", models.CharField(max_length=64)),
                ("parameters_sha256", models.CharField(blank=True, default="", max_length=64)),
                ("opened_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "Open"),
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("skipped", "Skipped"),
                            ("ended", "Ended"),
                        ],
                        default="",
                        max_length=9,
                    ),
                ),
                ("text", models.TextField(blank=True, default="")),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "job",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="schedule_run",
                        to="jobs.job",
                    ),
                ),
                (
                    "schedule",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="runs", to="jobs.schedule"
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["schedule", "-id"], name="schedule_run_newest"),
                    models.Index(fields=["due_at"], name="schedule_run_due"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("outcome", "")), fields=("schedule",), name="schedule_one_open_run"
                    ),
                ],
            },
        ),
        migrations.RunSQL(CREATE, DROP),
    ]
