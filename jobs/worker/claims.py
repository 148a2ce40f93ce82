"""Claims: one statement takes the next eligible job, its table's lease, a fencing token and an attempt, all by the database's clock."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import Q

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.timeouts import timing
from jobs.commands.registry import ROWS, kinds_of, tree_takers
from jobs.domain.errors import LeveeError
from jobs.domain.states import MAX_ATTEMPTS, Cause, State, table_state
from jobs.lifecycle.transitions import Fenced, move
from jobs.models import Attempt, Job, Read, Worker
from jobs.policy import evaluate
from jobs.worker.shares import NOBODY, Full


@dataclass(frozen=True, slots=True)
class ClaimHolder:
    """The claiming process, as attempts record it: fencing proves it dead before another worker may continue its job."""

    worker: str
    host: str
    boot_id: str
    pid: int
    start_ticks: int
    jvm_pid: int | None = None
    jvm_start_ticks: int | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed job. Every later write has `WHERE token = mine`, so a worker that lost its claim can't write."""

    job: Job
    attempt_id: uuid.UUID
    token: int
    number: int
    kind: str


# Some commands take a tree: no other job may run above or below their directory. A claim can't see a rival's uncommitted lease,
# so while such a job is queued, in whichever queue, claims of every queue go one at a time; otherwise they share the lock.
_TREES_LOCK = 7_311_204

_LOCK = """
select trees, case when trees then pg_advisory_xact_lock(%(lock)s)::text
                      when not trees then pg_advisory_xact_lock_shared(%(lock)s)::text end
from (select bool_or(command = any(%(takers)s::text[])) as trees from jobs_job where state = 'queued') queued
"""

# Candidate, lease, token and attempt in one statement: a rival sees all of them or none. It counts approvals once more, since an
# approver may have lost the right after the job was queued. Whether they count for the table that the job reads, and under stricter rules,
# is asked in the same transaction. The new token fences off every earlier claim of the job.
_RUN = """
with candidate as (
    select j.id, j.location, j.command, jsonb_exists(j.preview, 'reads') as reads,
        coalesce((j.policy->>'required_approvals')::int, 0) as required from jobs_job j
    where j.state = 'queued' and j.expires_at > clock_timestamp()
      and (j.command, j.schema_version) in (select k.command, k.version from jsonb_to_recordset(%(known)s) as k(command text, version int))
      and (coalesce((j.policy->>'required_approvals')::int, 0) = 0
           or jobs_approvals(j.id, j.digest) >= (j.policy->>'required_approvals')::int)
      and (not exists (select from jobs_policyrule where forbids)
           or jobs_protection(j.command, j.location, j.preview, j.requested_by_id) is null)
      and (%(trees)s or j.command <> all(%(takers)s::text[]))
      and not exists (
          select 1 from jobs_tablelease l where l.location = j.location
          or ((l.exclusive_tree or j.command = any(%(takers)s::text[]))
              and (starts_with(l.location, j.location || '/') or starts_with(j.location, l.location || '/'))))
    order by greatest(j.queued_at,
        coalesce((select max(k.claimed_at) from jobs_job k where k.location = j.location), '-infinity')), j.queued_at, j.id
    limit 1 for update of j skip locked
), leased as (
    insert into jobs_tablelease (location, job_id, token, exclusive_tree)
    select location, id, nextval('jobs_fencing_token'), command = any(%(takers)s::text[]) from candidate
    on conflict (location) do nothing returning job_id, token
), claimed as (
    update jobs_job j set state = 'running', attempt = j.attempt + 1, token = leased.token, claimed_at = clock_timestamp(),
        lease_until = clock_timestamp() + make_interval(secs => %(lease)s), progress = '{}'
    from leased where j.id = leased.job_id returning j.id, j.attempt, j.token
), attempted as (
    insert into jobs_attempt (id, job_id, kind, number, token, worker, host, boot_id, pid, start_ticks, jvm_pid, jvm_start_ticks, outcome)
    select gen_random_uuid(), id, 'run', attempt, token, %(worker)s, %(host)s, %(boot_id)s, %(pid)s, %(start_ticks)s,
        %(jvm_pid)s, %(jvm_start_ticks)s, '' from claimed
    returning job_id, id, token, number
), said as (
    insert into jobs_jobevent (job_id, at, kind, who, source, target, attempt, text, table_text)
    select job_id, clock_timestamp(), 'running', %(worker)s, 'queued', 'running', number, %(started)s, %(meaning)s from attempted
)
select a.job_id, a.id, a.token, a.number, coalesce(candidate.reads, false) or exists (
    select 1 from jobs_policyrule r where r.command = candidate.command and r.enabled and r.removed_at is null
    and r.required_approvals > candidate.required)
from candidate left join attempted a on true
"""

_PREVIEW = """
with candidate as (
    select id from jobs_job
    where state = 'previewing' and expires_at > clock_timestamp() and (lease_until is null or lease_until < clock_timestamp())
      and (command, schema_version) in (select k.command, k.version from jsonb_to_recordset(%(known)s) as k(command text, version int))
      and (select count(*) from jobs_attempt a where a.job_id = jobs_job.id and a.kind = 'preview'
           and (a.ended_at is null or a.outcome = 'lost')) < %(attempts)s
      and requested_by_id <> all(%(people)s::uuid[]) and location <> all(%(locations)s::text[])
    order by requested_at, id limit 1 for update skip locked
), claimed as (
    update jobs_job j set token = nextval('jobs_fencing_token'), progress = '{}',
        lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
    from candidate where j.id = candidate.id returning j.id, j.token
), lost as (
    update jobs_attempt a set ended_at = clock_timestamp(), outcome = 'lost' from claimed where a.job_id = claimed.id and a.ended_at is null
)
insert into jobs_attempt (id, job_id, kind, number, token, worker, host, boot_id, pid, start_ticks, jvm_pid, jvm_start_ticks, outcome)
select gen_random_uuid(), id, 'preview', 0, token, %(worker)s, %(host)s, %(boot_id)s, %(pid)s, %(start_ticks)s,
    %(jvm_pid)s, %(jvm_start_ticks)s, '' from claimed
returning job_id, id, token, number
"""

_READ = """
update jobs_read set state = 'running', worker = %(worker)s, started_at = clock_timestamp(), tries = tries + 1
where id = (select w.id from jobs_read w where w.queue = %(queue)s and w.state = 'waiting' and w.expires_at > clock_timestamp()
                and w.person_id <> all(%(people)s::uuid[])
                and coalesce(w.question->>'path', '') <> all(%(locations)s::text[])
            order by (select count(*) from jobs_read r where r.person_id = w.person_id and r.queue = w.queue and r.state = 'running'),
                w.asked_at, w.id
            limit 1 for update skip locked)
returning id
"""


# Lost preview attempts: the dispatcher fails the job after as many of them as a run may have.
LOST_PREVIEW = Q(attempts__ended_at=None) | Q(attempts__outcome="lost")


def claim_run(holder: ClaimHolder, queue: str = Worker.Kind.SPARK) -> Claim | None:
    """The next job of the queue that may run, claimed with its table's lease; None when there is none.

    First come, first served, and fair between tables: a table just served waits behind jobs queued before that. If another worker
    takes the table's lease first, it tries the next candidate, so None means that no job is left.
    """
    row = _try_to_claim(holder, queue)
    while row is not None and row[0] is None:
        row = _try_to_claim(holder, queue)
    return _claim(row, Attempt.Kind.RUN)


def _try_to_claim(holder: ClaimHolder, queue: str) -> tuple[Any, ...] | None:
    """None: no candidate. A row of nulls: another worker leased the table while this statement waited, or the job was sent back."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_LOCK, {"lock": _TREES_LOCK, "takers": tree_takers()})
            trees = cursor.fetchone()[0]
            if trees is None:
                return None  # nothing is queued: most wake-ups end here without taking a lock
            cursor.execute(_RUN, _values(holder, kinds_of(queue)) | {"trees": trees, "takers": tree_takers()})
            row: tuple[Any, ...] | None = cursor.fetchone()
            if row is not None and row[0] is not None:
                _check_approvals(row[0], anew=row[-1])
                _record_start(row[0], holder)
    except _LacksApprovals as lacking:
        # It may have been withdrawn, cancelled or sent back by another worker in the meantime: then try the next one.
        with suppress(Fenced):
            _send_back(lacking.job_id, holder)
        return (None,) * 5
    return row


class _LacksApprovals(LeveeError):
    """A policy rule has become stricter since the request, whose larger number counts; or an approver no longer is one of the table that
    the job reads. The claim rolls back."""

    def __init__(self, job_id: uuid.UUID) -> None:
        super().__init__(f"job {job_id} lacks approvals")
        self.job_id = job_id


def _check_approvals(job_id: uuid.UUID, *, anew: bool) -> None:
    if anew and _lacks_approvals(job_id):
        raise _LacksApprovals(job_id)


def _lacks_approvals(job_id: uuid.UUID) -> bool:
    job = Job.objects.select_related("table").get(pk=job_id)
    return evaluate.approvals(job) < evaluate.required(job)


def _send_back(job_id: uuid.UUID, holder: ClaimHolder) -> None:
    text = "It has fewer approvals than it needs: a policy rule now requires more, or an approver no longer is one. It waits for them."
    move(Job.objects.get(pk=job_id), State.AWAITING_APPROVAL, Cause.WORKER, holder.worker, text=text)


def _record_start(job_id: uuid.UUID, holder: ClaimHolder) -> None:
    """Audits the start in the claim's transaction: if the audit can't be written, the claim rolls back, and nothing runs."""
    job = Job.objects.only("command", "location", "digest", "attempt").get(pk=job_id)
    after = {"attempt": job.attempt, "worker": holder.worker}
    actor = Actor.system(holder.worker)
    record(actor, Action.JOB_START, ObjectKind.JOB, job_id, str(job), after=after, job=job_id, digest=job.digest)


def claim_preview(holder: ClaimHolder, full: Full = NOBODY) -> Claim | None:
    """The next job that needs a preview, of nobody and no table that is `full`, without a table lease.

    Claims a preview again if its lease has lapsed.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_PREVIEW, _values(holder, ROWS) | _without(full))
        row = cursor.fetchone()
    return _claim(row, Attempt.Kind.PREVIEW)


def _without(full: Full) -> dict[str, Any]:
    return {"people": full.people, "locations": full.locations}


def claim_read(queue: str, worker: str, full: Full = NOBODY) -> Read | None:
    """The next read waiting on the queue, of nobody and no table that is `full`; None when there is none.

    First comes the person with the fewest running reads.
    """
    with connection.cursor() as cursor:
        cursor.execute(_READ, {"queue": queue, "worker": worker} | _without(full))
        row = cursor.fetchone()
    return Read.objects.select_related("person", "table").get(pk=row[0]) if row else None


def _values(holder: ClaimHolder, kinds: Iterable[str]) -> dict[str, Any]:
    known = [{"command": kind, "version": ROWS[kind].value.schema_version} for kind in kinds]
    return {
        "known": json.dumps(known),
        "lease": timing().lease,
        "started": "Started.",
        "meaning": table_state(State.RUNNING, None),
        "attempts": MAX_ATTEMPTS,
        "worker": holder.worker,
        "host": holder.host,
        "boot_id": holder.boot_id,
        "pid": holder.pid,
        "start_ticks": holder.start_ticks,
        "jvm_pid": holder.jvm_pid,
        "jvm_start_ticks": holder.jvm_start_ticks,
    }


def _claim(row: tuple[Any, ...] | None, kind: str) -> Claim | None:
    if row is None:
        return None
    job_id, attempt_id, token, number = row[:4]
    job = Job.objects.select_related("table", "requested_by").get(pk=job_id)
    return Claim(job=job, attempt_id=attempt_id, token=token, number=number, kind=kind)
