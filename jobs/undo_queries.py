"""What an undo's page shows: the way back, and the later commits that go with it."""

from __future__ import annotations

from typing import Any

from jobs.models import Job
from jobs.review_figures import heading_of
from jobs.review_queries import request_of
from jobs.reviews import later_commits
from tables.models import Commit

# So many are ticked one by one; more are ticked together.
NAMED = 50


def later_of(job: Job) -> list[int]:
    """The versions after the job's own, as its table's log has them now; none for what can't be undone."""
    return later_commits(job) if job.command in ("delete", "restore") and job.version is not None else []


def choices(later: list[int]) -> dict[str, str]:
    """What there is to tick: each later commit, or all of them as one span."""
    if not later or len(later) <= NAMED:
        return {str(version): f"version {version:,}" for version in later}
    return {f"{later[0]}-{later[-1]}": f"all {len(later):,} of them, versions {later[0]:,} to {later[-1]:,}"}


def page_of(job: Job, later: list[int]) -> dict[str, Any]:
    """The undo of a job: what it was, until when, and the later commits as the catalog knows them, newest first."""
    known = Commit.objects.filter(table=job.table, incarnation=job.table.incarnation, version__in=later[-NAMED:])
    found = {commit.version: commit for commit in known}
    return {
        "asked": request_of(job),
        "heading": heading_of(job),
        "later": [{"version": version, "commit": found.get(version)} for version in reversed(later[-NAMED:])],
        "later_count": len(later),
        "together": len(later) > NAMED,
    }
