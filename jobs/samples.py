"""A look at the rows that a delete is about: read live for each viewer under their own rights, and an event each time."""

from __future__ import annotations

from typing import Any

from console.audit.actor import Actor
from console.errors import Problem
from jobs.models import Job, Read
from jobs.row_reads import ask_rows, table_with_rows

ROWS = 20


def ask_sample(actor: Actor, job: Job) -> Read:
    """The read that answers it, at the version that was previewed.

    Raises Http404; Problem 403 `forbidden`, 409 `wrong_state` for a command that isn't about rows, 410 `version_gone`, 503.
    """
    if job.command != "delete":
        raise Problem(409, "wrong_state", f"A {job.command} isn’t about single rows: there is no sample of it.")
    table = table_with_rows(actor, job.table_id)
    asked: dict[str, Any] = {"limit": ROWS}
    if job.parameters.get("predicate") is not None:
        asked["predicate"] = job.parameters["predicate"]
    version = (job.preview or {}).get("measured_at_version")
    return ask_rows(actor, table, asked | ({} if version is None else {"version": version}))
