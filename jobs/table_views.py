"""Pages below a table that Spark answers: the live `DeltaTableV2` and its capabilities."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from console.accounts.models import Person
from console.accounts.permissions import asks, person_of
from console.accounts.roles import Permission
from console.errors import Problem
from console.health import worker_state
from jobs import live_table, reads
from jobs.forms import TravelForm
from jobs.live_reads import ask_deltatable
from jobs.models import Read, Worker
from jobs.row_views import gone, refusal
from tables import presenters, queries
from tables.models import Table

A_MOMENT = 1.5  # seconds


@asks(Permission.TABLE_READ)
@require_GET
def live(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """The part of the overview that shows the live object; asks for it when it isn't known at this version."""
    table = queries.table_for(person_of(request), table_id)
    asked = _asked(table, lambda: ask_deltatable(person_of(request), table, {}))
    return render(request, "jobs/_live_table.html", asked)


@asks(Permission.TABLE_READ)
@require_GET
def live_answer(request: HttpRequest, read_id: uuid.UUID) -> HttpResponse:
    """The same part, asked again until the answer is there, while the asker may still see it."""
    shown_as = request.GET.get("as", "")
    template = "jobs/_capabilities.html" if shown_as == "capabilities" else "jobs/_live_table.html"
    try:
        read = _still_shown(person_of(request), read_id)
    except Http404:
        return gone(request)
    return render(request, template, _context(read, shown_as))


def _still_shown(person: Person, read_id: uuid.UUID) -> Read:
    """The read, once answered or after a moment. Raises Http404 for somebody else's, an expired one, and without the right."""
    read = get_object_or_404(Read, pk=read_id, person=person, kind="deltatable")
    if read.table_id is None or reads.is_over(read):
        raise Http404
    queries.table_for(person, read.table_id)
    return _soon(read)


@asks(Permission.TABLE_READ)
@require_GET
def capabilities(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """What Spark may do with the object, at any version: the whole of `DeltaTableV2`, explained."""
    person = person_of(request)
    table = queries.table_for(person, table_id)
    form = TravelForm(request.GET or None)
    given = form.given() if form.is_bound and form.is_valid() else {}
    asked = _asked(table, lambda: ask_deltatable(person, table, given), "capabilities")
    context = {**presenters.header(person, table, "capabilities"), "form": form, **asked}
    return render(request, "jobs/capabilities.html", context, status=400 if form.errors else 200)


def _asked(table: Table, ask: Callable[[], Read], shown_as: str = "") -> dict[str, Any]:
    """What the read says so far; a place that can't be read is said on the page, beside what the catalog keeps."""
    try:
        return _context(_soon(ask()), shown_as)
    except Problem as problem:
        if problem.status >= 500:
            raise
        return {"error": refusal(problem), "table_pk": table.pk}


def _soon(read: Read) -> Read:
    """A warm worker answers within a moment: worth waiting for, so that the page has it at once."""
    return reads.wait_for(read, A_MOMENT) if reads.is_ready(Worker.Kind.INTERACTIVE) else read


def _context(read: Read, shown_as: str = "") -> dict[str, Any]:
    answer = read.answer
    pending = read.state in {Read.State.WAITING, Read.State.RUNNING}
    poll_url = reverse("jobs:live_answer", args=[read.pk]) + (f"?{urlencode({'as': shown_as})}" if shown_as else "")
    return {
        "read": read,
        "table_pk": read.table_id,
        "live": answer,
        "members": live_table.members(answer) if answer else [],
        "properties": live_table.properties(answer) if answer else [],
        "capabilities": live_table.capabilities(answer) if answer else [],
        "expected": len(live_table.CAPABILITIES),
        "error": reads.as_error(read),
        "poll_url": poll_url if pending else None,
        "spark_state": worker_state(Worker.Kind.INTERACTIVE),
    }
