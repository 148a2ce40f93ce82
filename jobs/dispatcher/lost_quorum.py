"""Sends queued jobs that lost their quorum back to wait for approvals: an approval ends with its approver's role or account."""

from __future__ import annotations

import uuid

from django.db import connection

from jobs.domain.states import Cause, State
from jobs.lifecycle.transitions import Fenced, move
from jobs.models import Job

WHO = "dispatcher"
TEXT = "An approver of this job can no longer approve here: it waits for approvals again."
_LOST = """
select id from jobs_job
where state = 'queued' and coalesce((policy->>'required_approvals')::int, 0) > 0
  and jobs_approvals(id, digest) < (policy->>'required_approvals')::int
order by id limit 500
"""


def send_back() -> int:
    """One round over the queued jobs. Returns how many it sent back."""
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
