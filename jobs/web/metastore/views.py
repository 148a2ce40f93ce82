"""Pages of the metastore: its databases, the tables of one, and what became of an addition by name."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from console.accounts.models import Person
from console.accounts.permissions import Open, person_of, requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.lifecycle.worker_states import worker_state
from jobs.models import Read, Worker
from jobs.reads import metastore, queue
from jobs.web.reads.row_views import gone

A_MOMENT = 1.5  # seconds


@requires(Permission.TABLE_ADD)
@require_GET
def databases(request: HttpRequest) -> HttpResponse:
    """The metastore's databases."""
    read = _soon(metastore.ask_databases(person_of(request)))
    return render(request, "jobs/metastore/databases.html", _context(person_of(request), read))


@requires(Permission.TABLE_ADD)
@require_http_methods(["GET", "POST"])
def tables(request: HttpRequest, database: str) -> HttpResponse:
    """The tables of a database, to select; a POST adds those selected, or all."""
    if request.method == "POST":
        return _add(request, database)
    person = person_of(request)
    read = _soon(metastore.ask_tables(person, database, request.GET.get("cursor", "")))
    return render(request, "jobs/metastore/tables.html", {**_context(person, read), "database": database})


def _add(request: HttpRequest, database: str) -> HttpResponse:
    names = None if request.POST.get("do") == "all" else request.POST.getlist("name")
    if names == []:
        messages.info(request, "You haven’t selected a table.")
        return redirect("jobs:metastore_tables", database)
    read = metastore.ask_addition(Actor.of(request), database, names)
    return redirect("jobs:metastore_added", read.pk)


@requires(Permission.TABLE_ADD)
@require_GET
def added(request: HttpRequest, read_id: uuid.UUID) -> HttpResponse:
    """An addition by name: under way, then what became of it."""
    person = person_of(request)
    read = _own(person, read_id, metastore.ADD)
    context = {**_context(person, read), "database": read.question["database"]}
    return render(request, "jobs/metastore/added.html", context)


@requires(Open.SIGNED_IN)  # `_own` asks for the permission: who has lost it gets the part that stops polling
@require_GET
def answer(request: HttpRequest, read_id: uuid.UUID) -> HttpResponse:
    """The part of each of these pages that polls for its answer, as long as the asker may add tables."""
    person = person_of(request)
    try:
        read = _own(person, read_id)
        context = _context(person, queue.wait_for(read, A_MOMENT))
    except (Http404, Problem) as error:
        return gone(request, error)
    return render(request, _part_of(read), context)


def _part_of(read: Read) -> str:
    if read.kind == metastore.ADD:
        return "jobs/metastore/_added.html"
    return "jobs/metastore/_tables.html" if "database" in read.question else "jobs/metastore/_databases.html"


def _own(person: Person, read_id: uuid.UUID, *kinds: str) -> Read:
    """The person's own read. Raises Http404 for another's or an expired one, Problem 403 without the permission."""
    read = get_object_or_404(Read, pk=read_id, person=person, kind__in=kinds or metastore.KINDS)
    if queue.is_over(read):
        raise Http404
    metastore.require(person)
    return read


def _soon(read: Read) -> Read:
    return queue.wait_for(read, A_MOMENT) if queue.is_ready(Worker.Kind.INTERACTIVE) else read


def _context(person: Person, read: Read) -> dict[str, Any]:
    found = metastore.shown(person, read) if read.answer is not None else None
    problem: Problem | None = queue.problem_of(read)
    rows = found.get("tables") if found and read.kind == metastore.LIST else None
    return {
        "read": read,
        "found": found,
        "problem": problem,
        "address": settings.ENV.metastore,
        "database": read.question.get("database"),
        "addable": [row for row in rows if not row["refusal"] and not row["is_known"]] if rows else [],
        "next_url": _next_url(found) if rows else None,
        "is_whole": bool(rows) and not read.question.get("cursor") and found is not None and found["next"] is None,
        "poll_url": reverse("jobs:metastore_answer", args=[read.pk]) if read.is_open else None,
        "spark_state": worker_state(Worker.Kind.INTERACTIVE),
    }


def _next_url(found: dict[str, Any] | None) -> str | None:
    if not found or not found["next"]:
        return None
    return f"{reverse('jobs:metastore_tables', args=[found['database']])}?{urlencode({'cursor': found['next']})}"
