"""The checks of a request, each with its verdict in words: read from the log when you open the page."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from console.base import zones
from jobs.commands.base import Drift
from jobs.commands.registry import drift_by_log, not_undone
from jobs.domain.states import WAITS
from jobs.lifecycle.cancelling import digest_of
from jobs.models import Job
from jobs.policy.evaluate import approvals, required
from jobs.targets.undo_window import undo_to, version_before


@dataclass(frozen=True, slots=True)
class ReviewCheck:
    """One check. `level` is a banner's: success, info, warning, error, unknown."""

    level: str
    title: str
    text: str


def checks_of(job: Job) -> list[ReviewCheck]:
    """All checks, those that need your attention first. Reads the table's log."""
    if job.state not in WAITS:
        return [ReviewCheck("info", "Not measured yet.", "The checks begin once Spark has counted.")]
    checks = [*_drift(job), _quorum(job), _digest(job), *_undo(job)]
    return sorted(checks, key=lambda check: check.level == "success")


def _quorum(job: Job) -> ReviewCheck:
    have, need = approvals(job), required(job)
    if have >= need:
        return ReviewCheck(
            "success",
            "It has all its approvals.",
            f"{have} of {need}; Levee counts them again when a worker claims it.",
        )
    return ReviewCheck("info", f"It has {have} of {need} approvals.", "It runs on its own once it has them all.")


def _digest(job: Job) -> ReviewCheck:
    if digest_of(job) == job.digest:
        return ReviewCheck("success", "The digest holds.", "Levee just recomputed it from the stored request.")
    return ReviewCheck(
        "error", "The digest differs.", "The stored request isn’t the one that Levee accepted; it won’t run."
    )


def _drift(job: Job) -> list[ReviewCheck]:
    drift = drift_by_log(job)
    if drift is None:
        return []
    if not drift.moved:
        same = "Schema and partitioning are the same as in the preview."
        return [ReviewCheck("success", "The table is as it was measured.", f"{drift.why} {same}")]
    return [_moved(drift)]


def _moved(drift: Drift) -> ReviewCheck:
    """A drift that only Spark can judge may still run; any other ends stale."""
    if drift.spark_decides:
        return ReviewCheck(
            "warning", "The table has moved.", f"It is at version {drift.head_version:,} now. {drift.why}"
        )
    text = f"{drift.why} Request it again to measure the table as it is now."
    return ReviewCheck("error", "The table has moved: this would end stale.", text)


def _undo(job: Job) -> list[ReviewCheck]:
    if why := not_undone(job):
        return [ReviewCheck("warning", "It can’t be undone once it has run.", why)]
    version = version_before(job)
    if version is None:
        return []
    undo = undo_to(job.table, version)
    if undo.until is None or not undo.possible:
        return [ReviewCheck("warning", "It can’t be undone once it has run.", undo.why or "")]
    days = (undo.until - timezone.now()).days
    left = f"{days} days" if days > 1 else "a short time"
    text = f"You can restore version {version:,} for {left} more: until {zones.in_full(undo.until)}."
    return [ReviewCheck("success", "It can be undone.", text)]
