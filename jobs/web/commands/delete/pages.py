"""The page that asks for a delete: which rows, what the log says of them at once, what that will need; then the request."""

from __future__ import annotations

import uuid
from functools import partial
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.delete.rules import Delete
from jobs.commands.delete.wording import branch_title, ways_of
from jobs.domain.errors import CommandRefused
from jobs.domain.predicates.printing import to_text
from jobs.lifecycle.worker_states import worker_state
from jobs.models import Read, Worker
from jobs.policy.needs import needs_of
from jobs.reads import queue
from jobs.requests import asking, rehearsals
from jobs.targets.access import table_to_change
from jobs.targets.problems import problem_of_refused
from jobs.targets.subject import Subject
from jobs.targets.undo_window import undo_to
from jobs.targets.writable import subject_to_change
from jobs.web.asked_table import SAID_ON_THE_PAGE, asked_of
from jobs.web.commands.delete import estimate
from jobs.web.commands.delete.edit import edit_form
from jobs.web.commands.delete.forms import NOT_BEGUN, WHOLE, AskedCondition, Condition, asked_in, condition_of
from jobs.web.parts import Answer, Parts, on_table
from jobs.web.prefilled import again_at
from tables.catalog import listing
from tables.deltalog.rules.retention import deleted_file_retention
from tables.models import Table
from tables.ports import Offer

NOTHING = "No row matches this condition, so there is nothing to request."


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Condition and preview; with the request's button, the job."""
    table = table_to_change(Actor.of(request), table_id)
    try:
        subject = subject_to_change(table.pk)
    except CommandRefused as refused:
        return _impossible(request, table, problem_of_refused(refused))
    asked = asked_in(request, table.pk)
    context = _context(request, subject, asked)
    if asked.act != "request":
        return render(request, "jobs/delete/page.html", context | _counted(request, subject, asked, context))
    return _requested(request, subject, asked, context)


@requires(Permission.JOB_REQUEST)
@require_POST
def delete_preview(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """The parts of the page that follow what is typed: the other side, the preview, what it will need."""
    table = table_to_change(Actor.of(request), table_id)
    try:
        context = _context(request, subject_to_change(table.pk), asked_in(request, table.pk))
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None
    return render(request, "jobs/delete/_answer.html", context)


@requires(Permission.JOB_REQUEST)
@require_POST
def delete_count(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Spark's count beside the log's answer: asks for it."""
    table = table_to_change(Actor.of(request), table_id)
    try:
        subject, asked = subject_to_change(table.pk), asked_in(request, table.pk)
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None
    condition = condition_of(asked, subject.schema)
    if not asked.whole and condition.node is None:
        raise Problem(400, "invalid", NOT_BEGUN)
    read = estimate.ask_exact_of(Actor.of(request), subject, None if asked.whole else condition.node)
    return render(request, "jobs/delete/_counted.html", _read_context(read, subject.table))


@requires(Permission.TABLE_ROWS)
@require_GET
def delete_counted(request: HttpRequest, read_id: uuid.UUID) -> HttpResponse:
    """The same part, asked again until the count is there, while the asker may still see it."""
    person = person_of(request)
    read = get_object_or_404(Read, pk=read_id, person=person, kind=estimate.MATCHED)
    if read.table_id is None or queue.is_over(read):
        raise Http404
    table = listing.table_for(person, read.table_id, Permission.TABLE_ROWS)
    return render(request, "jobs/delete/_counted.html", _read_context(read, table))


def _impossible(request: HttpRequest, table: Table, problem: Problem) -> HttpResponse:
    context = {**asked_of(request, Delete.kind, table), "problem": problem}
    return render(request, "jobs/delete/page.html", context, status=problem.status)


def _context(request: HttpRequest, subject: Subject, asked: AskedCondition) -> dict[str, Any]:
    condition = condition_of(asked, subject.schema)
    preview, problem = _log_answer(request, subject, asked, condition)
    return {
        **asked_of(request, Delete.kind, subject.table),
        "version": subject.version,
        "asked": asked,
        "may_rehearse": rehearsals.possible(Delete.kind),
        "condition": condition,
        "predicate": to_text(condition.node) if condition.node else None,
        "preview": preview,
        "ways": ways_of(preview) if preview else [],
        "branch_title": branch_title(preview) if preview else "",
        "preview_problem": problem,
        "needs": needs_of(person_of(request), Delete.kind, subject.table, preview) if preview else None,
        "why_not": _why_not(asked, condition, preview, problem),
        "retention": deleted_file_retention(subject.configuration),
        "undo": undo_to(subject.table, subject.version),
        **_fresh(asked, condition),
    }


def _why_not(
    asked: AskedCondition, condition: Condition, preview: dict[str, Any] | None, problem: Problem | None
) -> str:
    """Why this can't be requested as it is filled in; empty if it can. Who may not read rows has no preview, and may request."""
    if not asked.whole and condition.node is None:
        return condition.unfilled or (condition.refused.detail if condition.refused else NOT_BEGUN)
    if problem is not None and problem.status != 403:
        return problem.detail
    return NOTHING if preview is not None and preview["branch"] == "nothing" else ""


def _fresh(asked: AskedCondition, condition: Condition) -> dict[str, bool]:
    """Which parts of the condition a script must swap: what somebody types in stays, unless its fields have to change."""
    acted = asked.act in ("add", "drop", "clear")
    return {
        "fresh_condition": asked.whole != (asked.shape == WHOLE),
        "fresh_rules": asked.leads == "text" or acted or asked.shape != condition.shape,
        "fresh_text": asked.leads == "rows" or asked.act == "clear",
    }


def _log_answer(
    request: HttpRequest, subject: Subject, asked: AskedCondition, condition: Condition
) -> tuple[dict[str, Any] | None, Problem | None]:
    """The log's preview once it is clear which rows are meant; else nothing, or why there is none."""
    if not asked.whole and condition.node is None:
        return None, None
    try:
        return estimate.preview_of(Actor.of(request), subject, None if asked.whole else condition.node), None
    except Problem as problem:
        if problem.status >= 500:
            raise
        return None, problem


def _counted(request: HttpRequest, subject: Subject, asked: AskedCondition, context: dict[str, Any]) -> dict[str, Any]:
    """With the count's button and no script, the count as far as it is known."""
    if asked.act != "count" or context["preview"] is None:
        return {}
    node = None if asked.whole else context["condition"].node
    return _read_context(estimate.ask_exact_of(Actor.of(request), subject, node), subject.table)


def _read_context(read: Read, table: Table) -> dict[str, Any]:
    counted = estimate.answered(read) if read.answer is not None else None
    log = read.question["preview"]
    return {
        "table": table,
        "read": read,
        "preview": log,
        "predicate": log["predicate"],
        "counted": counted,
        "count_error": queue.as_error(read),
        "poll_url": reverse("jobs:delete_counted", args=[read.pk]) if read.is_open else None,
        "spark_state": worker_state(Worker.Kind.INTERACTIVE),
        "needs": needs_of(read.person, Delete.kind, table, counted or log),
        "why_not": NOTHING if (counted or log)["branch"] == "nothing" else "",
    }


def _requested(request: HttpRequest, subject: Subject, asked: AskedCondition, context: dict[str, Any]) -> HttpResponse:
    """The job; or the page again, with what is missing or refused."""
    faults = _faults(asked, context)
    if faults:
        return render(request, "jobs/delete/page.html", context | {"faults": faults}, status=400)
    text = None if asked.whole else context["condition"].text
    try:
        wanted = Delete(table=str(subject.table.pk), predicate=text)
        made = asking.request(Actor.of(request), wanted, asked.reason, seen=subject, rehearse=asked.rehearse)
    except Problem as problem:
        if problem.status not in SAID_ON_THE_PAGE:
            raise
        return render(request, "jobs/delete/page.html", context | {"request_problem": problem}, status=problem.status)
    return redirect("jobs:detail", made.job.pk)


def _faults(asked: AskedCondition, context: dict[str, Any]) -> dict[str, str]:
    """What is missing, by field."""
    faults = {}
    if asked.whole and asked.name != context["table_name"]:
        faults["name"] = f"This deletes every row: type {context['table_name']} to confirm it."
    if (
        context["why_not"] and context["preview_problem"] is None
    ):  # what the table refuses is said in the engine's words
        faults["condition"] = context["why_not"]
    if not asked.reason.strip():
        faults["reason"] = "Enter a reason: approvers read it."
    return faults


PARTS = Parts(
    what="jobs/delete/what.html",
    edit="jobs/delete/edit.html",
    edit_form=edit_form,
    ask_again=partial(again_at, "jobs:delete"),
    answers={estimate.MATCHED: Answer(estimate.answered, Permission.TABLE_ROWS)},
    offer=Offer(Delete.kind, "Delete rows…", on_table("jobs:delete"), words="remove erase", is_button=True),
)
