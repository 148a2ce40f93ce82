"""The data of an undo's page: the version to restore, and the later commits that it undoes too."""

from __future__ import annotations

from typing import Any

from console.accounts.models import Person
from jobs.approvals.decisions import later_commits
from jobs.commands.registry import back_to, not_undone, title_of, undo_request
from jobs.domain.errors import CommandRefused
from jobs.models import Job
from jobs.policy.needs import needs_of
from jobs.targets import lineage
from jobs.targets.undo_window import version_before
from jobs.web.approvals.figures import figures_at
from jobs.web.approvals.review_queries import request_of
from jobs.web.jobs.naming import name_by_id
from tables.models import Commit

# Up to this many commits you select one by one; more you select together.
NAMED = 50


def later_of(job: Job) -> list[int]:
    """The versions after the job's own in its table's log, read now; none for a job that can't be undone, or is undone already."""
    return later_commits(job) if job.version is not None and not not_undone(job) and not lineage.undoing(job) else []


def choices(later: list[int]) -> dict[str, str]:
    """The choices: each later commit, or all of them as one range."""
    if not later or len(later) <= NAMED:
        return {str(version): f"version {version:,}" for version in later}
    return {f"{later[0]}-{later[-1]}": f"all {len(later):,} of them, versions {later[0]:,} to {later[-1]:,}"}


def _meaning(person: Person, job: Job) -> dict[str, Any]:
    """What going back to the version before the job's commit would do, by the log alone, and the approvals that it would need.

    `unmeasured` says why the log can't tell; empty for a job that can't be undone.
    """
    before = version_before(job)
    if job.version is None or before is None or not_undone(job):
        return {}
    kind = back_to(job, before, ()).kind
    try:
        request = undo_request(job, before)
    except CommandRefused as refused:
        return {"unmeasured": str(refused), "needs": needs_of(person, kind, job.table, {})}
    preview = request.preview or {}
    return {"figures": figures_at(request, preview), "needs": needs_of(person, kind, job.table, preview)}


def page_of(person: Person, job: Job, later: list[int]) -> dict[str, Any]:
    """The undo of a job: the request, what going back means, and the later commits in the catalog, newest first."""
    known = Commit.objects.filter(table=job.table, incarnation=job.table.incarnation, version__in=later[-NAMED:])
    commits = {commit.version: commit for commit in known}
    undone = lineage.undoing(job)
    return {
        **_meaning(person, job),
        "asked": request_of(job),
        "undone": undone,
        "undone_named": name_by_id(undone.job, job.table_id) if undone else None,
        "heading": title_of(job),
        "later": [{"version": version, "commit": commits.get(version)} for version in reversed(later[-NAMED:])],
        "later_count": len(later),
        "together": len(later) > NAMED,
    }
