"""A sample of the rows that a request affects: read live for each viewer under their own permissions, and recorded each time."""

from __future__ import annotations

from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.registry import sample_of
from jobs.models import Job, Read
from jobs.reads.rows import ask_rows, table_with_rows

ROWS = 20


def ask_sample(actor: Actor, job: Job) -> Read:
    """Queues the read, at the version that was previewed.

    Raises Http404; Problem 403 `forbidden`, 409 `wrong_state` for a command that isn't about rows, 410 `version_gone`, 503.
    """
    asked = sample_of(job)
    if asked is None:
        raise Problem(409, "wrong_state", f"A {job.command} doesn’t select rows, so it has no sample.")
    return ask_rows(actor, table_with_rows(actor, job.table_id), {**asked, "limit": ROWS})
