"""Pages of a review: the request like a pull request, its checks and rows, decisions, and the list of approvals."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from console.accounts.lists import listing_of
from console.accounts.models import Person
from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.accounts.sign_in.drafts import entered
from console.accounts.sign_in.step_up import Purpose, confirm_url, is_recent, require_recent
from console.audit.actor import Actor
from console.base.errors import Problem
from console.base.questions import Question, ask, is_answered
from jobs.approvals import decisions
from jobs.commands.registry import sample_of
from jobs.domain.states import IN_REVIEW
from jobs.lifecycle import cancelling
from jobs.models import Job
from jobs.reads import sample_rows
from jobs.schedules import queries as schedule_queries
from jobs.targets.access import job_for
from jobs.web.approvals import checks as review_checks
from jobs.web.approvals import queries as approval_queries
from jobs.web.approvals import review_queries
from jobs.web.approvals import undo as undo_queries
from jobs.web.approvals.forms import CommentForm, DecisionForm, UndoForm, require_valid
from jobs.web.jobs import questions
from jobs.web.kinds import APPROVALS
from jobs.web.parts import parts_of
from jobs.web.prefilled import reason_in
from jobs.web.reads import row_views


@requires(Permission.TABLE_READ)
@require_http_methods(["GET", "POST"])
def review(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """The review of a request, open or ended. A POST runs its `act`; each service requires its own permission."""
    job = job_for(person_of(request), job_id)
    if request.method == "POST":
        return _act(request, job)
    return page(request, job) if review_queries.is_reviewed(job) else redirect("jobs:detail", job.pk)


@requires(Permission.TABLE_READ)
@require_GET
def review_now(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """The current review, for a page that shows an older one; nothing if nothing has changed."""
    job = job_for(person_of(request), job_id)
    if not review_queries.in_review(job):
        return HttpResponseClientRedirect(reverse("jobs:detail", args=[job.pk]))
    if request.GET.get("seen") == review_queries.seen_key(job):
        return HttpResponse(status=204)
    return render(request, "jobs/approvals/_review.html", _context(request, job, request.GET.get("digest")))


@requires(Permission.TABLE_READ)
@require_GET
def checks(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """The checks of a request, read from the log now."""
    job = job_for(person_of(request), job_id)
    return render(request, "jobs/approvals/_review_checks.html", {"job": job, "checks": review_checks.checks_of(job)})


@requires(Permission.TABLE_ROWS)
@require_GET
def sample(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Some of the rows that a delete matches, read for this viewer; the audit log records each read."""
    job = job_for(person_of(request), job_id)
    context = row_views.asked_now(job.table_id, lambda: sample_rows.ask_sample(Actor.of(request), job))
    return render(request, "jobs/reads/_rows.html", context)


@requires(Permission.JOB_DECIDE, Permission.JOB_REQUEST)
@require_GET
def approvals(request: HttpRequest) -> HttpResponse:
    """The requests that wait for you, those you made, and those you decided."""
    person, shown = person_of(request), request.GET.get("show", "waiting")
    arranged = listing_of(person, APPROVALS, request.GET)
    order = arranged.order_asked(request.GET, "")
    context = approval_queries.page_of(person, shown, arranged.rows, order) | {"listing": arranged}
    if context["shown"] == "waiting":
        context["schedules"] = schedule_queries.waiting_for(person)
    return render(request, "jobs/approvals/approvals.html", context)


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def undo(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Requests the restore that undoes a job's commit; you must select the later commits that it undoes too."""
    job = job_for(person_of(request), job_id)
    later = undo_queries.later_of(job)
    form = UndoForm(entered(request), later=undo_queries.choices(later), initial={"reason": reason_in(request)})
    problem = None
    if request.method == "POST":
        try:
            wanted = require_valid(form)
            return redirect(
                "jobs:detail", decisions.undo(Actor.of(request), job, wanted["reason"], form.accepted()).job.pk
            )
        except Problem as refused:
            if refused.status >= 500:
                raise
            problem = refused
    context = {"job": job, "form": form, "problem": problem, **undo_queries.page_of(person_of(request), job, later)}
    return render(request, "jobs/approvals/undo.html", context, status=problem.status if problem else 200)


def page(request: HttpRequest, job: Job, problem: Problem | None = None) -> HttpResponse:
    """The whole page; with a problem, it keeps what you typed."""
    context = _context(request, job, None) | {"problem": problem}
    if "look" in request.GET:
        context["checks"] = review_checks.checks_of(job)
    return render(request, "jobs/approvals/review.html", context, status=problem.status if problem else 200)


def _context(request: HttpRequest, job: Job, digest_read: str | None) -> dict[str, Any]:
    """`digest_read` is the digest of the page that a fragment belongs to: you can't decide on a request that changed meanwhile."""
    shown = review_queries.review_of(person_of(request), job)
    read = (job.digest or "") if digest_read is None else digest_read
    here = reverse("jobs:detail", args=[job.pk])
    now = {"digest": read, "seen": review_queries.seen_key(job)}
    return {
        "review": shown,
        "has_changed": bool(read) and read != job.digest,
        "now_url": f"{reverse('jobs:review_now', args=[job.pk])}?{urlencode(now)}" if not shown["is_ended"] else None,
        "confirm_url": None if is_recent(request) else confirm_url(here, Purpose.DECISION),
        "rows_url": _rows_url(job),
        "edit_open": "edit" in request.GET,
        **_forms(request, job),
    }


def _rows_url(job: Job) -> str:
    """The page of rows that shows the same without scripts."""
    known = {**(sample_of(job) or {}), "limit": sample_rows.ROWS}
    return f"{reverse('jobs:rows', args=[job.table_id])}?{urlencode(known)}"


def _forms(request: HttpRequest, job: Job) -> dict[str, forms.Form]:
    """The forms of the page; the submitted one keeps what you typed, but never an old digest."""
    typed = entered(request, reverse("jobs:review", args=[job.pk])) or QueryDict()
    act = typed.get("act")
    comment = typed.get("comment", "") if act in ("approve", "reject") else ""
    edited = typed if act == "edit" else None
    edit_form = parts_of(job).edit_form
    return {
        "decision_form": DecisionForm(auto_id="decide-%s", initial={"digest": job.digest, "comment": comment}),
        "comment_form": CommentForm(typed if act == "comment" else None, auto_id="say-%s"),
        **({"edit_form": edit_form(edited, job)} if edit_form else {}),
    }


def _act(request: HttpRequest, job: Job) -> HttpResponse:
    asked = request.POST.get("act", "")
    act, question = ACTS.get(asked), QUESTIONS.get(asked)
    if question is not None and not is_answered(request):
        return ask(request, question(job, person_of(request)))
    try:
        if act is None:
            raise Problem(400, "invalid", "This action isn’t possible here. Nothing was changed.")
        act(request, job)
    except Problem as problem:
        if problem.status >= 500 or problem.code == "step_up_required":
            raise
        return page(request, job_for(person_of(request), job.pk), problem)
    return redirect("jobs:detail" if job.state in IN_REVIEW else "jobs:review", job.pk)


def _approve(request: HttpRequest, job: Job) -> None:
    decision = require_valid(DecisionForm(request.POST))
    require_recent(request, Purpose.DECISION)
    decisions.approve(Actor.of(request), job, decision["digest"], decision["comment"])


def _reject(request: HttpRequest, job: Job) -> None:
    decision = require_valid(DecisionForm(request.POST))
    decisions.reject(Actor.of(request), job, decision["digest"], decision["comment"])


def _comment(request: HttpRequest, job: Job) -> None:
    decisions.comment(Actor.of(request), job, require_valid(CommentForm(request.POST))["comment"])


def _edit(request: HttpRequest, job: Job) -> None:
    edit_form = parts_of(job).edit_form
    change = require_valid(edit_form(request.POST, job)) if edit_form else {}
    decisions.edit(Actor.of(request), job, change, change.pop("reason", job.reason))


def _withdraw(request: HttpRequest, job: Job) -> None:
    cancelling.withdraw(Actor.of(request), job)


ACTS: dict[str, Callable[[HttpRequest, Job], None]] = {
    "approve": _approve,
    "reject": _reject,
    "comment": _comment,
    "edit": _edit,
    "withdraw": _withdraw,
}
QUESTIONS: dict[str, Callable[[Job, Person], Question]] = {
    "reject": questions.of_rejection,
    "withdraw": lambda job, _: questions.of_withdrawal(job),
}
