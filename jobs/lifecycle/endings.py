"""The errors and results that jobs end with, and the search for a job's commit in its table's history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from jobs.domain.delta.readers import still_unseen
from jobs.domain.errors import DirectorySwapped, EngineFailure, LeveeError, Refusal, remedy_of
from jobs.domain.results import Result, affected_rows, with_warnings
from jobs.domain.storage_causes import cause_led_by
from jobs.models import Job, StreamRound
from tables.deltalog.read.commits import LogCommit
from tables.deltalog.rules.other_formats import other_formats
from tables.deltalog.vacuum import operations
from tables.models import Table
from tables.storage import stores
from tables.storage.store import StorageError
from tables.sync import log_access

NOTHING = "Nothing was committed."
REHEARSAL_FAILED = "Nothing was committed: it failed in its rehearsal, on a private clone that is gone."
ALREADY_DELTA = "This is already a Delta table: nothing changed."
_AGAIN = "Request it again."


class LogUnreadable(LeveeError):
    """The table's log can't be read now, so Levee doesn't know whether the job has committed."""


DIGEST_CHANGED: dict[str, Any] = {
    "code": "stale",
    "message": "The stored request is no longer the one that Levee accepted: its digest differs.",
    "engine": None,
    "table_state": NOTHING,
    "what_to_do": "Have an auditor check the audit, then request it again.",
}
ATTEMPTS_EXHAUSTED: dict[str, Any] = {
    "code": "attempts_exhausted",
    "message": "Two attempts were lost with their workers; neither committed anything.",
    "engine": None,
    "table_state": NOTHING,
    "what_to_do": "Check the workers' logs for the cause, then request it again.",
}
UNPROVEN: dict[str, Any] = {
    "code": "stale",
    "message": "The worker was lost on another host, where Levee can't prove its end. Levee found no commit of this job.",
    "engine": None,
    "table_state": "Levee found no commit of this job; a late one would appear here.",
    "what_to_do": "Check that host and the table's history, then request it again if you still want it.",
}

UNREADABLE: dict[str, Any] = {
    "code": "stale",
    "message": "The worker was lost, and Levee could not read the table's log to look for a commit of this job.",
    "engine": None,
    "table_state": "Unknown: until an hour after the job's end, Levee looks for its commit and shows it here.",
    "what_to_do": "Make the table's location readable again, check its history, then request it again if you still want it.",
}
PREVIEW_LOST: dict[str, Any] = {
    "code": "attempts_exhausted",
    "message": "Two attempts at the preview were lost with their workers.",
    "engine": None,
    "table_state": NOTHING,
    "what_to_do": "Check the interactive worker's log for the cause, then request it again.",
}


def refused(refusals: Sequence[Refusal]) -> dict[str, Any]:
    """The job's `error` for refusals before any change: the first one leads, and all are listed."""
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
    return {
        "code": "engine_failed",
        "message": failure.message.splitlines()[0][:1000] if failure.message else "Spark failed without a message.",
        "engine": failure.as_json(),
        "table_state": table_state,
        "what_to_do": _remedy(failure),
    }


def _remedy(failure: EngineFailure) -> str:
    if failure.retryable:
        return "Your request is fine: submit it again."
    cause = cause_led_by(failure.message)
    if cause:
        return cause.remedy
    return remedy_of(failure.condition) or "Fix what the message names, then request it again."


def swapped(job: Job, error: DirectorySwapped) -> dict[str, Any]:
    """The job's `error` when its directory was swapped while Spark changed it: reading there now proves nothing."""
    return {
        "code": "directory_swapped",
        "message": str(error),
        "engine": None,
        "place": job.location,
        "table_state": (
            f"Unknown: a commit with this job's id may be in the log of the directory that was approved, wherever it is now,"
            f" or of the one that was at {job.location} in its place."
        ),
        "what_to_do": "Find out who writes there, look for the commit in both places, and put the directory back before a new request.",
    }


def limit_reached(what: str, seconds: float) -> dict[str, Any]:
    """The job's `error` for a run or preview past its time limit."""
    return {
        "code": "time_limit",
        "message": f"The job reached the limit of {seconds:.0f} s for {what}, and Levee stopped Spark.",
        "engine": None,
        "table_state": NOTHING,
        "what_to_do": "Request less at once, or ask an administrator to raise the limit.",
    }


def broken(job: Job, worker: str, error: Exception) -> dict[str, Any]:
    """The job's `error` for an unexpected error in Levee before any commit."""
    return {
        "code": "broken",
        "message": f"Something went wrong in Levee ({type(error).__name__}). The log of {worker} has the details under job {job.pk}.",
        "engine": None,
        "table_state": NOTHING,
        "what_to_do": "Your request is fine. Ask an administrator to look at the error first: the same request may fail again.",
    }


def broken_afterwards(result: Result, worker: str, error: Exception) -> Result:
    """The job's result when Levee failed after the commit, with a text that says which checks are missing."""
    text = (
        f"Committed as version {result.version}. Then something went wrong in Levee ({type(error).__name__};"
        f" the log of {worker} has the details), so it skipped its checks after the commit."
    )
    return replace(result, details={**result.details, "text": text})


def moved(why: str) -> dict[str, Any]:
    """The job's `error` when its table has moved since the approved preview."""
    return {
        "code": "stale",
        "message": why,
        "engine": None,
        "table_state": NOTHING,
        "what_to_do": "Request it again: Levee previews the new request on the current table.",
    }


def judged(job: Job, result: Result) -> Result:
    """The result, with `drifted` if the commit followed another version than the drift check saw, and with a warning if readers of
    another format don't see it."""
    checked = (job.drift or {}).get("head_version")
    drifted = None not in (checked, result.read_version) and result.read_version != checked
    return _warned(job, replace(result, drifted=drifted) if drifted else result)


def _warned(job: Job, result: Result) -> Result:
    if result.version is None or result.operation == operations.END:  # which changes no row
        return result
    properties = Table.objects.filter(pk=job.table_id).values_list("properties", flat=True).first()
    formats = other_formats(properties or {})
    return with_warnings(result, still_unseen(formats, result.version)) if formats else result


def success_text(result: Result) -> str:
    """The sentence for a run that succeeded. The table's own sentence beside it names the committed version."""
    if result.no_op:
        return str(result.details.get("text") or "There was nothing to do.")
    return f"{result.operation} finished." if result.version is not None else "Done."


def committed(job: Job) -> Result | None:
    """The job's commit, found by its mark in the table's own log after the previewed version; None if there is none.

    Raises Unreadable. A missing directory, an empty prefix or log, or one without all commits since proves nothing: its file system
    may not be mounted, and commits may have been cleaned up.
    """
    with _readable(job):
        commit = log_access.find_mark(job.location, job.pk, job.base_version)
    return _result(commit) if commit else None


def all_committed(job: Job) -> Result | None:
    """As `committed`, of a job whose run makes several commits: the last one, with `details.commits` for all of them.

    `commits` are `{version, operation, operation_parameters}`, oldest first; `start_version` and `read_version` are of the first.
    Raises Unreadable.
    """
    with _readable(job):
        commits = log_access.find_marks(job.location, job.pk, job.base_version)
    if not commits:
        return None
    last = _result(commits[-1])
    versions = ", ".join(f"{commit.version:,}" for commit in commits)
    text = (
        last.details["text"]
        if len(commits) == 1
        else f"Levee found its commits in the table's history as versions {versions}."
    )
    listed = [_as_listed(commit) for commit in commits]
    details = {"text": text, "commits": listed, "start_version": commits[0].version}
    return replace(last, read_version=commits[0].read_version, details=details)


def _as_listed(commit: LogCommit) -> dict[str, Any]:
    parameters = _texts(commit.operation_parameters)
    return {"version": commit.version, "operation": commit.operation, "operation_parameters": parameters}


def committed_after(job: Job, since: int, most: int) -> tuple[Result | None, int]:
    """As `committed`, but in at most `most` commits after `since`; also returns the last version it read."""
    with _readable(job):
        commit, reached = log_access.look_for_mark(job.location, job.pk, since, most)
    return _result(commit) if commit else None, reached


@contextmanager
def _readable(job: Job) -> Iterator[None]:
    if not stores.is_remote(job.location) and not Path(job.location).is_dir():
        raise LogUnreadable(f"{job.location} is not there now.")
    try:
        if stores.is_remote(job.location) and not _may_be_empty(job):
            _require_keys(job.location)
        yield
    except (StorageError, OSError) as error:
        raise LogUnreadable(f"The table's log can't be read now: {error}") from error


def _may_be_empty(job: Job) -> bool:
    """Whether the job may have begun where no key lay: one that makes its table, or a stream's round before its target has a commit."""
    if job.base_version is not None or job.table.version is not None:
        return False
    if (job.preview or {}).get("begins_empty"):
        return True
    return StreamRound.objects.filter(job=job).exists()


def _require_keys(location: str) -> None:
    """An empty prefix, or a directory that is gone, proves nothing: the name may lead elsewhere by now. Raises Unreadable, StorageError."""
    if not stores.is_there(location):
        raise LogUnreadable(f"Nothing lies below {location} now.")


def _result(commit: LogCommit) -> Result:
    return Result(
        version=commit.version,
        operation=commit.operation,
        operation_parameters=_texts(commit.operation_parameters),
        operation_metrics=_texts(commit.operation_metrics),
        read_version=commit.read_version,
        num_affected_rows=affected_rows(commit.operation_metrics or {}),
        details={"text": f"Levee found it in the table's history as version {commit.version}."},
    )


def _texts(values: Mapping[str, str | None] | None) -> dict[str, str]:
    return {name: value for name, value in (values or {}).items() if value is not None}
