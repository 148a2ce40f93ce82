"""Waits for a job, with its progress."""

from __future__ import annotations

import uuid
from typing import Any

from console.cli import progress
from console.cli.following import Until, exit_of, follow
from console.cli.reviews import ended
from console.cli.session import Session, facts


def wait_for(
    session: Session, job: dict[str, Any] | uuid.UUID, until: Until, timeout: float | None, id_alone: bool = False
) -> int:
    """Follows the job, shows it at the end, and gives the exit code."""
    with progress.shown() as seen:
        last = follow(session.patient_api, job, until, timeout, seen)
    session.show_job(last, lambda: facts(ended(last)), id_alone)
    return exit_of(last, until)
