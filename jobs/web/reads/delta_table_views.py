"""The page below a table that shows the live `DeltaTableV2`, read by Spark: its members, capabilities and properties."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from console.accounts.models import Person
from console.accounts.permissions import Open, person_of, requires
from console.accounts.roles import Permission
from console.base.errors import Problem
from jobs.lifecycle.worker_states import worker_state
from jobs.models import Read, Worker
from jobs.reads import queue
from jobs.reads.delta_table import ask_deltatable
from jobs.web.jobs.forms import TravelForm
from jobs.web.reads import delta_table_text, readable_versions
from jobs.web.reads.row_views import gone, refusal
from tables.catalog import listing
from tables.models import Table
from tables.web.table import page_header, version_chooser

A_MOMENT = 1.5  # seconds


@requires(Open.SIGNED_IN)  # the view asks for the permission: who has lost it gets the part that stops polling
@require_GET
def live_answer(request: HttpRequest, read_id: uuid.UUID) -> HttpResponse:
    """The part of the page that polls for the answer, as long as the asker may see it."""
    try:
        read = _still_shown(person_of(request), read_id)
    except Http404 as error:
        return gone(request, error)
    return render(request, "jobs/reads/_capabilities.html", _context(read))


def _still_shown(person: Person, read_id: uuid.UUID) -> Read:
    """The read, once answered or after a moment. Raises Http404 for another person's, an expired one, or without the permission."""
    read = get_object_or_404(Read, pk=read_id, person=person, kind="deltatable")
    if read.table_id is None or queue.is_over(read):
        raise Http404
    listing.table_for(person, read.table_id)
    return _soon(read)


@requires(Permission.TABLE_READ)
@require_GET
def capabilities(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """What Spark may do with the object, at any version: the whole of `DeltaTableV2`, explained."""
    person = person_of(request)
    table = listing.table_for(person, table_id)
    form = TravelForm(request.GET or None)
    given = form.given() if form.is_bound and form.is_valid() else {}
    asked = _asked(table, lambda: ask_deltatable(person, table, given))
    shown = version_chooser.shown_by_form(table, form)
    context = {**page_header.header(person, table, "capabilities"), "form": form, "asked": shown, **asked}
    return render(request, "jobs/reads/capabilities.html", context, status=400 if form.errors else 200)


def _asked(table: Table, ask: Callable[[], Read]) -> dict[str, Any]:
    """The context from the read so far; the page shows an unreadable location beside what the catalog has."""
    try:
        return _context(_soon(ask()))
    except Problem as problem:
        if problem.status >= 500:
            raise
        return {"error": refusal(problem), "table_pk": table.pk}


def _soon(read: Read) -> Read:
    """Waits a moment for the answer: a warm worker is that fast, and the page has it at once."""
    return queue.wait_for(read, A_MOMENT) if queue.is_ready(Worker.Kind.INTERACTIVE) else read


def _context(read: Read) -> dict[str, Any]:
    answer = read.answer
    return {
        "read": read,
        "table_pk": read.table_id,
        "live": answer,
        "members": delta_table_text.members(answer) if answer else [],
        "properties": delta_table_text.properties(answer) if answer else [],
        "capabilities": delta_table_text.capabilities(answer) if answer else [],
        "expected": len(delta_table_text.CAPABILITIES),
        "error": readable_versions.beside(queue.as_error(read), read, read.table_id, "jobs:capabilities"),
        "poll_url": reverse("jobs:live_answer", args=[read.pk]) if read.is_open else None,
        "spark_state": worker_state(Worker.Kind.INTERACTIVE),
    }
