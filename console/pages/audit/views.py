"""The audit's pages: the filtered list of events, and one event in full. The audit records each opening."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from console.accounts.lists import in_order, listing_of
from console.accounts.models import Person
from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.audit import presenters, queries
from console.audit.actions import ObjectKind
from console.audit.actor import Actor
from console.audit.models import Event
from console.audit.queries import EventFilter
from console.audit.readings import chain_context, record_reading
from console.audit.searching import NEWEST, OLDEST
from console.base.pagination import pager
from console.pages.audit.forms import AuditForm
from console.pages.audit.kind import AUDIT
from jobs.commands.registry import title_of
from jobs.models import Job
from jobs.web.jobs.queries import titled
from tables.models import Table

ORDERS = {"newest": NEWEST, "oldest": OLDEST}
WORDS = {
    "newest": {"next_text": "Older"},
    "oldest": {"next_text": "Newer", "previous_text": "Older"},
}


@requires(Permission.AUDIT_READ, Permission.TABLE_READ)
@require_GET
def event_list(request: HttpRequest) -> HttpResponse:
    """Events, newest first, with the state of the chain for auditors."""
    person, form = person_of(request), AuditForm(request.GET)
    wanted = form.wanted()
    record_reading(Actor.of(request), wanted)
    arranged = listing_of(person, AUDIT, request.GET)
    order = "newest" if wanted.q else arranged.order_asked(request.GET, "newest")
    page = queries.event_page(person, wanted, arranged.rows, request.GET.get("cursor", ""), ORDERS[order])
    context = {
        "lines": presenters.lines(page.rows, _titles(page.rows)),
        "page": pager(in_order(request.GET, order), page, **WORDS[order]),
        "listing": arranged,
        "is_oldest_first": order == "oldest",
        "form": form,
        "about": _about(person, wanted),
        "is_narrowed": bool(wanted.given()),
        "query": request.GET.urlencode(),
        **chain_context(request),
    }
    return render(request, "audit/list.html", context)


def _titles(events: Sequence[Event]) -> dict[str, str]:
    """The titles of the jobs that the events are about, by id; one query."""
    ids = {event.job for event in events if event.object_kind == ObjectKind.JOB and event.job}
    jobs = titled(Job.objects.filter(pk__in=ids).select_related("table")) if ids else ()
    return {str(job.pk): title_of(job) for job in jobs}


def _about(person: Person, wanted: EventFilter) -> str:
    """The subject of a filtered list."""
    if wanted.table and (known := queries.uuid_of(wanted.table)):
        return Table.objects.filter(pk=known).values_list("name", flat=True).first() or wanted.table
    return wanted.table or wanted.object or wanted.actor


@requires(Permission.AUDIT_READ, Permission.TABLE_READ)
@require_GET
def event_detail(request: HttpRequest, event_id: uuid.UUID) -> HttpResponse:
    """One event: the full record, its link in the chain, and related links."""
    person = person_of(request)
    event = queries.event_for(person, event_id)
    record_reading(Actor.of(request), EventFilter(object=str(event_id)))
    context = {
        "line": presenters.line(event, _titles([event])),
        "changes": presenters.changes(event),
        "facts": presenters.facts(event, origins=queries.sees_origins(person)),
        "follow": presenters.follow(event),
        "link": getattr(event, "seal", None),
    }
    return render(request, "audit/event.html", context)
