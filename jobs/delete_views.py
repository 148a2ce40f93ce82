"""The page that asks for a delete: which rows, what the log says of them at once, what that will need; then the request."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts.permissions import asks, person_of
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import refuse
from console.errors import Problem
from console.health import worker_state
from jobs import previews, reads, requests
from jobs.branches import title_of, ways_of
from jobs.delete_forms import NOT_BEGUN, WHOLE, Asked, Condition, asked_in, condition_of
from jobs.domain.commands import Delete
from jobs.domain.errors import CommandRefused
from jobs.domain.predicates import to_text
from jobs.models import Read, Worker
from jobs.needs import needs_of
from jobs.preview.problems import problem_of_refused
from jobs.preview.subject import Subject, subject_of
from jobs.undoing import undo_to
from tables import queries
from tables.deltalog.retention import deleted_file_retention
from tables.models import Table

SAID_ON_THE_PAGE = {400, 409, 422}


@asks(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Condition and preview; with the request's button, the job."""
    table = table_to_change(request, table_id)
    try:
        subject = subject_of(table.pk)
    except CommandRefused as refused:
        return _impossible(request, table, problem_of_refused(refused))
    asked = asked_in(request)
    context = _context(request, subject, asked)
    if asked.act != "request":
        return render(request, "jobs/delete.html", context | _counted(request, asked, context))
    return _requested(request, asked, context)


@asks(Permission.JOB_REQUEST)
@require_POST
def delete_preview(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """The parts of the page that follow what is typed: the other side, the preview, what it will need."""
    table = table_to_change(request, table_id)
    try:
        context = _context(request, subject_of(table.pk), asked_in(request))
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None
    return render(request, "jobs/_delete_answer.html", context)


@asks(Permission.JOB_REQUEST)
@require_POST
def delete_count(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Spark's count beside the log's answer: asks for it."""
    table = table_to_change(request, table_id)
    try:
        subject, asked = subject_of(table.pk), asked_in(request)
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None
    condition = condition_of(asked, subject.schema)
    if not asked.whole and condition.node is None:
        raise Problem(400, "invalid", NOT_BEGUN)
    read = previews.ask_exact(Actor.of(request), table.pk, None if asked.whole else condition.text)
    return render(request, "jobs/_delete_counted.html", _read_context(read, subject.table))


@asks(Permission.TABLE_ROWS)
@require_GET
def delete_counted(request: HttpRequest, read_id: uuid.UUID) -> HttpResponse:
    """The same part, asked again until the count is there, while the asker may still see it."""
    person = person_of(request)
    read = get_object_or_404(Read, pk=read_id, person=person, kind=previews.MATCHED)
    if read.table_id is None or reads.is_over(read):
        raise Http404
    table = queries.table_for(person, read.table_id, Permission.TABLE_ROWS)
    return render(request, "jobs/_delete_counted.html", _read_context(read, table))


def table_to_change(request: HttpRequest, table_id: uuid.UUID) -> Table:
    """The table, for somebody who may ask for jobs on it. Raises Http404; Problem 403 `forbidden`, which is recorded."""
    person = person_of(request)
    table = queries.table_for(person, table_id)
    if not person.scopes(Permission.JOB_REQUEST).covers_table(table.root_id, table.pk):
        text = "You may see this table but not request jobs on it; that takes an operator."
        problem = Problem(403, "forbidden", text)
        refuse(Actor.of(request), Action.JOB_REQUEST, ObjectKind.TABLE, table.pk, table.name, problem)
    return table


def name_of(table: Table) -> str:
    """The name that a person knows a table by, and types to confirm."""
    return table.catalog_name or table.name


def _impossible(request: HttpRequest, table: Table, problem: Problem) -> HttpResponse:
    context = {"table": table, "table_name": name_of(table), "problem": problem}
    return render(request, "jobs/delete.html", context, status=problem.status)


def _context(request: HttpRequest, subject: Subject, asked: Asked) -> dict[str, Any]:
    condition = condition_of(asked, subject.schema)
    found, problem = _log_answer(request, subject.table, asked, condition)
    return {
        "table": subject.table,
        "table_name": name_of(subject.table),
        "version": subject.version,
        "asked": asked,
        "condition": condition,
        "predicate": to_text(condition.node) if condition.node else None,
        "preview": found,
        "ways": ways_of(found) if found else [],
        "branch_title": title_of(found) if found else "",
        "preview_problem": problem,
        "needs": needs_of(Delete.kind, subject.table, found) if found else None,
        "retention": deleted_file_retention(subject.configuration),
        "undo": undo_to(subject.table, subject.version),
        **_fresh(asked, condition),
    }


def _fresh(asked: Asked, condition: Condition) -> dict[str, bool]:
    """Which parts of the condition a script must swap: what somebody types in stays, unless its fields have to change."""
    acted = asked.act in ("add", "drop", "clear")
    return {
        "fresh_condition": asked.whole != (asked.shape == WHOLE),
        "fresh_rules": asked.leads == "text" or acted or asked.shape != condition.shape,
        "fresh_text": asked.leads == "rows" or asked.act == "clear",
    }


def _log_answer(
    request: HttpRequest, table: Table, asked: Asked, condition: Condition
) -> tuple[dict[str, Any] | None, Problem | None]:
    """The log's preview once it is clear which rows are meant; else nothing, or why there is none."""
    if not asked.whole and condition.node is None:
        return None, None
    try:
        return previews.preview(Actor.of(request), table.pk, None if asked.whole else condition.text), None
    except Problem as problem:
        if problem.status >= 500:
            raise
        return None, problem


def _counted(request: HttpRequest, asked: Asked, context: dict[str, Any]) -> dict[str, Any]:
    """With the count's button and no script, the count as far as it is known."""
    if asked.act != "count" or context["preview"] is None:
        return {}
    text = None if asked.whole else context["condition"].text
    read = previews.ask_exact(Actor.of(request), context["table"].pk, text)
    return _read_context(read, context["table"])


def _read_context(read: Read, table: Table) -> dict[str, Any]:
    pending = read.state in {Read.State.WAITING, Read.State.RUNNING}
    counted = previews.answered(read) if read.answer is not None else None
    log = read.question["preview"]
    return {
        "table": table,
        "read": read,
        "preview": log,
        "predicate": log["predicate"],
        "counted": counted,
        "count_error": reads.as_error(read),
        "poll_url": reverse("jobs:delete_counted", args=[read.pk]) if pending else None,
        "spark_state": worker_state(Worker.Kind.INTERACTIVE),
        "needs": needs_of(Delete.kind, table, counted or log),
    }


def _requested(request: HttpRequest, asked: Asked, context: dict[str, Any]) -> HttpResponse:
    """The job; or the page again, with what is missing or refused."""
    faults = _faults(asked, context)
    if faults:
        return render(request, "jobs/delete.html", context | {"faults": faults}, status=400)
    text = None if asked.whole else context["condition"].text
    try:
        made = requests.request_delete(Actor.of(request), context["table"].pk, text, asked.reason)
    except Problem as problem:
        if problem.status not in SAID_ON_THE_PAGE:
            raise
        return render(request, "jobs/delete.html", context | {"request_problem": problem}, status=problem.status)
    return redirect("jobs:detail", made.job.pk)


def _faults(asked: Asked, context: dict[str, Any]) -> dict[str, str]:
    """What is missing, by field."""
    found = {}
    condition: Condition = context["condition"]
    if asked.whole and asked.name != context["table_name"]:
        found["name"] = f"Every row goes: type {context['table_name']} to confirm it."
    if not asked.whole and condition.node is None:
        found["condition"] = condition.unfilled or (condition.refused.detail if condition.refused else NOT_BEGUN)
    if not asked.reason.strip():
        found["reason"] = "Say why: approvers read it."
    return found
