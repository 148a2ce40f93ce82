"""The page of a table's files in storage: what the last check found, the button for another one, and how far it has come."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from console.accounts.models import Person
from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.models import Read, Worker
from jobs.reads import file_check, queue
from jobs.targets.stored_files import most_at
from tables.catalog import listing
from tables.models import Table
from tables.web.table import page_header
from tables.web.table_state import state_of

SAID_ON_THE_PAGE = {403, 404, 409, 503}
SHOWN = 20  # files by name


@requires(Permission.TABLE_READ)
@require_GET
def page(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """What the last check found, and the button for another one."""
    return _page(request, _delta_table(person_of(request), table_id))


@requires(Permission.TABLE_READ)
@require_GET
def now(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """The part of the page that polls while a check is under way."""
    person = person_of(request)
    table = _delta_table(person, table_id)
    context = {**_context(person, table), "state": state_of(table), "polled": True}
    return render(request, "jobs/reads/_file_check.html", context)


@requires(Permission.TABLE_READ)
@require_POST
def check(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Queues a check."""
    table = _delta_table(person_of(request), table_id)
    try:
        file_check.ask(Actor.of(request), table)
    except Problem as problem:
        if problem.status not in SAID_ON_THE_PAGE:
            raise
        return _page(request, table, problem)
    return redirect("jobs:file_check", table.pk)


@requires(Permission.TABLE_READ)
@require_POST
def stop(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Ends the person's own check."""
    person = person_of(request)
    table = _delta_table(person, table_id)
    file_check.stop(person, table)
    return redirect("jobs:file_check", table.pk)


def _delta_table(person: Person, table_id: uuid.UUID) -> Table:
    table = listing.table_for(person, table_id)
    if table.version is None:
        raise Http404
    return table


def _page(request: HttpRequest, table: Table, problem: Problem | None = None) -> HttpResponse:
    person = person_of(request)
    context = {**page_header.header(person, table, "overview"), **_context(person, table), "problem": problem}
    return render(request, "jobs/reads/file_check.html", context, status=problem.status if problem else 200)


def _context(person: Person, table: Table) -> dict[str, Any]:
    read = file_check.newest_of(person, table)
    last = table.file_check
    return {
        "table": table,
        "read": read,
        "is_open": read is not None and read.is_open,
        "progress": read.progress if read is not None and read.is_open else None,
        "error": _error(read),
        "last": last and {**last, "at": datetime.fromisoformat(last["at"]), "named": last["named"][:SHOWN]},
        "more": max(0, (last["missing"] + last.get("missing_vectors", 0) + last["other_size"]) - SHOWN) if last else 0,
        "most": most_at(table.path),
        "seconds": int(file_check.SECONDS),
        "poll_url": reverse("jobs:file_check_now", args=[table.pk]),
        "is_ready": queue.is_ready(Worker.Kind.LIGHT),
    }


def _error(read: Read | None) -> dict[str, Any] | None:
    return queue.as_error(read) if read is not None and read.state == Read.State.FAILED else None
