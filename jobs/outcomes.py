"""The ends of a job in words, and the look into a table's history for a job's commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jobs.domain.errors import EngineFailure, LeveeError, Refusal
from jobs.domain.results import Result, affected_rows
from jobs.models import Job
from tables import after_jobs
from tables.deltalog import StorageError

NOTHING = "Nothing was committed."
ALREADY_DELTA = "This is already a Delta table: converting it again does nothing, and nothing was done."
_AGAIN = "Ask again."


class Unreadable(LeveeError):
    """The table's log can't be read now: whether the job has committed isn't known."""


DIGEST_CHANGED: dict[str, Any] = {
    "code": "stale",
    "message": "The stored request is no longer the one that was accepted: its digest differs.",
    "engine": None,
    "table_state": NOTHING,
    "what_to_do": "Have the audit looked at, then ask again.",
}
ATTEMPTS_EXHAUSTED: dict[str, Any] = {
    "code": "attempts_exhausted",
    "message": "Two attempts were lost with their workers; neither committed anything.",
    "engine": None,
    "table_state": NOTHING,
    "what_to_do": "Look at the workers' logs for why they died, then ask again.",
}
UNPROVEN: dict[str, Any] = {
    "code": "stale",
    "message": "The worker was lost on another host, where its end can't be proven. No commit of this job was found.",
    "engine": None,
    "table_state": "No commit of this job was found; a late one would be shown here.",
    "what_to_do": "Look at that host and at the table's history, then ask again if it is still wanted.",
}

UNREADABLE: dict[str, Any] = {
    "code": "stale",
    "message": "The worker was lost, and the table's log could not be read to look for a commit of this job.",
    "engine": None,
    "table_state": "Unknown: a commit would be shown here as soon as the log can be read.",
    "what_to_do": "Make the table's place readable again, look at its history, then ask again if it is still wanted.",
}
PREVIEW_LOST: dict[str, Any] = {
    "code": "attempts_exhausted",
    "message": "The preview was begun twice, and both times its worker was lost.",
    "engine": None,
    "table_state": NOTHING,
    "what_to_do": "Look at the interactive worker's log for why it died, then ask again.",
}


def refused(refusals: Sequence[Refusal]) -> dict[str, Any]:
    """The job's `error` for reasons found before any damage: the first one leads, all are listed."""
    first = refusals[0]
    more = f" ({len(refusals) - 1} more)" if len(refusals) > 1 else ""
    return {
        "code": first.code,
        "message": first.message + more,
        "engine": first.engine.as_json() if first.engine else None,
        "place": first.place,
        "refusals": [r.as_json() for r in refusals],
        "table_state": NOTHING,
        "what_to_do": first.remedy or _AGAIN,
    }


def engine_failed(failure: EngineFailure, table_state: str) -> dict[str, Any]:
    """The job's `error` for a failure of Spark or Delta."""
    what = (
        "Nothing is wrong with the request: ask again."
        if failure.retryable
        else "Mend what the message names, then ask again."
    )
    return {
        "code": "engine_failed",
        "message": failure.message.splitlines()[0][:1000] if failure.message else "Spark failed without a message.",
        "engine": failure.as_json(),
        "table_state": table_state,
        "what_to_do": what,
    }


def limit_reached(what: str, seconds: float) -> dict[str, Any]:
    """The job's `error` for a run past its limit."""
    return {
        "code": "time_limit",
        "message": f"The limit of {seconds:.0f} s for {what} was reached; Spark was told to stop, and has.",
        "engine": None,
        "table_state": NOTHING,
        "what_to_do": "Ask for less at once, or have the limit raised.",
    }


def moved(why: str) -> dict[str, Any]:
    """The job's `error` when its table has moved since what was previewed and approved."""
    return {
        "code": "stale",
        "message": why,
        "engine": None,
        "table_state": NOTHING,
        "what_to_do": "Ask again: the new request is previewed on the table as it is now.",
    }


def judged(job: Job, result: Result) -> Result:
    """The result, with `drifted` where the commit followed another version than the one that the drift check saw."""
    checked = (job.drift or {}).get("head_version")
    drifted = None not in (checked, result.read_version) and result.read_version != checked
    return replace(result, drifted=drifted) if drifted else result


def success_text(result: Result) -> str:
    """The sentence for a run that succeeded."""
    if result.no_op:
        return str(result.details.get("text") or "There was nothing to do.")
    return f"{result.operation} committed as version {result.version:,}." if result.version is not None else "Done."


def committed(job: Job) -> Result | None:
    """The job's commit, looked up by its mark in the table's own log; None when there is none.

    Raises Unreadable. A directory that isn't there proves nothing: its file system may not be mounted.
    """
    if job.location.startswith("/") and not Path(job.location).is_dir():
        raise Unreadable(f"{job.location} is not there now.")
    try:
        commit = after_jobs.find_mark(job.location, job.pk)
    except (StorageError, OSError) as error:
        raise Unreadable(f"The table's log can't be read now: {error}") from error
    if commit is None:
        return None
    return Result(
        version=commit.version,
        operation=commit.operation,
        operation_parameters=_texts(commit.operation_parameters),
        operation_metrics=_texts(commit.operation_metrics),
        read_version=commit.read_version,
        num_affected_rows=affected_rows(commit.operation_metrics or {}),
        details={"text": f"Found in the table's history as version {commit.version}."},
    )


def _texts(values: Mapping[str, str | None] | None) -> dict[str, str]:
    return {name: value for name, value in (values or {}).items() if value is not None}
