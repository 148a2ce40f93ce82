"""The list of jobs, and the button that cancels one."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.pagination import pager
from jobs.lifecycle import cancelling
from jobs.targets.access import job_for
from jobs.web.jobs import queries
from jobs.web.jobs.forms import JobFilterForm

PAGE = 50


@requires(Permission.TABLE_READ)
@require_GET
def job_list(request: HttpRequest) -> HttpResponse:
    """Every job that you may see, newest first."""
    form = JobFilterForm(request.GET)
    given = form.cleaned_data if form.is_valid() else {}
    wanted = queries.Filter(state=given.get("state", ""), by=given.get("by", ""), table=str(given.get("table") or ""))
    listed = queries.job_page(person_of(request), wanted, PAGE, request.GET.get("cursor", ""))
    jobs = [queries.row(job) for job in listed.rows]
    page = {**pager(request.GET, listed, "Older"), "jobs": jobs, "filtered": bool(wanted)}
    return render(request, "jobs/jobs/list.html", {"page": page, "filters": [form["state"], form["by"]]})


@requires(Permission.JOB_REQUEST, Permission.JOB_CANCEL_ANY)
@require_POST
def job_cancel(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Cancels a job."""
    cancelling.cancel(Actor.of(request), job_for(person_of(request), job_id))
    return redirect("jobs:detail", job_id)
