"""The home page, its parts that open pages poll, and the guided first story."""

from __future__ import annotations

import hashlib
import time
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from console.accounts import notices
from console.accounts.models import Person
from console.accounts.permissions import Open, person_of, requires
from console.pages.home import lake, story
from jobs.lifecycle.worker_states import worker_state
from jobs.models import Worker
from jobs.streams import queries as stream_queries
from jobs.web.approvals import queries as approval_queries
from jobs.web.jobs import queries
from tables.catalog import attributions, facets
from tables.models import Root, Table
from tables.rules.sample_lake import ROOT_NAME


@requires(Open.SIGNED_IN)
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """What needs you, what runs, and what happened to the lake."""
    person = person_of(request)
    context = {
        **_now(person),
        "story": story.story_of(request, person),
        "recent": queries.ended_lately(person),
        "commits": queries.destructive_lately(person),
        "notices": notices.rows_for(person),
        "unexplained": attributions.open_lately(person),
        "lake": lake.lake_of(person),
        "largest": lake.largest_of(person),
        "only_person": Person.objects.count() == 1,
    }
    return render(request, "home/home.html", context)


@requires(Open.SIGNED_IN)
@require_GET
def now(request: HttpRequest) -> HttpResponse:
    """What needs you and what runs, for open pages; nothing if nothing has changed."""
    context = _now(person_of(request))
    if request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=204)
    return render(request, "home/_now.html", {**context, "polled": True})


def _now(person: Person) -> dict[str, Any]:
    shown = {
        "waiting": approval_queries.waiting_cards(person),
        "waiting_count": approval_queries.count_waiting(person),  # of the navigation too
        "running": queries.running(person),
        "running_count": queries.count_running(person),
        "undecided": queries.awaiting_others(person, approval_queries.waiting_for(person)),
        "streams": stream_queries.on_home(person),
        "failed_streams": stream_queries.count_failed(person),
        "unexplained_count": attributions.open_ones(person).count(),
        "catalog": facets.totals_for(person),
        "spark_state": worker_state(Worker.Kind.SPARK),
    }
    return {**shown, "seen": _seen(shown)}


def _seen(shown: dict[str, Any]) -> str:
    """The key that an open page compares: it changes with what this part shows, and each minute for its relative times."""
    streams = [
        (
            each.pk,
            each.name,
            each.table.name,
            each.state,
            each.state_text,
            each.state_at,
            bool(each.rounds),
            each.reason,
        )
        for each in shown["streams"]
    ]
    facts = {**shown, "streams": streams, "minute": int(time.time() // 60)}
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


@requires(Open.SIGNED_IN)
@require_GET
def story_now(request: HttpRequest) -> HttpResponse:
    """The story alone, for open pages."""
    return render(request, "home/_story.html", {"story": story.story_of(request, person_of(request))})


@requires(Open.SIGNED_IN)
@require_GET
def story_history(request: HttpRequest) -> HttpResponse:
    """Leads to the history of the story's table; the session remembers that you looked."""
    root = Root.objects.filter(name=ROOT_NAME).first()
    table = Table.objects.filter(path=f"{root.uri}/{story.DIRECTORY}", hidden_at=None).first() if root else None
    if table is None:
        raise Http404
    request.session[story.LOOKED] = str(table.pk)
    return redirect("tables:history", table.pk)


@requires(Open.SIGNED_IN)
@require_POST
def story_dismiss(request: HttpRequest) -> HttpResponse:
    """Puts the story away, for this person alone."""
    Person.objects.filter(pk=person_of(request).pk).update(story_dismissed_at=timezone.now())
    return redirect("home")


@requires(Open.SIGNED_IN)
@require_GET
def banners(request: HttpRequest) -> HttpResponse:
    """Only the banners, which open pages poll."""
    return render(request, "parts/banners.html")
