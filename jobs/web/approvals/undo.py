"""The data of an undo's page: the version to restore, and the later commits that it undoes too."""

from __future__ import annotations

from typing import Any

from jobs.approvals.decisions import later_commits
from jobs.commands.registry import heading_of, not_undone
from jobs.models import Job
from jobs.targets.lineage import undoing
from jobs.web.approvals.review_queries import request_of
from tables.models import Commit

# Up to this many commits you select one by one; more you select together.
NAMED = 50


def later_of(job: Job) -> list[int]:
    """The versions after the job's own in its table's log, read now; none for a job that can't be undone, or is undone already."""
    return later_commits(job) if job.version is not None and not not_undone(job) and not undoing(job) else []


def choices(later: list[int]) -> dict[str, str]:
    """The choices: each later commit, or all of them as one range."""
    if not later or len(later) <= NAMED:
        return {str(version): f"version {version:,}" for version in later}
    return {f"{later[0]}-{later[-1]}": f"all {len(later):,} of them, versions {later[0]:,} to {later[-1]:,}"}


def page_of(job: Job, later: list[int]) -> dict[str, Any]:
    """The undo of a job: the request, how long it is possible, and the later commits in the catalog, newest first."""
    known = Commit.objects.filter(table=job.table, incarnation=job.table.incarnation, version__in=later[-NAMED:])
    commits = {commit.version: commit for commit in known}
    return {
        "asked": request_of(job),
        "undone": undoing(job),
        "heading": heading_of(job),
        "later": [{"version": version, "commit": commits.get(version)} for version in reversed(later[-NAMED:])],
        "later_count": len(later),
        "together": len(later) > NAMED,
    }
