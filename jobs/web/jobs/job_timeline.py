"""A job's full timeline: request, preview, decisions, runs, commit and undo."""

from __future__ import annotations

from typing import Any

from console.accounts.models import Person
from console.audit import presenters, queries
from jobs.commands.registry import title_of
from jobs.models import Attempt, Decision, Edit, Job
from jobs.web.jobs.queries import state_sentence
from tables.models import Explanation


def life_of(person: Person, job: Job) -> dict[str, Any]:
    """The page's context; a constant number of queries."""
    attempts = list(Attempt.objects.filter(job=job).order_by("claimed_at"))
    return {
        "job": job,
        "title": title_of(job),
        "sentence": state_sentence(job),
        "story": presenters.lines(queries.of_job(person, job.pk)),
        "previews": [attempt for attempt in attempts if attempt.kind == Attempt.Kind.PREVIEW],
        "attempts": [attempt for attempt in attempts if attempt.kind == Attempt.Kind.RUN],
        "decisions": list(Decision.objects.filter(job=job).select_related("person").order_by("decided_at")),
        "edits": list(Edit.objects.filter(job=job).select_related("person").order_by("id")),
        "undone_by": [(other, title_of(other)) for other in job.undone_by.select_related("table")],
        "undoes": job.undoes,
        "undoes_title": title_of(job.undoes) if job.undoes else "",
        "explanation": _explanation(job),
        "required": job.policy.get("required_approvals") if job.policy else None,
    }


def _explanation(job: Job) -> Explanation | None:
    """The attribution of the job's commit."""
    if job.version is None:
        return None
    return Explanation.objects.filter(table=job.table_id, job=job.pk, version=job.version).first()
