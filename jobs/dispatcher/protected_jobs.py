"""Cancels what waits to change a table that a rule protects by now. A job that has begun comes to its end."""

from __future__ import annotations

import uuid

from django.db import connection

from jobs.domain.states import IN_REVIEW, Cause, State
from jobs.lifecycle.transitions import Fenced, move
from jobs.models import Job
from jobs.policy import protection

WHO = "dispatcher"
_FORBIDDEN = """
select id from jobs_job
where state = any(%s) and exists (select from jobs_policyrule where forbids)
  and jobs_protection(command, location, preview, requested_by_id) is not null
order by id limit 500
"""


def cancel() -> int:
    """One round over the jobs that have not begun. Returns how many it cancelled."""
    with connection.cursor() as cursor:
        cursor.execute(_FORBIDDEN, [[state.value for state in IN_REVIEW]])
        found = [row[0] for row in cursor.fetchall()]
    return sum(map(_cancel, found))


def _cancel(pk: uuid.UUID) -> bool:
    job = Job.objects.get(pk=pk)
    protecting = protection.of_job(job)
    if protecting is None:
        return False
    try:
        move(job, State.CANCELLED, Cause.DISPATCHER, WHO, text=f"Cancelled: {protecting.text}", only_from=IN_REVIEW)
    except Fenced:
        return False
    return True
