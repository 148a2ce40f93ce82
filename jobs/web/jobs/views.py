"""The list of jobs, and the act that cancels one."""

from __future__ import annotations

import uuid
from dataclasses import replace
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from console.accounts.lists import in_order, listing_of
from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.pagination import pager
from console.base.questions import ask, is_answered
from jobs.lifecycle import cancelling
from jobs.targets.access import job_for
from jobs.web.jobs import queries, questions
from jobs.web.jobs.forms import JobFilterForm
from jobs.web.jobs.short_ids import beginning_with
from jobs.web.kinds import JOBS
from tables.web.table import page_header

ORDERS = {"newest": queries.NEWEST, "oldest": queries.OLDEST}


@requires(Permission.TABLE_READ)
@require_GET
def job_list(request: HttpRequest) -> HttpResponse:
    """Every job that you may see, newest first unless you have it otherwise."""
    person, form = person_of(request), JobFilterForm(request.GET)
    wanted = form.wanted()
    arranged = listing_of(person, JOBS, request.GET)
    order = request.GET.get("order") or arranged.order or "newest"
    is_oldest_first = order == "oldest"
    keys = ORDERS.get(order, queries.NEWEST)
    listed = queries.row_page(person, wanted, arranged.rows, request.GET.get("cursor", ""), keys)
    jobs = [queries.row(job) for job in listed.rows]
    words = {"next_text": "Newer", "previous_text": "Older"} if is_oldest_first else {"next_text": "Older"}
    page = {
        **pager(in_order(request.GET, order), listed, **words),
        "jobs": jobs,
        "filtered": bool(replace(wanted, table="")),
    }
    context = {
        "page": page,
        "filters": form.visible_fields(),
        "passed_on": form.hidden_fields(),
        "listing": arranged,
        "is_oldest_first": is_oldest_first,
        "turned_url": _turned(request, "newest" if is_oldest_first else "oldest"),
    }
    around = page_header.around(person, wanted.table, "jobs")
    template = "jobs/jobs/of_table.html" if around else "jobs/jobs/list.html"
    return render(request, template, {**around, **context}, status=400 if form.errors else 200)


@requires(Permission.TABLE_READ)
@require_GET
def job_by_short_id(request: HttpRequest, short: str) -> HttpResponse:
    """Leads to the job whose id begins so, as pages show it; to the list where several do."""
    found = beginning_with(person_of(request), short)
    if not found:
        raise Http404
    if len(found) > 1:
        return redirect(f"{reverse('jobs:list')}?{urlencode({'id': short})}")
    return redirect("jobs:detail", found[0])


def _turned(request: HttpRequest, order: str) -> str:
    """The same list in the other order, from its start."""
    query = request.GET.copy()
    query.pop("cursor", None)
    query["order"] = order
    return f"?{query.urlencode()}"


@requires(Permission.JOB_REQUEST, Permission.JOB_CANCEL_ANY)
@require_http_methods(["GET", "POST"])
def job_cancel(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Cancels a job, after a question."""
    job = job_for(person_of(request), job_id)
    if not is_answered(request):
        return ask(request, questions.of_cancel(job))
    cancelling.cancel(Actor.of(request), job)
    return redirect("jobs:detail", job_id)
