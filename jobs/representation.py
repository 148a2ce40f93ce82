"""Jobs as plain values in the contract's shape; a constant number of queries for any number of jobs."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import F, Func, JSONField, Prefetch, Value, prefetch_related_objects
from django.utils import timezone

from jobs.domain.policy import APPROVER
from jobs.domain.states import State, table_state
from jobs.handling import handling_of
from jobs.models import Attempt, Decision, Job
from jobs.queries import state_sentence
from jobs.serializers import PREVIEWS, JobSerializer

RUNS = Prefetch("attempts", Attempt.objects.filter(kind=Attempt.Kind.RUN).order_by("claimed_at"), to_attr="runs")


WAITS = frozenset({State.AWAITING_APPROVAL, State.QUEUED})
# What a job needs isn't known before its preview has ended.
UNDECIDED = {"required_approvals": 0, "role": APPROVER, "reasons": []}


DECISIONS = Prefetch("decisions", Decision.objects.select_related("person"), to_attr="decided")


class Without(Func):
    """A JSON object less one of its names: `value - 'name'`."""

    template = "(%(expressions)s)"
    arg_joiner = " - "
    output_field = JSONField()


def job_json(job: Job) -> dict[str, Any]:
    """One job. Its table and who asked must be loaded."""
    return jobs_json([job])[0]


def job_json_now(job: Job) -> dict[str, Any]:
    """The same; while it waits, its drift is what the log says now."""
    if job.state in WAITS and (drift := handling_of(job.command).look(job)) is not None:
        job.drift, job.drift_at = drift.as_json(), timezone.now()
    return job_json(job)


def jobs_json(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Several jobs; three queries."""
    prefetch_related_objects(jobs, RUNS, DECISIONS)
    previews = _previews(job.pk for job in jobs)
    return [dict(JobSerializer(_values(job, previews.get(job.pk))).data) for job in jobs]


def _previews(ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, Any]:
    """The previews without their lists of files, which are the run's own and long."""
    shown = Without(F("preview"), Value("manifest"))
    return dict(Job.objects.filter(pk__in=list(ids)).annotate(shown=shown).values_list("pk", "shown"))


def _shown_preview(command: str, preview: Any) -> Any:
    """In the shape of its command; as it is stored for one that this build doesn't know."""
    shape = PREVIEWS.get(command)
    return preview if preview is None or shape is None else shape(preview).data


def _values(job: Job, preview: Any) -> dict[str, Any]:
    state = State(job.state)
    return {
        "id": job.pk,
        "command": job.command,
        "parameters": job.parameters,
        "table": {"id": job.table_id, "name": job.table.name, "path": job.table.path},
        "state": job.state,
        "state_text": state_sentence(job),
        "table_state_text": table_state(state, job.version, no_op=job.no_op),
        "requested_by": job.requested_by.name,
        "requested_at": job.requested_at,
        "reason": job.reason,
        "digest": job.digest,
        "base_version": job.base_version,
        "expires_at": job.expires_at,
        "policy": job.policy or UNDECIDED,
        "approvals": job.decided,  # type: ignore[attr-defined]  # prefetched by DECISIONS
        "preview": _shown_preview(job.command, preview),
        "drift": job.drift and {**job.drift, "checked_at": job.drift_at},
        "progress": {"stage": None, "done": None, "total": None, **job.progress},
        "attempts": job.runs,  # type: ignore[attr-defined]  # prefetched by RUNS
        "result": job.result,
        "error": job.error,
        "finished_at": job.finished_at,
    }
