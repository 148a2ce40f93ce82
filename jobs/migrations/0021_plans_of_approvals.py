"""The functions that count approvals keep their plans: as SQL each call of them was planned anew, which took longer than the call itself."""

from typing import ClassVar

from django.db import migrations

# Whether a person may judge a schedule and its runs: independent of everyone who shaped its definition, as of whom it runs for.
MAY_JUDGE_SCHEDULE = """
select not exists (
    select from jobs_schedule s, jsonb_array_elements_text(s.edited_by || to_jsonb(s.run_by_id::text)) as shaped(author)
    where s.id = wanted and not accounts_may_judge(judge, shaped.author::uuid, role, on_root, on_table))
"""

# Approvals of a schedule's digest that count now, by the same rules as those of a job: nobody's own, from people who hold the role on
# its table and are independent of its authors; none by token where a rule refuses them.
SCHEDULE_APPROVERS = """
select d.person_id
from jobs_schedule s
join tables_table t on t.id = s.table_id
join jobs_scheduledecision d on d.schedule_id = s.id
join accounts_person p on p.id = d.person_id
where s.id = wanted and s.digest = wanted_digest and d.digest = wanted_digest and d.decision = 'approve' and d.voided_at is null
  and d.person_id <> s.run_by_id and not s.edited_by @> to_jsonb(d.person_id::text) and p.is_active
  and (d.token_id is null or not refuses_tokens)
  and jobs_may_judge_schedule(s.id, d.person_id, role, t.root_id, t.id)
"""

SCHEDULE_APPROVALS = """
select count(distinct a.person_id)::integer
from jobs_schedule s, jobs_schedule_approvers(
    wanted, wanted_digest, coalesce((s.policy->>'refuses_tokens')::boolean, false), coalesce(s.policy->>'role', 'approver')) a
where s.id = wanted
"""

# The approvals of a job: those given to its own digest, and for a schedule's run those of the schedule's definition, while the run is
# the unchanged command of that very definition, on the same table, and affects no other class of it.
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
"""

APPROVERS_OF = "jobs_schedule_approvers(wanted uuid, wanted_digest varchar, refuses_tokens boolean, role varchar) returns table (person_id uuid)"
ONE_ANSWER = {
    "jobs_may_judge_schedule(wanted uuid, judge uuid, role varchar, on_root uuid, on_table uuid) returns boolean": MAY_JUDGE_SCHEDULE,
    "jobs_schedule_approvals(wanted uuid, wanted_digest varchar) returns integer": SCHEDULE_APPROVALS,
    "jobs_approvals(asked uuid, asked_digest varchar) returns integer": APPROVALS,
}

KEEP_PLANS = "\n".join(
    [
        f"create or replace function {APPROVERS_OF} language plpgsql stable as $$ begin return query {SCHEDULE_APPROVERS}; end $$;",
        *(
            f"create or replace function {signature} language plpgsql stable as $$ begin return ({query}); end $$;"
            for signature, query in ONE_ANSWER.items()
        ),
    ]
)
BEFORE = "\n".join(
    f"create or replace function {signature} language sql stable as $$ {query} $$;"
    for signature, query in ({APPROVERS_OF: SCHEDULE_APPROVERS} | ONE_ANSWER).items()
)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0020_read_progress"), ("accounts", "0009_plans_of_independence")]
    operations: ClassVar = [migrations.RunSQL(KEEP_PLANS, BEFORE)]
