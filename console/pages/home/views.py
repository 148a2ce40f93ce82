"""The home page, its parts that open pages poll, and the guided first story."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts import notices
from console.accounts.authority import GrantScope, require_admin_of_everything
from console.accounts.models import Person
from console.accounts.permissions import Open, person_of, requires
from console.accounts.roles import Permission
from console.accounts.sign_in import first_links
from console.audit.actor import Actor
from console.base.addresses import leads_into_levee
from console.base.errors import Problem
from console.pages.home import bar, frame, heading, lake, story
from console.pages.home.colleagues import ASKER
from console.pages.home.forms import ColleaguesForm
from console.pages.people.people_views import link_with
from jobs.policy import changes
from jobs.schedules import queries as schedule_queries
from jobs.streams import queries as stream_queries
from jobs.web.approvals import queries as approval_queries
from jobs.web.jobs import queries
from tables.catalog import attributions, facets
from tables.catalog.own import favourites
from tables.models import Table
from tables.rules.sample_lake import STORY_DIRECTORY
from tables.web.table_state import state_of

FAVOURITES = 12  # on home; the others are in the list of tables


@requires(Open.SIGNED_IN)
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """What needs you, what runs, and what happened to the lake."""
    return _home_page(request, story.story_of(person_of(request)))


def _home_page(request: HttpRequest, told: story.Story | None, status: int = 200) -> HttpResponse:
    person = person_of(request)
    unexplained, seen = attributions.open_lately(person), facets.seen_by(person)
    context = {
        **_now(request, seen, unexplained=len(unexplained)),
        "story": told,
        "recent": queries.ended_lately(person),
        **_favourites(person),
        "commits": queries.destructive_lately(person),
        "notices": _notices(person),
        "unexplained": unexplained,
        "lake": lake.lake_of(person, seen),
        "largest": lake.largest_of(person),
        "only_person": SimpleLazyObject(lambda: not Person.objects.exclude(pk=person.pk).exists()),
    }
    return render(request, "home/home.html", context, status=status)


def _favourites(person: Person) -> dict[str, Any]:
    """The first favourites by name, and how many there are in all."""
    own = favourites.of(person)
    return {
        "favourites": [{"table": table, "state": state_of(table)} for table in own[:FAVOURITES]],
        "favourite_count": len(own),
    }


def _notices(person: Person) -> list[dict[str, Any]]:
    """The notices, each with what has become since of a request that it tells of."""
    rows = notices.rows_for(person)
    since = changes.outcomes(row["notice"].event for row in rows) if rows else {}
    return [row | {"since": since.get(row["notice"].event, "")} for row in rows]


@requires(Open.SIGNED_IN)
@require_GET
def now(request: HttpRequest) -> HttpResponse:
    """What needs you and what runs, for open pages; nothing if nothing has changed."""
    context = _now(request, facets.seen_by(person_of(request)))
    if request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=204)
    return render(request, "home/_now.html", {**context, "polled": True})


def _now(request: HttpRequest, seen: int, unexplained: int | None = None) -> dict[str, Any]:
    """`seen` is facets.seen_by of the person; `unexplained` how many unapproved commits the page lists, if it does."""
    person = person_of(request)
    waiting, running, streams = (
        approval_queries.waiting_cards(person),
        queries.running(person),
        stream_queries.on_home(person),
    )
    schedules = schedule_queries.on_home(person)
    shown = {
        "waiting": waiting,
        "waiting_count": approval_queries.count_waiting(person, len(waiting)),  # of the navigation too
        "running": running,
        "running_by_state": queries.count_running(person, running),
        "undecided": queries.awaiting_others(person, approval_queries.waiting_for(person)),
        "streams": streams,
        "failed_streams": stream_queries.count_failed(person, streams),
        "schedules": schedules,
        "stopped_schedules": schedule_queries.count_stopped(person, schedules),
        "unexplained_count": attributions.count_of(person, unexplained),
        "notice_count": notices.count_for(person),
        "catalog": facets.totals_for(person, seen),
        "spark_state": frame.spark_state(request),
    }
    return {**shown, "heading": _heading(person, shown), "seen": _seen(shown)}


def _heading(person: Person, shown: dict[str, Any]) -> str:
    catalog = shown["catalog"]
    counts = heading.JobCounts(
        failed_streams=shown["failed_streams"],
        stopped_schedules=shown["stopped_schedules"],
        unexplained=shown["unexplained_count"],
        errors=catalog.errors,
        notices=shown["notice_count"],
        waiting=shown["waiting_count"],
        stale=catalog.stale,
        warnings=catalog.warnings,
        tables=catalog.tables,
        has_role=not person.has_no_role,
        jobs=shown["running_by_state"],
    )
    return heading.heading_of(counts)


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
    waiting = [card | {"job": None} for card in shown["waiting"]]  # its text would read what no card shows
    facts = {**shown, "waiting": waiting, "streams": streams, "minute": int(time.time() // 60)}
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


@requires(Open.SIGNED_IN)
@require_GET
def story_now(request: HttpRequest) -> HttpResponse:
    """The story alone, for open pages."""
    # Whoever is asked for the password first comes back to home, not to this part of it.
    confirm_first = frame.confirm_first(request, reverse("home"))
    told = story.story_of(person_of(request))
    return render(request, "home/_story.html", {"story": told, "confirm_first": confirm_first})


@requires(Open.SIGNED_IN)
@require_GET
def story_history(request: HttpRequest) -> HttpResponse:
    """Leads to the history of the story's table; your account remembers that you looked."""
    root = story.sample()
    table = Table.objects.filter(path=f"{root.uri}/{STORY_DIRECTORY}", hidden_at=None).first() if root else None
    if table is None:
        raise Http404
    Person.objects.filter(pk=person_of(request).pk).update(story_looked_at=timezone.now())
    return redirect("tables:history", table.pk)


@requires(Permission.PEOPLE_MANAGE)
@never_cache
@require_http_methods(["GET", "POST"])
def story_colleagues(request: HttpRequest) -> HttpResponse:
    """Adds the story's colleagues with their roles on the sample lake, all or nobody.

    Only this response shows the links with which they set passwords; so nobody is added where the story has no place for links.
    The address is also where a browser goes that asks for it again, or comes from the password: back to home.
    """
    if request.method == "GET":
        return redirect("home")
    require_admin_of_everything(Actor.of(request))
    person, root = person_of(request), story.sample()
    told = story.story_of(person)
    if root is None or told is None or told.form is None or told.team is None:
        return _nobody_is_missing(request)
    form = ColleaguesForm(request.POST, wanted=told.team.offered)
    added = _added(request, form, GrantScope(root_id=root.pk)) if form.is_valid() else []
    now_told = story.story_of(person) or told
    if added:
        return _home_page(request, replace(now_told, invitations=added))
    if now_told.form is None:  # an answer that was asked for at the same time has added them
        return _nobody_is_missing(request)
    return _home_page(request, replace(told, form=form), status=400)


def _nobody_is_missing(request: HttpRequest) -> HttpResponse:
    """Leads to People: who chose the button twice has lost the first answer's links, and replaces them there."""
    text = "Nobody was added now: the first story waits for no colleague."
    messages.info(request, f"{text} If you added them a moment ago, replace their links on their pages.")
    return redirect("accounts:people")


def _added(request: HttpRequest, form: ColleaguesForm, scope: GrantScope) -> list[story.Invitation]:
    """The links to hand over; none where the form says what is refused."""
    try:
        people = first_links.add_people(Actor.of(request), form.people, scope)
    except Problem as problem:
        if problem.status != 400:
            raise
        form.refuse(problem)
        return []
    asker = form.cleaned_data.get(ASKER)
    return [story.Invitation(made.name, made.name == asker, link_with(request, secret)) for made, secret in people]


@requires(Open.SIGNED_IN)
@require_POST
def story_dismiss(request: HttpRequest) -> HttpResponse:
    """Puts the story and its bar away, for this person alone, and stays on the page."""
    Person.objects.filter(pk=person_of(request).pk).update(story_dismissed_at=timezone.now())
    page = request.POST.get("next", "")
    return redirect(page if leads_into_levee(page) else "home")


@requires(Open.SIGNED_IN)
@require_GET
def story_bar(request: HttpRequest) -> HttpResponse:
    """The story’s bar alone, for an open page of it, whose address is `at`; nothing where it shows the same (`seen`)."""
    told = bar.bar_at(person_of(request), request.GET.get("at", ""))
    if told is not None and told.seen == request.GET.get("seen"):
        return HttpResponse(status=204)
    return render(request, "home/_bar.html", {"story_bar": told})


@requires(Open.SIGNED_IN)
@require_GET
def banners(request: HttpRequest) -> HttpResponse:
    """Only the banners, which open pages poll."""
    return render(request, "parts/banners.html", {"polled": True})
