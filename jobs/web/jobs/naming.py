"""Jobs as pages name them: by their full title, with the reason."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jobs.commands.registry import title_of
from jobs.models import Job
from jobs.web.jobs.queries import titled

MOST_NAMED = 500


@dataclass(frozen=True, slots=True)
class JobName:
    """A job's title and reason, for a link to its page."""

    id: uuid.UUID
    title: str
    reason: str


def name_of(job: Job) -> JobName:
    """The job's name."""
    return JobName(job.pk, title_of(job), job.reason)


def name_by_id(job: uuid.UUID | None, table_id: uuid.UUID) -> JobName | None:
    """The name of the table's job with this id; None for no job, or one that isn't the table's."""
    return names_of([job], table_id).get(str(job)) if job else None


def names_of(jobs: Iterable[uuid.UUID | str], table_id: uuid.UUID) -> Mapping[str, JobName]:
    """The names by id, MOST_NAMED at most, in one query, of those that are the table's jobs.

    A commit may carry any job's mark: who sees this table may not see that job's.
    """
    wanted = list(dict.fromkeys(map(str, jobs)))[:MOST_NAMED]
    if not wanted:
        return {}
    rows = titled(Job.objects.filter(pk__in=wanted, table=table_id)).select_related("table")
    return {str(row.pk): name_of(row) for row in rows}
