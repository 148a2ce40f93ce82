"""One's own preferences, the arrangement of one's lists, and one's saved filters. Nobody sees or changes another's."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from console.accounts import lists as services
from console.accounts.lists import ListKind
from console.accounts.models import Person, SavedFilter
from console.accounts.permissions import Open, person_of, requires
from console.accounts.sign_in.drafts import entered
from console.base.errors import Problem
from console.pages.people.session_views import next_page
from console.pages.preferences.forms import PreferencesForm
from console.pages.preferences.kinds import KINDS


@requires(Open.SIGNED_IN)
@require_http_methods(["GET", "POST"])
def preferences(request: HttpRequest) -> HttpResponse:
    """Theme, time zone, density, keyboard shortcuts, and the saved filters."""
    person = Person.objects.get(pk=person_of(request).pk)  # a form that is refused leaves its traces on the row in hand
    form = PreferencesForm(entered(request), instance=person)
    if request.method == "POST" and form.is_valid():
        form.instance.save(update_fields=list(form.fields))
        messages.success(request, "Your preferences are saved.")
        return redirect("preferences:page")
    saved = [{"filter": each, "kind": KINDS[each.list], "url": _url_of(each)} for each in _saved(person)]
    context = {"form": form, "saved": saved, "most": services.MOST_FILTERS}
    return render(request, "preferences/page.html", context, status=400 if request.method == "POST" else 200)


def _saved(person: Person) -> list[SavedFilter]:
    return [each for each in services.saved_filters(person) if each.list in KINDS]


def _url_of(saved: SavedFilter) -> str:
    """Where a filter leads; empty for one of a list that each table has."""
    kind = KINDS[saved.list]
    return f"{reverse(kind.address)}?{saved.query}" if kind.address else ""


@requires(Open.SIGNED_IN)
@require_POST
def lists(request: HttpRequest) -> HttpResponse:
    """Arranges one of one's lists; back to it, from its first row."""
    kind, person = _kind(request), person_of(request)
    if request.POST.get("do") == "usual":
        services.arrange_as_usual(person, kind)
        return redirect(_from_its_start(request))
    try:
        rows = request.POST.get("rows", "")
        columns, order = request.POST.getlist("column"), request.POST.get("order", "")
        services.arrange(person, kind, columns, order, int(rows) if rows.isdecimal() and len(rows) < 5 else 0)
    except Problem as problem:
        messages.error(request, problem.detail)
    return redirect(_from_its_start(request))


@requires(Open.SIGNED_IN)
@require_POST
def filters(request: HttpRequest) -> HttpResponse:
    """Saves, pins or removes one of one's filters; back to where the person was."""
    act = ACTS.get(request.POST.get("do", ""))
    if act is None:
        raise Http404
    try:
        act(request)
    except Problem as problem:
        messages.error(request, problem.detail)
    return redirect(next_page(request))


def _save(request: HttpRequest) -> None:
    sent = request.POST
    pinned = sent.get("pinned") == "true"
    services.save_filter(person_of(request), _kind(request), sent.get("name", ""), sent.get("query", ""), pinned=pinned)


def _pin(request: HttpRequest) -> None:
    services.pin_filter(person_of(request), _filter_id(request), pinned=True)


def _unpin(request: HttpRequest) -> None:
    services.pin_filter(person_of(request), _filter_id(request), pinned=False)


def _remove(request: HttpRequest) -> None:
    services.remove_filter(person_of(request), _filter_id(request))


ACTS: dict[str, Callable[[HttpRequest], None]] = {"save": _save, "pin": _pin, "unpin": _unpin, "remove": _remove}


def _kind(request: HttpRequest) -> ListKind:
    kind = KINDS.get(request.POST.get("list", ""))
    if kind is None:
        raise Http404
    return kind


def _filter_id(request: HttpRequest) -> uuid.UUID:
    try:
        return uuid.UUID(request.POST.get("filter", ""))
    except ValueError:
        raise Http404 from None


def _from_its_start(request: HttpRequest) -> str:
    """The list that the person came from, without its place in it and its order, which may be another one now."""
    back = urlsplit(next_page(request))
    kept = [(name, value) for name, value in parse_qsl(back.query) if name not in ("cursor", "order")]
    return f"{back.path}?{urlencode(kept)}" if kept else back.path
