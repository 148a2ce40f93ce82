"""Whether a command that changes no row has left the table with as many as it had: by the statistics of the files that it replaced."""

from __future__ import annotations

from dataclasses import replace

from django.db.models import F, Q

from jobs.domain.comparison import ROWS_CHANGED
from jobs.domain.results import Result
from jobs.models import Job
from tables.models import Commit


def with_rows_changed(job: Job, result: Result) -> Result:
    """The result with `details.rows_changed`: by how many rows its commits made the table grow; None where files don't say.

    As it is once that is told, and while the catalog doesn't have the commits yet. One query at most.
    """
    if result.version is None or result.no_op or ROWS_CHANGED in result.details:
        return result
    first = result.version if result.read_version is None else result.read_version + 1
    own = Q(version=result.version) | Q(job=job.pk, version__gte=first, version__lte=result.version)
    commits = Commit.objects.filter(own, table=job.table_id, incarnation=F("table__incarnation"))
    pairs = list(commits.values_list("rows_added", "rows_removed"))
    if not pairs:
        return result
    known = [added - removed for added, removed in pairs if added is not None and removed is not None]
    grown = sum(known) if len(known) == len(pairs) else None
    return replace(result, details={**result.details, ROWS_CHANGED: grown})
