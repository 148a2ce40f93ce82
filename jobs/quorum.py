"""Queued jobs that have lost their quorum wait for approvals again: a role taken away or a person disabled ends an approval."""

from __future__ import annotations

import uuid

from django.db import connection

from jobs.domain.states import Cause, State
from jobs.models import Job
from jobs.transitions import Fenced, move

WHO = "dispatcher"
TEXT = "Somebody who approved it may no longer approve here: it waits for approvals again."
_LOST = """
select id from jobs_job
where state = 'queued' and coalesce((policy->>'required_approvals')::int, 0) > 0
  and jobs_approvals(id, digest) < (policy->>'required_approvals')::int
order by id limit 500
"""


def send_back() -> int:
    """One round over the queued jobs. Returns how many it has sent back."""
    with connection.cursor() as cursor:
        cursor.execute(_LOST)
        lost = [row[0] for row in cursor.fetchall()]
    return sum(map(_send_back, lost))


def _send_back(pk: uuid.UUID) -> bool:
    try:
        move(Job.objects.get(pk=pk), State.AWAITING_APPROVAL, Cause.DISPATCHER, WHO, text=TEXT)
    except Fenced:
        return False
    return True
