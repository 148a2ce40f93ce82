"""Pages of a review: the request as a pull request, its checks and its rows, decisions, and what waits for whom."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from console.accounts.permissions import asks, person_of
from console.accounts.roles import Permission
from console.accounts.step_up import confirm_url, is_recent, require_recent
from console.audit.actor import Actor
from console.errors import Problem
from jobs import (
    approval_queries,
    queries,
    review_checks,
    review_queries,
    reviews,
    row_views,
    samples,
    services,
    undo_queries,
)
from jobs.models import Job
from jobs.review_forms import CommentForm, DecisionForm, EditForm, UndoForm, given


@asks(Permission.TABLE_READ)
@require_http_methods(["GET", "POST"])
def review(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """A request as it was or is reviewed. A POST does what its `act` says; each service asks for its own permission."""
    job = queries.job_for(person_of(request), job_id)
    if job.command not in review_queries.REVIEWED:
        return redirect("jobs:detail", job.pk)
    return _act(request, job) if request.method == "POST" else page(request, job)


@asks(Permission.TABLE_READ)
@require_GET
def review_now(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """The review as it is now, for a page that shows an older one; nothing where nothing has changed."""
    job = queries.job_for(person_of(request), job_id)
    if not review_queries.in_review(job):
        return HttpResponseClientRedirect(reverse("jobs:detail", args=[job.pk]))
    if request.GET.get("seen") == review_queries.seen_key(job):
        return HttpResponse(status=204)
    return render(request, "jobs/_review.html", _context(request, job, request.GET.get("digest")))


@asks(Permission.TABLE_READ)
@require_GET
def checks(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """The checks of a request, asked of the log now."""
    job = queries.job_for(person_of(request), job_id)
    return render(request, "jobs/_review_checks.html", {"job": job, "checks": review_checks.checks_of(job)})


@asks(Permission.TABLE_ROWS)
@require_GET
def sample(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Some of the rows that a delete is about, read for this viewer; an event each time."""
    job = queries.job_for(person_of(request), job_id)
    found = row_views.asked_now(lambda: samples.ask_sample(Actor.of(request), job))
    return render(request, "jobs/_rows.html", found)


@asks(Permission.JOB_DECIDE, Permission.JOB_REQUEST)
@require_GET
def approvals(request: HttpRequest) -> HttpResponse:
    """What waits for me, what I asked for, what I decided."""
    person, shown = person_of(request), request.GET.get("show", "waiting")
    return render(request, "jobs/approvals.html", approval_queries.page_of(person, shown))


@asks(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def undo(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Asks for the restore that takes a job's commit back; the later commits that go with it must be ticked."""
    job = queries.job_for(person_of(request), job_id)
    later = undo_queries.later_of(job)
    form = UndoForm(request.POST or None, later=undo_queries.choices(later))
    problem = None
    if request.method == "POST":
        try:
            wanted = given(form)
            return redirect(
                "jobs:detail", reviews.undo(Actor.of(request), job, wanted["reason"], form.accepted()).job.pk
            )
        except Problem as refused:
            if refused.status >= 500:
                raise
            problem = refused
    context = {"job": job, "form": form, "problem": problem, **undo_queries.page_of(job, later)}
    return render(request, "jobs/undo.html", context, status=problem.status if problem else 200)


def page(request: HttpRequest, job: Job, problem: Problem | None = None) -> HttpResponse:
    """The whole page; with a problem, what was typed is still there."""
    context = _context(request, job, None) | {"problem": problem}
    if "look" in request.GET:
        context["checks"] = review_checks.checks_of(job)
    return render(request, "jobs/review.html", context, status=problem.status if problem else 200)


def _context(request: HttpRequest, job: Job, digest_read: str | None) -> dict[str, Any]:
    """`digest_read` is the digest of the page that a fragment belongs to: nobody decides on what has changed beneath them."""
    shown = review_queries.review_of(person_of(request), job)
    read = (job.digest or "") if digest_read is None else digest_read
    here = reverse("jobs:detail", args=[job.pk])
    now = {"digest": read, "seen": review_queries.seen_key(job)}
    return {
        "review": shown,
        "has_changed": bool(read) and read != job.digest,
        "now_url": f"{reverse('jobs:review_now', args=[job.pk])}?{urlencode(now)}" if not shown["is_ended"] else None,
        "confirm_url": None if is_recent(request) else confirm_url(here),
        "rows_url": _rows_url(job),
        **_forms(request, job),
    }


def _rows_url(job: Job) -> str:
    """The page of rows that shows the same without a script."""
    version = (job.preview or {}).get("measured_at_version")
    asked = {"predicate": job.parameters.get("predicate"), "version": version, "limit": samples.ROWS}
    known = {name: value for name, value in asked.items() if value is not None}
    return f"{reverse('jobs:rows', args=[job.table_id])}?{urlencode(known)}"


def _forms(request: HttpRequest, job: Job) -> dict[str, forms.Form]:
    """The forms of the page; the one that was sent holds what was typed, but never an old digest."""
    typed, act = request.POST, request.POST.get("act")
    kept = typed.get("comment", "") if act in ("approve", "reject") else ""
    edited = typed if act == "edit" else None
    predicate = job.parameters.get("predicate")
    return {
        "decision_form": DecisionForm(auto_id="decide-%s", initial={"digest": job.digest, "comment": kept}),
        "comment_form": CommentForm(typed if act == "comment" else None, auto_id="say-%s"),
        "edit_form": EditForm(
            edited,
            auto_id="edit-%s",
            whole_table=predicate is None,
            initial={"predicate": predicate, "reason": job.reason},
        ),
    }


def _act(request: HttpRequest, job: Job) -> HttpResponse:
    act = ACTS.get(request.POST.get("act", ""))
    try:
        if act is None:
            raise Problem(400, "invalid", "The form says nothing that can be done here. Nothing was done.")
        act(request, job)
    except Problem as problem:
        if problem.status >= 500 or problem.code == "step_up_required":
            raise
        return page(request, queries.job_for(person_of(request), job.pk), problem)
    return redirect("jobs:detail" if job.state in review_queries.IN_REVIEW else "jobs:review", job.pk)


def _approve(request: HttpRequest, job: Job) -> None:
    decision = given(DecisionForm(request.POST))
    require_recent(request)
    reviews.approve(Actor.of(request), job, decision["digest"], decision["comment"])


def _reject(request: HttpRequest, job: Job) -> None:
    decision = given(DecisionForm(request.POST))
    reviews.reject(Actor.of(request), job, decision["digest"], decision["comment"])


def _comment(request: HttpRequest, job: Job) -> None:
    reviews.comment(Actor.of(request), job, given(CommentForm(request.POST))["comment"])


def _edit(request: HttpRequest, job: Job) -> None:
    wanted = given(EditForm(request.POST, whole_table=job.parameters.get("predicate") is None))
    reviews.edit(Actor.of(request), job, wanted["predicate"], wanted["reason"])


def _withdraw(request: HttpRequest, job: Job) -> None:
    services.withdraw(Actor.of(request), job)


ACTS: dict[str, Callable[[HttpRequest, Job], None]] = {
    "approve": _approve,
    "reject": _reject,
    "comment": _comment,
    "edit": _edit,
    "withdraw": _withdraw,
}
