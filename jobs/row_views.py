"""Pages of rows: a sample at any version, and the change feed. Opening one asks Spark, and is an event."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from console.accounts.permissions import asks, person_of
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.errors import Problem
from console.health import worker_state
from jobs import reads, row_cells
from jobs.models import Read, Worker
from jobs.row_forms import ChangesForm, RowsForm
from jobs.row_reads import CHANGES, KINDS, ROWS, ask_changes, ask_rows, table_with_rows
from jobs.table_predicates import PredicateRefused
from tables import presenters, queries
from tables.models import Table
from tables.reach import Reach
from tables.schemas import tree_of

TEMPLATES = {ROWS: "jobs/_rows.html", CHANGES: "jobs/_changes.html"}
MOST_COLUMNS = 50  # shown unless others are chosen
NEWEST = 10  # versions whose changes are shown when nobody says which


@asks(Permission.TABLE_ROWS)
@require_GET
def rows(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """A sample of the table's rows at any version."""
    actor = Actor.of(request)
    table = table_with_rows(actor, table_id)
    form = RowsForm(request.GET, _column_names(table))
    asked = _asked_of(form, lambda: ask_rows(actor, table, form.given()))
    return _page(request, table, "rows", form, asked)


@asks(Permission.TABLE_ROWS)
@require_GET
def changes(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """The table's change data feed."""
    actor = Actor.of(request)
    table = table_with_rows(actor, table_id)
    if not presenters.has_change_feed(table):
        raise Http404
    readable_from = _readable_from(table)
    form = ChangesForm(request.GET or _newest(table, readable_from))
    asked = asked_now(lambda: ask_changes(actor, table, form.given())) if form.is_valid() else {}
    return _page(request, table, "changes", form, asked | {"readable_from": readable_from})


@asks(Permission.TABLE_ROWS)
@require_GET
def answer(request: HttpRequest, read_id: uuid.UUID) -> HttpResponse:
    """The part of either page that is asked again until the answer is there, while the asker may still see it."""
    person = person_of(request)
    try:
        read = get_object_or_404(Read, pk=read_id, person=person, kind__in=KINDS)
        if read.table_id is None or reads.is_over(read):
            raise Http404
        queries.table_for(person, read.table_id, Permission.TABLE_ROWS)
    except (Http404, Problem):
        return gone(request)
    return render(request, TEMPLATES[read.kind], _context(read))


def gone(request: HttpRequest) -> HttpResponse:
    """Inside `except`: raises on, but for a part of a page, which would ask for ever: it gets a link that asks anew."""
    if not request.htmx:  # type: ignore[attr-defined]  # set by its middleware
        raise
    return render(request, "jobs/_read_gone.html", {"again": request.htmx.current_url_abs_path})  # type: ignore[attr-defined]


def _page(
    request: HttpRequest, table: Table, tab: str, form: RowsForm | ChangesForm, asked: dict[str, Any]
) -> HttpResponse:
    context = {**presenters.header(person_of(request), table, tab), "form": form, **asked}
    return render(request, f"jobs/{tab}.html", context, status=400 if form.errors else 200)


def asked_now(ask: Callable[[], Read]) -> dict[str, Any]:
    """What the read says so far; a place that can't be read is said on the page, beside what the catalog keeps."""
    try:
        return _context(ask())
    except Problem as problem:
        if problem.status >= 500 or isinstance(problem, PredicateRefused):
            raise
        return {"error": refusal(problem)}


def _asked_of(form: RowsForm, ask: Callable[[], Read]) -> dict[str, Any]:
    """As `asked_now`; a refused predicate is said at its field."""
    if not form.is_valid():
        return {}
    try:
        return asked_now(ask)
    except PredicateRefused as refused:
        form.add_error("predicate", refused.detail)
        return {}


def refusal(problem: Problem) -> dict[str, Any]:
    """A place that can't be read now, as pages show it beside what the catalog keeps."""
    return {
        "code": problem.code,
        "message": problem.detail,
        "engine": problem.engine,
        "table_state": "Nothing was changed: this only reads.",
        "what_to_do": "Look at the directory, then sync the table.",
    }


def _context(read: Read) -> dict[str, Any]:
    pending = read.state in {Read.State.WAITING, Read.State.RUNNING}
    found = read.answer
    shown = _narrowed(read, found) if found else None
    return {
        "read": read,
        "found": found,
        "headings": row_cells.headings(shown) if shown else [],
        "lines": row_cells.lines(shown) if shown else [],
        "hidden": len(found["columns"]) - len(shown["columns"]) if found and shown else 0,
        "error": reads.as_error(read),
        "poll_url": reverse("jobs:rows_answer", args=[read.pk]) if pending else None,
        "spark_state": worker_state(Worker.Kind.INTERACTIVE),
    }


def _narrowed(read: Read, found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer's first columns where nobody chose any: thousands of them would make a page of many megabytes."""
    if read.kind != ROWS or read.question.get("columns") or len(found["columns"]) <= MOST_COLUMNS:
        return found
    return {
        "columns": found["columns"][:MOST_COLUMNS],
        "rows": [row[:MOST_COLUMNS] for row in found["rows"]],
        "cut_cells": [cell for cell in found["cut_cells"] if cell[1] < MOST_COLUMNS],
    }


def _column_names(table: Table) -> list[str]:
    tree = tree_of(table.schema)
    return [column.name for column in tree.columns] if tree else []


def _readable_from(table: Table) -> int | None:
    """The oldest version from which on the feed can be read up to the newest; None when it can't be read at all."""
    found = None
    for span in reversed(Reach(table).spans):
        if not span.change_feed:
            break
        found = span.first
    return found


def _newest(table: Table, readable_from: int | None) -> dict[str, int]:
    head = table.version or 0
    return {"from_version": max(head - NEWEST + 1, readable_from if readable_from is not None else head, 0)}
