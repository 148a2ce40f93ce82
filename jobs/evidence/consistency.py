"""Checks that jobs, tables and audit agree: each marked commit has its job, approvals and events; each succeeded job its commit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import connection

from console.audit.integrity import restores
from console.audit.integrity.verification import AuditFinding
from console.base.timeouts import timing
from jobs.commands.registry import several_kinds

MOST = 100  # of one kind

# The commit's mark names a job that doesn't exist or has another commit. An open or just ended job may still get its version; a stream's
# round has one commit for each of its micro-batches, and some commands make several, which the result lists. What a job that the record
# lost, or has without its end, committed between a backup and its restore awaits acknowledgement as an unapproved commit: Levee can't
# tell its own work of that time from another's.
_STRANGE_STAMP = """
    select c.job, t.name, c.version from tables_commit c join tables_table t on t.id = c.table_id left join jobs_job j on j.id = c.job
    where c.job is not null
      and (j.id is null or (j.finished_at < now() - make_interval(secs => %s)
           and (j.table_id <> c.table_id or j.version is distinct from c.version)
           and not (c.operation = 'STREAMING UPDATE' and c.table_id = j.table_id and c.version > coalesce(j.base_version, -1)
               and exists (select from jobs_streamround r where r.job_id = j.id))
           and not (j.command = any(%s) and j.version is not null and c.table_id = j.table_id and case when j.result is null
               then c.version > coalesce(j.base_version, -1) and c.committed_at < j.finished_at + make_interval(secs => %s)
               else coalesce((j.result->'details'->>'start_version')::bigint = c.version, false)
                   or coalesce(j.result->'details'->'commits' @> jsonb_build_array(jsonb_build_object('version', c.version)), false) end)))
      and not ((j.id is null or (j.version is null and j.table_id = c.table_id)) and exists (
          select from unnest(%s::timestamptz[], %s::timestamptz[]) as gap(made_at, restored_at)
          where c.committed_at between gap.made_at and gap.restored_at))
    order by c.committed_at limit %s
"""
_NO_COMMIT = """
    select j.id, t.name, j.version from jobs_job j join tables_table t on t.id = j.table_id
    join tables_synctimes s on s.table_id = t.id
    where j.state = 'succeeded' and j.version is not null and s.synced_at > j.finished_at and t.sync_error = ''
      and not exists (select from tables_commit c where c.table_id = j.table_id and c.version = j.version and c.job = j.id)
    order by j.finished_at limit %s
"""
_NO_APPROVAL = """
    select j.id, t.name, j.version from jobs_job j join tables_table t on t.id = j.table_id
    where j.version is not null and coalesce((j.policy->>'required_approvals')::integer, 0) > (
        select count(distinct given.person_id) from (
            select d.person_id from jobs_decision d
            where d.job_id = j.id and d.digest = j.digest and d.decision = 'approve' and d.voided_at is null
            union
            select d.person_id from jobs_schedulerun r join jobs_scheduledecision d on d.schedule_id = r.schedule_id
            where r.job_id = j.id and r.schedule_id = j.schedule_id and d.digest = r.digest and d.decision = 'approve'
              and d.decided_at < j.claimed_at and (d.voided_at is null or d.voided_at > j.claimed_at)) given
        where given.person_id <> j.requested_by_id)
    order by j.finished_at limit %s
"""
_NO_EVENT = """
    select j.id, t.name, a.action from jobs_job j join tables_table t on t.id = j.table_id,
        lateral (values ('job.request'), ('job.start'), ('job.end')) as a(action)
    where j.version is not null and j.finished_at is not null
      and not exists (select from audit.event e where e.job = j.id and e.action = a.action)
    order by j.finished_at limit %s
"""
_NO_DECISION_EVENT = """
    select d.job_id, p.name, d.decision from jobs_decision d join accounts_person p on p.id = d.person_id
    where not exists (select from audit.event e where e.job = d.job_id and e.action = 'job.' || d.decision
        and e.actor_id = d.person_id and e.digest = d.digest and e.outcome = 'allowed')
    order by d.decided_at limit %s
"""
_NO_SCHEDULE_EVENT = """
    select s.name, p.name, d.decision from jobs_scheduledecision d join accounts_person p on p.id = d.person_id
    join jobs_schedule s on s.id = d.schedule_id
    where not exists (select from audit.event e where e.object_id = s.id::text and e.action = 'schedule.' || d.decision
        and e.actor_id = d.person_id and e.digest = d.digest and e.outcome = 'allowed')
    order by d.decided_at limit %s
"""


def differences() -> Iterator[AuditFinding]:
    """The discrepancies found now, at most MOST of each kind."""
    gaps = restores.gaps()
    late = timing().late_commit
    made, restored = [start for start, _ in gaps], [end for _, end in gaps]
    for job, table, version in _rows(_STRANGE_STAMP, late, several_kinds(), late, made, restored):
        yield _finding("strange_stamp", f"Version {version} of {table} names job {job}, which isn't its job.")
    for job, table, version in _rows(_NO_COMMIT):
        yield _finding(
            "commit_missing", f"Job {job} succeeded as version {version} of {table}, whose history lacks it."
        )
    for job, table, version in _rows(_NO_APPROVAL):
        yield _finding("approval_missing", f"Job {job} committed version {version} of {table} without its approvals.")
    for job, table, action in _rows(_NO_EVENT):
        yield _finding("event_missing", f"Job {job} on {table} has no event {action}.")
    for job, person, decision in _rows(_NO_DECISION_EVENT):
        yield _finding("event_missing", f"{person}'s {decision} of job {job} has no event.")
    for schedule, person, decision in _rows(_NO_SCHEDULE_EVENT):
        yield _finding("event_missing", f"{person}'s {decision} of the schedule {schedule} has no event.")


def _rows(sql: str, *values: float | list[datetime] | list[str]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [*values, MOST])
        return list(cursor.fetchall())


def _finding(kind: str, text: str) -> AuditFinding:
    return AuditFinding(kind, None, text)
