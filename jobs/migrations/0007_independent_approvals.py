"""An approval counts only from somebody who is independent of who asked, and whose role nobody of the asker's line gave."""

from typing import ClassVar

from django.db import migrations

CREATE = """
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
"""

BEFORE = """
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
      and not coalesce(p.created_by_id = j.requested_by_id and p.created_at > j.requested_at, false)
      and exists (
          select 1 from accounts_grant g
          where g.person_id = p.id and g.role = coalesce(j.policy->>'role', 'approver')
            and (g.scope = 'everything' or g.root_id = t.root_id or g.table_id = t.id)
            and not coalesce(g.granted_by_id = j.requested_by_id and g.granted_at > j.requested_at, false))
$$;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0006_read_asked_mark"), ("accounts", "0004_appointments")]
    operations: ClassVar = [migrations.RunSQL(CREATE, BEFORE)]
