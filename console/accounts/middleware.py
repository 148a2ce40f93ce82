"""Pages require a signed-in person unless their view declares otherwise; you must change a first password first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django_htmx.http import reselect, reswap, retarget

from console.accounts.models import Person
from console.accounts.permissions import SAFE, Open, asked_by, check, takes_password
from console.accounts.sign_in import drafts
from console.accounts.sign_in.step_up import Purpose, require_recent
from console.base import zones
from console.base.errors import Problem, page_of, to_confirm
from console.server.turns import SENDERS


class SignInRequired:
    """Enforces the permissions that page views declare. DRF enforces those of API views."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        zones.show_in(zones.UTC_NAME)  # this thread's last request was another person's
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        asked = asked_by(view)
        if request.path_info.startswith("/api/") or (isinstance(asked, Mapping) and hasattr(view, "cls")):
            return None  # an API view: DRF enforces what it declares
        if asked is None or not isinstance(asked, tuple):
            raise PermissionDenied("This page declares no permission.")
        if Open.PUBLIC in asked:
            return None
        if not isinstance(request.user, Person):
            return _to_sign_in(request)
        zones.show_in(request.user.time_zone)
        if request.user.must_change_password and request.path not in _allowed_before_change():
            return redirect("accounts:change_password")
        check(request.user, asked)
        if request.method == "POST" and not request.headers.get("HX-Request"):  # a swap shows what a form would do
            drafts.forget(request, request.path)
        return _password_first(request) if takes_password(asked, request.method or "") else None


class SenderKnown:
    """Tells the server whose credential a request came with, so that its turns are by person."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        credential = request.META.get("HTTP_AUTHORIZATION") or request.COOKIES.get(settings.SESSION_COOKIE_NAME)
        person = _asked(request)
        if credential and person is not None:
            SENDERS.learn(credential.strip().encode("latin-1", "replace"), person.pk)
        return response


def _asked(request: HttpRequest) -> Person | None:
    """Who asked, where the answer needed to know; a page that nobody must sign in for reads no session."""
    user = getattr(request, "_cached_user", None) or request.__dict__.get("user")
    return user if type(user) is Person else None


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    """To the sign-in page and from there back. A swap leaves the open page as it is, half-typed text too, and brings it a notice."""
    if request.headers.get("HX-Request"):
        notice = render(request, "parts/signed_out.html", {"sign_in_url": redirect_to_login(page_of(request)).url})
        # All of it: what the swap would have selected of its own answer isn't in the notice.
        return reselect(reswap(retarget(notice, "#banners"), "outerHTML"), "unset")
    if request.method in SAFE:
        return redirect_to_login(request.get_full_path())
    draft = drafts.seal(request)
    if not draft:
        return redirect_to_login(page_of(request))
    context = {"form": AuthenticationForm(request), "next": page_of(request), "draft": draft}
    return render(request, "accounts/sign_in.html", context, status=403)


def _password_first(request: HttpRequest) -> HttpResponse | None:
    try:
        require_recent(request, Purpose.ACCESS)
    except Problem as problem:
        return to_confirm(request, problem)
    return None


def _allowed_before_change() -> set[str]:
    return {reverse("accounts:change_password"), reverse("accounts:sign_out"), reverse("accounts:theme")}
