"""A page is for people who have signed in, unless its view says otherwise; the first password must be changed first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from console.accounts.models import Person
from console.accounts.permissions import Open, asked_by, check


class SignInRequired:
    """Enforces what page views declare. API views answer for themselves (DRF)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        if request.path.startswith("/api/"):
            return None
        asked = asked_by(view)
        if asked is None or not isinstance(asked, tuple):
            raise PermissionDenied("This page declares no permission.")
        if Open.PUBLIC in asked:
            return None
        if not isinstance(request.user, Person):
            return redirect_to_login(request.get_full_path())
        if request.user.must_change_password and request.path not in _allowed_before_change():
            return redirect("accounts:change_password")
        check(request.user, asked)
        return None


def _allowed_before_change() -> set[str]:
    return {reverse("accounts:change_password"), reverse("accounts:sign_out"), reverse("accounts:theme")}
