"""The profile of a table's columns by all of their rows. Opening it reads with Spark, and the audit log records it."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from console.accounts.permissions import Open, person_of, requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.domain.read_limits import CODE, STATISTICS
from jobs.lifecycle.worker_states import worker_state
from jobs.models import Read, Worker
from jobs.reads import queue
from jobs.reads.profile import ask_profile
from jobs.reads.rows import PROFILE, table_with_rows
from jobs.web.reads.row_cells import visible
from jobs.web.reads.row_views import gone, refusal, still_shown
from tables.web.table import page_header


@requires(Permission.TABLE_ROWS)
@require_GET
def by_rows(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Reads the first columns of the newest version."""
    actor = Actor.of(request)
    table = table_with_rows(actor, table_id)
    try:
        asked = _context(ask_profile(actor, table, {}))
    except Problem as problem:
        if problem.status >= 500:
            raise
        asked = {"error": refusal(problem, {CODE: STATISTICS})}
    context = {**page_header.header(person_of(request), table, "schema"), **asked}
    return render(request, "jobs/profiles/by_rows.html", context)


@requires(Open.SIGNED_IN)  # the view asks for the permission: who has lost it gets the part that stops polling
@require_GET
def answer(request: HttpRequest, read_id: uuid.UUID) -> HttpResponse:
    """The part of the page that polls for the answer, as long as the asker may see it."""
    try:
        read = still_shown(person_of(request), read_id, (PROFILE,))
    except (Http404, Problem) as error:
        return gone(request, error)
    return render(request, "jobs/profiles/_by_rows.html", _context(read))


def _context(read: Read) -> dict[str, Any]:
    return {
        "read": read,
        "found": read.answer,
        "columns": [_column(column) for column in (read.answer or {}).get("columns", ())],
        "error": queue.as_error(read),
        "poll_url": reverse("jobs:profile_answer", args=[read.pk]) if read.is_open else None,
        "spark_state": worker_state(Worker.Kind.INTERACTIVE),
    }


def _column(column: dict[str, Any]) -> dict[str, Any]:
    """With its texts' invisible characters spelled out."""
    texts = {name: None if column[name] is None else visible(column[name]) for name in ("name", "type", "min", "max")}
    frequent = [{**each, "value": visible(each["value"])} for each in column["frequent"] or ()]
    return {**column, **texts, "frequent": frequent}
