"""A job's whole life: what was asked, previewed and decided, what ran, what it committed, what took it back."""

from __future__ import annotations

from typing import Any

from console.accounts.models import Person
from console.audit import presenters, queries
from jobs.models import Attempt, Decision, Edit, Job
from jobs.queries import state_sentence
from jobs.titles import title_of
from tables.models import Explanation


def life_of(person: Person, job: Job) -> dict[str, Any]:
    """All that the page shows; a constant number of queries."""
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
        "explanation": _explanation(job),
        "required": job.policy.get("required_approvals") if job.policy else None,
    }


def _explanation(job: Job) -> Explanation | None:
    """What was found out about the job's commit."""
    if job.version is None:
        return None
    return Explanation.objects.filter(table=job.table_id, job=job.pk, version=job.version).first()
