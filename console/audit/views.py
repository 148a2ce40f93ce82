"""The audit's pages: events narrowed and followed, and one event whole. Opening one is an event itself."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from console.accounts.models import Person
from console.accounts.permissions import asks, person_of
from console.accounts.roles import Permission
from console.audit import presenters, queries
from console.audit.actor import Actor
from console.audit.api import record_reading
from console.audit.export import newest_head
from console.audit.forms import AuditForm
from console.audit.models import Seal
from console.audit.queries import Filter
from console.audit.verification import last_word
from tables.models import Table
from tables.views import neighbours

ROWS = 50


@asks(Permission.AUDIT_READ, Permission.TABLE_READ)
@require_GET
def event_list(request: HttpRequest) -> HttpResponse:
    """Events, newest first, with the state of the chain for auditors."""
    person, form = person_of(request), AuditForm(request.GET)
    wanted = form.wanted()
    record_reading(Actor.of(request), wanted)
    found = queries.event_page(person, wanted, ROWS, request.GET.get("cursor", ""))
    context = {
        "lines": presenters.lines(found.rows),
        "page": neighbours(request, found, "Older", first_text="newest first"),
        "form": form,
        "about": _about(person, wanted),
        "is_narrowed": bool(wanted.given()),
        "query": request.GET.urlencode(),
        **chain_context(person),
    }
    return render(request, "audit/list.html", context)


def _about(person: Person, wanted: Filter) -> str:
    """Whose story a narrowed list tells."""
    if wanted.table and (known := queries.uuid_of(wanted.table)):
        return Table.objects.filter(pk=known).values_list("name", flat=True).first() or wanted.table
    return wanted.table or wanted.object or wanted.actor


def chain_context(person: Person) -> dict[str, Any]:
    """How the chain is, for auditors of everything."""
    if not queries.sees_origins(person):
        return {"is_auditor": False}
    return {
        "is_auditor": True,
        "verified": last_word(),
        "newest": Seal.objects.order_by("-sequence").values_list("sequence", flat=True).first(),
        "head": newest_head(),
        "refused": queries.refused_lately(person),
    }


@asks(Permission.AUDIT_READ, Permission.TABLE_READ)
@require_GET
def event_detail(request: HttpRequest, event_id: uuid.UUID) -> HttpResponse:
    """One event: all that is on record, its link in the chain, where to go on."""
    person = person_of(request)
    event = queries.event_for(person, event_id)
    record_reading(Actor.of(request), Filter(object=str(event_id)))
    context = {
        "line": presenters.line(event),
        "facts": presenters.facts(event, origins=queries.sees_origins(person)),
        "follow": presenters.follow(event),
        "link": getattr(event, "seal", None),
    }
    return render(request, "audit/event.html", context)
