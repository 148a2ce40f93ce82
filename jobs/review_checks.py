"""The checks of a request, each with its verdict in words: what holds now, asked of the log while somebody looks."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from jobs.domain.states import State
from jobs.handling import Drift, handling_of
from jobs.handling.delete import OTHER_FILES
from jobs.models import Job
from jobs.policies import approvals, required
from jobs.services import digest_of
from jobs.undoing import undo_to, version_before

WAITS = frozenset({State.AWAITING_APPROVAL, State.QUEUED})


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `level` is a banner's: success, info, warning, error, unknown."""

    level: str
    title: str
    text: str


def checks_of(job: Job) -> list[Check]:
    """All of them, those that ask something of a person first. Reads the table's log."""
    if job.state not in WAITS:
        return [Check("info", "Not measured yet.", "The checks begin when Spark has counted.")]
    found = [*_drift(job), _quorum(job), _digest(job), *_undo(job)]
    return sorted(found, key=lambda check: check.level == "success")


def _quorum(job: Job) -> Check:
    have, need = approvals(job), required(job)
    if have >= need:
        return Check("success", "It has its approvals.", f"{have} of {need}; counted again when a worker takes it.")
    return Check("info", f"It has {have} of {need} approvals.", "It runs by itself when it has them all.")


def _digest(job: Job) -> Check:
    if digest_of(job) == job.digest:
        return Check("success", "The digest holds.", "It was computed again from the stored request just now.")
    return Check("error", "The digest differs.", "The stored request isn’t the one that was accepted; it won’t run.")


def _drift(job: Job) -> list[Check]:
    drift = handling_of(job.command).look(job)
    if drift is None:
        return []
    if not drift.moved:
        same = "Schema and partitioning are those of the preview."
        return [Check("success", "The table is as it was measured.", f"{drift.why} {same}")]
    return [_moved(drift)]


def _moved(drift: Drift) -> Check:
    """Where Spark is needed to tell, it may still go well; everything else ends stale."""
    if drift.why == OTHER_FILES:
        return Check("warning", "The table has moved.", f"It is at version {drift.head_version:,} now. {drift.why}")
    text = f"{drift.why} Ask again to have it measured anew."
    return Check("error", "The table has moved: this would end stale.", text)


def _undo(job: Job) -> list[Check]:
    version = version_before(job)
    if version is None:
        return []
    undo = undo_to(job.table, version)
    if undo.until is None or not undo.possible:
        return [Check("warning", "It can’t be undone once it has run.", undo.why or "")]
    days = (undo.until - timezone.now()).days
    left = f"{days} days" if days > 1 else "a short time"
    text = f"Version {version:,} can be restored for {left} more: until {undo.until:%Y-%m-%d %H:%M} UTC."
    return [Check("success", "It can be undone.", text)]
