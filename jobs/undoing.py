"""Until when a change can be undone: Delta refuses a version once its own commit is older than the table keeps removed files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from jobs.domain.states import State
from jobs.models import Job
from tables.models import Commit, Table
from tables.reach import Reach

WAITING = frozenset({State.PREVIEWING, State.AWAITING_APPROVAL, State.QUEUED})


@dataclass(frozen=True, slots=True)
class Undo:
    """The version to go back to, whether that is possible now, and the moment from which it is no more (None: unknown)."""

    version: int
    possible: bool
    until: datetime | None
    why: str | None


def undo_to(table: Table, version: int) -> Undo:
    """The way back to a version, once it isn't the newest any more. Four queries."""
    now = timezone.now()
    commit = Commit.objects.filter(table=table, incarnation=table.incarnation, version=version).first()
    if commit is None or commit.committed_at is None:
        return Undo(version, possible=False, until=None, why="The catalog doesn’t know this version; sync the table.")
    reach = Reach(table, now)
    found = reach.of(commit)
    until = commit.committed_at + reach.retention
    if found.restorable and until <= now:
        why = "Delta refuses to go back to a version that is older than delta.deletedFileRetentionDuration."
        return Undo(version, possible=False, until=until, why=why)
    return Undo(version, found.restorable, until, found.why)


def version_before(job: Job) -> int | None:
    """The version that an undo of the job goes back to: the one before its commit, or while it waits the newest that is known."""
    if job.version is not None:
        return job.version - 1
    base = (job.preview or {}).get("measured_at_version")
    return None if base is None or job.state not in WAITING else max(int(base), job.table.version or 0)
