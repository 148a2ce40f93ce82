"""A password given lately: what deciding about other people's requests needs of a session, beyond being signed in."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from rest_framework.request import Request

from console.accounts.models import Token
from console.errors import Problem

CONFIRMED_FOR = timedelta(minutes=15)
_KEY = "confirmed_at"


def confirm(request: HttpRequest) -> None:
    """Notes in the session that its person has just given their password."""
    request.session[_KEY] = timezone.now().timestamp()


def is_recent(request: HttpRequest | Request) -> bool:
    """Whether the session's password was given at most 15 minutes ago. A token has none: its scope speaks instead."""
    given = request.session.get(_KEY)
    return isinstance(given, float) and 0 <= timezone.now().timestamp() - given <= CONFIRMED_FOR.total_seconds()


def require_recent(request: HttpRequest | Request) -> None:
    """Raises Problem 403 `step_up_required` for a session without a recent password; what a token may, its scopes say.

    On a page the problem becomes a way to `/confirm/` and back to the page where the person was.
    """
    if isinstance(getattr(request, "auth", None), Token) or is_recent(request):
        return
    detail = "Give your password again before this; it counts for 15 minutes. Nothing was done."
    raise Problem(403, "step_up_required", detail, confirm_url=reverse("accounts:confirm"))


def confirm_url(back: str) -> str:
    """The page that asks for the password and then leads back to an address of this console."""
    return f"{reverse('accounts:confirm')}?{urlencode({'next': back})}"
