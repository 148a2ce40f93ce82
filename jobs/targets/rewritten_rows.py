"""Whether a command that changes no row has left the table with as many as it had: by the statistics of the files that it replaced."""

from __future__ import annotations

from dataclasses import replace

from django.db.models import F, Q

from jobs.domain.comparison import ROWS_CHANGED
from jobs.domain.results import Result
from jobs.models import Job
from tables.models import Commit
from tables.sync import log_access


def with_rows_changed(job: Job, result: Result) -> Result:
    """The result with `details.rows_changed`: by how many rows its commits made the table grow; None where files don't say.

    Syncs the catalog where it doesn't have the result's version yet, as after a lost run; unchanged if that doesn't get so far.
    """
    if result.version is None or result.no_op:
        return result
    commits = _commits(job, result)
    if result.version not in commits:
        log_access.sync(job.table_id)
        commits = _commits(job, result)
    if result.version not in commits:
        return result
    known = [added - removed for added, removed in commits.values() if added is not None and removed is not None]
    grown = sum(known) if len(known) == len(commits) else None
    return replace(result, details={**result.details, ROWS_CHANGED: grown})


def _commits(job: Job, result: Result) -> dict[int, tuple[int | None, int | None]]:
    """Rows added and removed by each of the job's commits that the catalog has, by version."""
    first = result.version if result.read_version is None else result.read_version + 1
    own = Q(version=result.version) | Q(job=job.pk, version__gte=first, version__lte=result.version)
    commits = Commit.objects.filter(own, table=job.table_id, incarnation=F("table__incarnation"))
    return {
        version: (added, removed)
        for version, added, removed in commits.values_list("version", "rows_added", "rows_removed")
    }
