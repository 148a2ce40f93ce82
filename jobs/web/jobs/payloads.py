"""Jobs as plain values in the contract's shape; a constant number of queries for any number of jobs."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import F, Func, JSONField, Prefetch, Value, prefetch_related_objects
from django.utils import timezone

from jobs.commands.registry import drift_by_log
from jobs.domain.policy import APPROVER
from jobs.domain.states import WAITS
from jobs.models import Attempt, Decision, Job
from jobs.web.jobs.queries import state_sentence, table_state_sentence
from jobs.web.jobs.serializers import JobSerializer
from jobs.web.parts import shapes

RUNS = Prefetch("attempts", Attempt.objects.filter(kind=Attempt.Kind.RUN).order_by("claimed_at"), to_attr="runs")


# The approvals that a job needs aren't known before its preview has ended.
UNDECIDED = {"required_approvals": 0, "role": APPROVER, "reasons": []}


DECISIONS = Prefetch("decisions", Decision.objects.select_related("person"), to_attr="decided")


class Without(Func):
    """A JSON object less one of its names: `value - 'name'`."""

    template = "(%(expressions)s)"
    arg_joiner = " - "
    output_field = JSONField()


def job_json(job: Job) -> dict[str, Any]:
    """One job. Its table and requester must be loaded."""
    return jobs_json([job])[0]


def job_json_now(job: Job) -> dict[str, Any]:
    """The same; while it waits, with its drift from the log now."""
    if job.state in WAITS and (drift := drift_by_log(job)) is not None:
        job.drift, job.drift_at = drift.as_json(), timezone.now()
    return job_json(job)


def jobs_json(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Several jobs; three queries."""
    prefetch_related_objects(jobs, RUNS, DECISIONS)
    previews = _previews(job.pk for job in jobs)
    return [dict(JobSerializer(_values(job, previews.get(job.pk))).data) for job in jobs]


def _previews(ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, Any]:
    """The previews without their lists of files, which are long and only for the run."""
    shown = Without(F("preview"), Value("manifest"))
    return dict(Job.objects.filter(pk__in=list(ids)).annotate(shown=shown).values_list("pk", "shown"))


def _shown_preview(command: str, preview: Any) -> Any:
    """The preview in its command's shape; as stored for a command that this build doesn't know."""
    shape = shapes().get(command)
    return preview if preview is None or shape is None else shape.preview(preview).data


def _values(job: Job, preview: Any) -> dict[str, Any]:
    return {
        "id": job.pk,
        "command": job.command,
        "parameters": job.parameters,
        "table": {"id": job.table_id, "name": job.table.name, "path": job.table.path},
        "state": job.state,
        "state_text": state_sentence(job),
        "table_state_text": table_state_sentence(job),
        "requested_by": job.requested_by.name,
        "requested_at": job.requested_at,
        "reason": job.reason,
        "schedule": job.schedule_id,
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
