"""Pages of jobs: the list, one job live, converting a directory, the workers."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts.models import Person
from console.accounts.permissions import asks, person_of
from console.accounts.roles import Permission
from console.audit.actions import Action
from console.audit.actor import Actor
from console.errors import Problem
from console.health import worker_state
from jobs import (
    locating,
    queries,
    reads,
    requests,
    review_outcome,
    review_queries,
    review_views,
    services,
    worker_services,
)
from jobs.domain.commands import Convert
from jobs.domain.partitions import TYPE_NAMES
from jobs.forms import JobFilterForm
from jobs.models import Read, Worker
from tables.queries import roots_of, visible_to

PAGE = 50


@asks(Permission.TABLE_READ)
@require_GET
def job_list(request: HttpRequest) -> HttpResponse:
    """Every job that one may see, newest first."""
    form = JobFilterForm(request.GET)
    given = form.cleaned_data if form.is_valid() else {}
    wanted = queries.Filter(state=given.get("state", ""), by=given.get("by", ""), table=str(given.get("table") or ""))
    found = queries.job_page(person_of(request), wanted, PAGE, request.GET.get("cursor", ""))
    page = {
        "jobs": [queries.row(job) for job in found.rows],
        "next_url": _with_cursor(request, found.next),
        "previous_url": _with_cursor(request, found.previous),
        "filtered": bool(wanted),
    }
    return render(request, "jobs/list.html", {"page": page, "filters": [form["state"], form["by"]]})


def _with_cursor(request: HttpRequest, cursor: str | None) -> str | None:
    if cursor is None:
        return None
    values = request.GET.copy()
    values["cursor"] = cursor
    return "?" + values.urlencode()


@asks(Permission.TABLE_READ)
@require_GET
def job_detail(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """One job: its review until it runs; then state in words, stages, log, result."""
    job = queries.job_for(person_of(request), job_id)
    if review_queries.in_review(job):
        return review_views.page(request, job)
    return render(request, "jobs/job.html", _job_context(request, job_id))


@asks(Permission.TABLE_READ)
@require_GET
def job_live(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """The part of a job's page that asks again while the job runs; what no poll changes stays in the page."""
    return render(request, "jobs/_live.html", _job_context(request, job_id) | {"polled": True})


def _job_context(request: HttpRequest, job_id: uuid.UUID) -> dict[str, Any]:
    person = person_of(request)
    job = queries.job_for(person, job_id)
    outcome = review_outcome.outcome_of(person, job) if job.command in review_queries.REVIEWED else None
    return {"job": queries.details(person, job), "outcome": outcome}


@asks(Permission.JOB_REQUEST, Permission.JOB_CANCEL_ANY)
@require_POST
def job_cancel(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Cancels a job."""
    services.cancel(Actor.of(request), queries.job_for(person_of(request), job_id))
    return redirect("jobs:detail", job_id)


@asks(Permission.TABLE_READ)
@require_http_methods(["GET", "POST"])
def convert(request: HttpRequest) -> HttpResponse:
    """Directory → inspection → request: the evidence first, then the decision."""
    if request.method == "POST":
        return _request_convert(request)
    path = request.GET.get("path", "").strip()
    if not path:
        return render(request, "jobs/convert.html", _start_context(person_of(request)))
    return _show_inspection(request, path)


def _start_context(person: Person) -> dict[str, Any]:
    candidates = visible_to(person).filter(format="parquet").order_by("name")[:50]
    return {"path": "", "roots": roots_of(person)[:20], "candidates": candidates}


def _show_inspection(request: HttpRequest, path: str, **extra: Any) -> HttpResponse:
    try:
        place = locating.by_path(Actor.of(request), path, Action.CONVERSION_INSPECT)
    except Problem as problem:
        context = {**_start_context(person_of(request)), "path": path, "problem": problem}
        return render(request, "jobs/convert.html", context, status=problem.status)
    read = _inspection(person_of(request), place.path, fresh=False)
    return render(request, "jobs/convert.html", {**_read_context(request, read, place), **extra})


def _inspection(person: Person, path: str, *, fresh: bool) -> Read:
    """The person's latest inspection of the directory, or a new one."""
    latest = Read.objects.filter(person=person, kind="inspect", question={"path": path}).order_by("-asked_at").first()
    if latest is not None and not fresh and not reads.is_over(latest):
        return latest
    return reads.ask(person, "inspect", Worker.Kind.INTERACTIVE, {"path": path})


def _read_context(request: HttpRequest, read: Read, place: locating.Place) -> dict[str, Any]:
    state = {"waiting": "pending", "running": "pending"}.get(read.state, read.state)
    return {
        "path": place.path,
        "read": {"state": state, "asked_at": read.asked_at, "error": reads.as_error(read)},
        "inspection": _with_choices(read.answer, request),
        "poll_url": reverse("jobs:inspection", args=[read.pk]) if state == "pending" else None,
        "spark_state": worker_state(Worker.Kind.INTERACTIVE),
        "partition_types": list(dict.fromkeys(TYPE_NAMES.values())),
        "may_request": person_of(request).scopes(Permission.JOB_REQUEST).covers_root(place.root.pk),
    }


@asks(Permission.TABLE_READ)
@require_GET
def inspection(request: HttpRequest, read_id: uuid.UUID) -> HttpResponse:
    """The part of the convert page that asks again until the inspection is there."""
    read = get_object_or_404(Read, pk=read_id, person=person_of(request), kind="inspect")
    place = locating.by_path(Actor.of(request), read.question["path"], Action.CONVERSION_INSPECT)
    return render(request, "jobs/_inspection.html", _read_context(request, read, place))


@asks(Permission.TABLE_READ)
@require_POST
def inspect_again(request: HttpRequest) -> HttpResponse:
    """A fresh inspection of the same directory."""
    place = locating.by_path(Actor.of(request), request.POST.get("path", ""), Action.CONVERSION_INSPECT)
    _inspection(person_of(request), place.path, fresh=True)
    return redirect(f"{reverse('jobs:convert')}?{urlencode({'path': place.path})}")


def _request_convert(request: HttpRequest) -> HttpResponse:
    path, reason = request.POST.get("path", ""), request.POST.get("reason", "")
    collect_stats = request.POST.get("collect_stats") != "false"
    command = Convert(
        path=path,
        name=None,
        source_format="parquet",
        partition_schema=_partition_schema(request),
        collect_stats=collect_stats,
    )
    try:
        made = requests.request_convert(Actor.of(request), command, reason)
    except Problem as problem:
        if problem.status not in {400, 409}:
            raise
        return _show_inspection(request, path, problem_request=problem, reason=reason, collect_stats=collect_stats)
    return redirect("jobs:detail", made.job.pk)


def _with_choices(found: dict[str, Any] | None, request: HttpRequest) -> dict[str, Any] | None:
    """The inspection with the types that the person had chosen, when a request was refused."""
    chosen = dict(zip(request.POST.getlist("column"), request.POST.getlist("type"), strict=False))
    if found is None or not chosen:
        return found
    columns = [c | {"chosen": chosen.get(c["name"], c["proposed_type"])} for c in found["partition_columns"]]
    return found | {"partition_columns": columns}


def _partition_schema(request: HttpRequest) -> str | None:
    columns = zip(request.POST.getlist("column"), request.POST.getlist("type"), strict=False)
    return ", ".join(f"{_quoted(name)} {kind}" for name, kind in columns) or None


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@asks(Permission.WORKER_MANAGE)
@require_GET
def workers(request: HttpRequest) -> HttpResponse:
    """Processes, queues, the dispatcher."""
    return render(request, "jobs/workers.html", _workers_context())


@asks(Permission.WORKER_MANAGE)
@require_GET
def workers_now(request: HttpRequest) -> HttpResponse:
    """The part of the workers page that asks again."""
    return render(request, "jobs/_workers.html", _workers_context())


def _workers_context() -> dict[str, Any]:
    return {"workers": queries.workers(), "queues": queries.queues(), "dispatcher": queries.dispatcher()}


@asks(Permission.WORKER_MANAGE)
@require_POST
def worker_drain(request: HttpRequest, worker_id: uuid.UUID) -> HttpResponse:
    """Lets a worker finish what it runs and claim nothing more; again: lets it claim."""
    worker_services.drain(Actor.of(request), get_object_or_404(Worker, pk=worker_id))
    return redirect("jobs:workers")


@asks(Permission.WORKER_MANAGE)
@require_POST
def worker_restart(request: HttpRequest, worker_id: uuid.UUID) -> HttpResponse:
    """Ends a worker with its JVM once it runs nothing; its supervisor starts another."""
    worker_services.restart(Actor.of(request), get_object_or_404(Worker, pk=worker_id))
    return redirect("jobs:workers")
