"""Follows a job until it has ended, or has been approved."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

from console.cli.client import Api
from console.cli.exits import CliError, Exit, of_ended

Job = dict[str, Any]
Until = Callable[[Job], bool]
ASK_S = 5.0  # of one long poll: a change between two of them is noticed within this time
ASK_RUNNING_S = 2.0  # while it runs: its progress changes without its state
PAUSE_S = 1.0  # after an answer that came at once because too many wait already
BEFORE_APPROVAL = frozenset({"previewing", "awaiting_approval"})


def has_ended(job: Job) -> bool:
    return job["finished_at"] is not None


def is_approved(job: Job) -> bool:
    """It has the approvals that it needs, or has ended."""
    return has_ended(job) or job["state"] not in BEFORE_APPROVAL


def follow(api: Api, begun: Job | uuid.UUID, until: Until, timeout: float | None, seen: Callable[[Job], None]) -> Job:
    """The job once `until` holds; `seen` gets it after each answer. Raises CliError, TIMED_OUT after `timeout` seconds."""
    end = None if timeout is None else time.monotonic() + timeout
    job: Job = api.get(f"/jobs/{begun}", end=end) if isinstance(begun, uuid.UUID) else begun
    seen(job)
    while not until(job):
        left = ASK_S if end is None else end - time.monotonic()
        if left <= 0:
            raise _timed_out(job, timeout)
        job = _next(api, job, min(left, ASK_RUNNING_S if job["state"] == "running" else ASK_S), end)
        seen(job)
    return job


def exit_of(job: Job, until: Until) -> Exit:
    """How a wait for this job ends."""
    return of_ended(job["state"]) if has_ended(job) else Exit.DONE if until(job) else Exit.TIMED_OUT


def _next(api: Api, job: Job, wait: float, end: float | None) -> Job:
    """The job when its state differs from that at arrival, or after `wait` seconds."""
    begin = time.monotonic()
    now: Job = api.get(f"/jobs/{job['id']}", {"until": "state"}, wait=round(wait, 3), end=end)
    if now["state"] == job["state"] and time.monotonic() - begin < wait / 2:
        time.sleep(min(PAUSE_S, wait))
    return now


def _timed_out(job: Job, timeout: float | None) -> CliError:
    text = f"The job is {job['state'].replace('_', ' ')} after {timeout:g} s, and goes on. Wait again: levee wait {job['id']}"
    return CliError(Exit.TIMED_OUT, text)
