"""The page of one job: its review until it runs, then the job live. It stands above the pages of jobs and of approvals."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET
from django_htmx.http import HttpResponseClientRedirect

from console.accounts.models import Person
from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from jobs.commands.registry import has_outcome
from jobs.domain.states import State
from jobs.models import Job
from jobs.targets.access import job_for
from jobs.web.approvals import review_queries, views
from jobs.web.approvals.figures import rehearsed_of
from jobs.web.approvals.outcome import outcome_of
from jobs.web.jobs import queries
from jobs.web.parts import parts_of


@requires(Permission.TABLE_READ)
@require_GET
def job_detail(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """One job: its review until it runs; then state in words, stages, log, result."""
    job = job_for(person_of(request), job_id)
    if review_queries.in_review(job):
        return views.page(request, job)
    return render(request, "jobs/jobs/job.html", _job_context(request, job_id))


@requires(Permission.TABLE_READ)
@require_GET
def job_live(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """The part of a job's page that polls while the job runs; the rest of the page stays."""
    if review_queries.in_review(job_for(person_of(request), job_id)):
        return HttpResponseClientRedirect(
            reverse("jobs:detail", args=[job_id])
        )  # a rule requires approvals: it is a review now
    return render(request, "jobs/jobs/_live.html", _job_context(request, job_id))


def _job_context(request: HttpRequest, job_id: uuid.UUID) -> dict[str, Any]:
    person = person_of(request)
    job = job_for(person, job_id)
    outcome = outcome_of(person, job) if has_outcome(job.command) else None
    rehearsed = None if outcome else rehearsed_of(job)
    return {
        "job": queries.details(person, job),
        "outcome": outcome,
        "again_url": _again_url(person, job),
        "parts": parts_of(job),
        "rehearsed": rehearsed,
    }


def _again_url(person: Person, job: Job) -> str | None:
    """The page to request the same again on the table as it is now, if the job didn't succeed."""
    may_ask = person.scopes(Permission.JOB_REQUEST).covers_table(job.table.root_id, job.table_id)
    if not job.is_ended or job.state == State.SUCCEEDED or not may_ask:
        return None
    return parts_of(job).ask_again(job) or None
