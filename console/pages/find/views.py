"""Going anywhere: the page of search results, which is also what the palette shows, and the page of keys."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from console.accounts.permissions import Open, person_of, requires
from console.pages.find.places import places_for
from console.pages.find.results import found, unasked
from tables.rules.search_index import terms

LONGEST = 200


@requires(Open.SIGNED_IN)
@require_GET
def find(request: HttpRequest) -> HttpResponse:
    """Tables, columns, jobs, streams, people, pages and the acts on a page's table, as far as the person may see or do them."""
    person, q = person_of(request), request.GET.get("q", "").replace("\x00", "")[:LONGEST]
    at = request.GET.get("at", "")[:LONGEST]
    groups = found(person, q, at) if terms(q) else unasked(person, at, request.GET.getlist("recent"))
    context = {"q": q, "at": at, "groups": groups, "count": sum(len(group.options) for group in groups)}
    is_palette = request.headers.get("HX-Target") == "palette-list"
    return render(request, "find/_options.html" if is_palette else "find/page.html", context)


@requires(Open.SIGNED_IN)
@require_GET
def keys(request: HttpRequest) -> HttpResponse:
    """The keys; only their list for the dialog."""
    context = {"places": [place for place in places_for(person_of(request)) if place.key]}
    is_dialog = request.headers.get("HX-Target") == "keys-list"
    return render(request, "find/_keys.html" if is_dialog else "find/keys.html", context)
