"""Whether and how long you can undo a change: Delta refuses a version once its own commit is older than the table keeps removed files,
and one whose metadata it can't commit anew."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from jobs.domain.errors import CommandRefused
from jobs.domain.states import IN_REVIEW
from jobs.models import Job
from jobs.targets.metadata import refuse_older_metadata
from tables.history.queries import state_at
from tables.history.reachability import TableReach
from tables.models import Commit, Table
from tables.record.commit_rows import tree_of
from tables.record.table_fields import protocol_of


@dataclass(frozen=True, slots=True)
class Undo:
    """The version to go back to, whether that is possible now, and the moment when it stops to be (None: unknown)."""

    version: int
    possible: bool
    until: datetime | None
    why: str | None


def undo_to(table: Table, version: int) -> Undo:
    """The undo window of a version, once it is no longer the newest. Six queries at most."""
    now = timezone.now()
    commit = Commit.objects.filter(table=table, incarnation=table.incarnation, version=version).first()
    if commit is None or commit.committed_at is None:
        return Undo(version, possible=False, until=None, why="The catalog doesn’t know this version; sync the table.")
    reach = TableReach(table, now)
    reachable = reach.of(commit)
    until = _end(commit.committed_at, reach.retention)
    if reachable.restorable and until is not None and until <= now:
        why = "Delta refuses to restore a version that is older than delta.deletedFileRetentionDuration."
        return Undo(version, possible=False, until=until, why=why)
    if reachable.restorable:
        try:
            refuse_by_catalog(table, version)
        except CommandRefused as refused:
            return Undo(version, possible=False, until=None, why=refused.refusals[0].message)
    return Undo(version, reachable.restorable, until, reachable.why)


def refuse_by_catalog(table: Table, version: int) -> None:
    """Raises CommandRefused as Delta would refuse a restore to the version for its metadata, by what the catalog knows of it: an older log
    isn't read."""
    known = state_at(table, version)
    struct = tree_of(known.schema)
    if struct is not None and known.properties is not None:
        properties = {name: value for name, value in known.properties.items() if value is not None}
        protocols = protocol_of(table.protocol), protocol_of(known.protocol)
        refuse_older_metadata(version, protocols, properties, struct, known.partition_columns or (), table.path)


def _end(begin: datetime, retention: timedelta) -> datetime | None:
    """None after the last day of the calendar: a log may say that it was written in the year 9999."""
    try:
        return begin + retention
    except OverflowError:
        return None


def version_before(job: Job) -> int | None:
    """The version that an undo of the job restores: the one before its commit, or, while it waits, the newest known one."""
    if job.version is not None:
        return job.version - 1
    base = (job.preview or {}).get("measured_at_version")
    return None if base is None or job.state not in IN_REVIEW else max(int(base), job.table.version or 0)
