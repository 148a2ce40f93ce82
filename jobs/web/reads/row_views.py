"""Pages of rows: a sample at any version, and the change feed. Opening one reads with Spark, and the audit log records it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from console.accounts.models import Person
from console.accounts.permissions import Open, person_of, requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.lifecycle.worker_states import worker_state
from jobs.models import Read, Worker
from jobs.reads import queue
from jobs.reads.rows import CHANGES, KINDS, ROW_DIFF, ROWS, ask_changes, ask_rows, note_file, table_with_rows
from jobs.targets.predicates import PredicateRefused
from jobs.web.reads import readable_versions, row_cells, row_files, row_lines
from jobs.web.reads.row_forms import ChangesForm, RowsForm
from tables.catalog import listing
from tables.history.reachability import TableReach
from tables.models import Table
from tables.record.commit_rows import tree_of
from tables.web.table import page_header, version_chooser

TEMPLATES = {ROWS: "jobs/reads/_rows.html", CHANGES: "jobs/reads/_changes.html", ROW_DIFF: "jobs/reads/_row_diff.html"}
MOST_COLUMNS = 50  # shown unless you choose others
NEWEST = 10  # versions whose changes the page shows by default


@requires(Permission.TABLE_ROWS)
@require_GET
def rows(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """A sample of the table's rows at any version."""
    actor = Actor.of(request)
    table = table_with_rows(actor, table_id)
    form = RowsForm(request.GET, _column_names(table))
    asked = _asked_of(form, table, lambda: ask_rows(actor, table, form.given()))
    return _page(request, table, "rows", form, asked)


@requires(Permission.TABLE_ROWS)
@require_GET
def changes(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """The table's change data feed."""
    actor = Actor.of(request)
    table = table_with_rows(actor, table_id)
    if not page_header.has_change_feed(table):
        raise Http404
    readable_from = _readable_from(table)
    form = ChangesForm(request.GET or _newest(table, readable_from))
    asked = asked_now(table.pk, lambda: ask_changes(actor, table, form.given())) if form.is_valid() else {}
    return _page(request, table, "changes", form, asked | {"readable_from": readable_from})


@requires(Open.SIGNED_IN)  # the view asks for the permission: who has lost it gets the part that stops polling
@require_GET
def answer(request: HttpRequest, read_id: uuid.UUID) -> HttpResponse:
    """The part of either page that polls for the answer, as long as the asker may see it."""
    try:
        read = still_shown(person_of(request), read_id, KINDS)
    except (Http404, Problem) as error:
        return gone(request, error)
    return render(request, TEMPLATES[read.kind], context_of(read, request.GET))


@requires(Permission.TABLE_ROWS)
@require_GET
def rows_file(request: HttpRequest, read_id: uuid.UUID, kind: str) -> HttpResponse:
    """The rows that a page shows, all of their columns, as a file; the audit log records it first."""
    read = still_shown(person_of(request), read_id, KINDS)
    if kind not in row_files.TYPES or read.answer is None or read.table is None:
        raise Http404
    note_file(Actor.of(request), read, kind)
    made = HttpResponse(row_files.made(read.answer, kind), content_type=row_files.TYPES[kind])
    name = f"{read.table.name}-{read.kind}.{kind}"
    made["Content-Disposition"] = content_disposition_header(True, name)
    return made


def still_shown(person: Person, read_id: uuid.UUID, kinds: Collection[str]) -> Read:
    """A read of the person's own, of these kinds, while it is kept. Raises Http404; Problem 403 without the right to rows by now."""
    read = get_object_or_404(Read.objects.select_related("table"), pk=read_id, person=person, kind__in=kinds)
    if read.table_id is None or queue.is_over(read):
        raise Http404
    listing.table_for(person, read.table_id, Permission.TABLE_ROWS)
    return read


def gone(request: HttpRequest, error: Exception) -> HttpResponse:
    """Raises `error`, except for a polling part of a page, which would never stop: it gets a link to read again."""
    if not request.htmx:  # type: ignore[attr-defined]  # set by its middleware
        raise error
    return render(request, "jobs/reads/_read_gone.html", {"again": request.htmx.current_url_abs_path})  # type: ignore[attr-defined]


def _page(
    request: HttpRequest, table: Table, tab: str, form: RowsForm | ChangesForm, asked: dict[str, Any]
) -> HttpResponse:
    shown = {"asked": version_chooser.shown_by_form(table, form)} if isinstance(form, RowsForm) else {}
    context = {**page_header.header(person_of(request), table, tab), "form": form, **shown, **asked}
    return render(request, f"jobs/reads/{tab}.html", context, status=400 if form.errors else 200)


def asked_now(table_id: uuid.UUID | None, ask: Callable[[], Read]) -> dict[str, Any]:
    """The context from the read so far; the page shows an unreadable location beside what the catalog has."""
    try:
        return context_of(ask())
    except Problem as problem:
        if problem.status >= 500 or isinstance(problem, PredicateRefused):
            raise
        return {"error": readable_versions.beside(refusal(problem), None, table_id, "jobs:rows")}


def _asked_of(form: RowsForm, table: Table, ask: Callable[[], Read]) -> dict[str, Any]:
    """As `asked_now`; shows a refused predicate at its field."""
    if form.is_valid():
        readable_versions.check(form, table)
    if not form.is_valid():
        return {}
    try:
        return asked_now(table.pk, ask)
    except PredicateRefused as refused:
        form.add_error("predicate", refused.detail)
        return {}


def refusal(problem: Problem, remedies: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The error for what was refused at once, as pages show it: what to do is `remedies`' by its code, and isn't said twice."""
    remedy = (remedies or {}).get(problem.code, "Check the directory, then sync the table.")
    return {
        "code": problem.code,
        "message": problem.detail.removesuffix(remedy).rstrip(),
        "engine": problem.engine,
        "table_state": "Nothing was changed: Levee only read.",
        "what_to_do": remedy,
    }


def context_of(read: Read, asked: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The context of the part that shows the read: its answer, in the order that an address asks for, its error, or that it waits."""
    result = read.answer
    shown = _narrowed(read, result) if result else None
    order = row_cells.order_in(asked or {}, shown) if shown else None
    shown = row_cells.in_order(shown, order) if shown else None
    return {
        "read": read,
        "found": result,
        "answer_url": reverse("jobs:rows_answer", args=[read.pk]),
        "headings": row_cells.headings(shown, order) if shown else [],
        "lines": row_cells.lines(shown) if shown else [],
        **(row_lines.of_diff(result) if result and read.kind == ROW_DIFF else {}),
        "hidden": len(result["columns"]) - len(shown["columns"]) if result and shown else 0,
        "error": readable_versions.beside(queue.as_error(read), read, read.table_id, "jobs:rows"),
        "poll_url": reverse("jobs:rows_answer", args=[read.pk]) if read.is_open else None,
        "spark_state": worker_state(Worker.Kind.INTERACTIVE),
    }


def _narrowed(read: Read, result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer's first columns unless you chose some: thousands of them would make a page of many megabytes."""
    if read.kind == CHANGES or read.question.get("columns") or len(result["columns"]) <= MOST_COLUMNS:
        return result
    return {
        "columns": result["columns"][:MOST_COLUMNS],
        "rows": [row[:MOST_COLUMNS] for row in result["rows"]],
        "cut_cells": [cell for cell in result["cut_cells"] if cell[1] < MOST_COLUMNS],
    }


def _column_names(table: Table) -> list[str]:
    tree = tree_of(table.schema)
    return [column.name for column in tree.columns] if tree else []


def _readable_from(table: Table) -> int | None:
    """The oldest version from which you can read the feed up to the newest; None if you can't read it at all."""
    oldest = None
    for span in reversed(TableReach(table).spans):
        if not span.change_feed:
            break
        oldest = span.first
    return oldest


def _newest(table: Table, readable_from: int | None) -> dict[str, int]:
    head = table.version or 0
    return {"from_version": max(head - NEWEST + 1, readable_from if readable_from is not None else head, 0)}
