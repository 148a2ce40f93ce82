"""A recently entered password: a session needs one, beyond the sign-in, to decide other people's requests."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from rest_framework.request import Request

from console.accounts.models import Token
from console.accounts.sign_in import drafts
from console.base.errors import Problem

CONFIRMED_FOR = timedelta(minutes=15)
_KEY = "confirmed_at"


class Purpose(StrEnum):
    """What the password is asked for."""

    DECISION = "decision"
    TOKEN = "token"
    ACCESS = "access"


WHY = {
    Purpose.DECISION: "Decisions about requests need",
    Purpose.TOKEN: "A new API token needs",
    Purpose.ACCESS: "Changes to people, roles, policies and roots need",
    None: "Decisions, new API tokens and changes to people, roles, policies and roots need",
}


def confirm(request: HttpRequest) -> None:
    """Records in the session that its person has just entered their password."""
    request.session[_KEY] = timezone.now().timestamp()


def is_recent(request: HttpRequest | Request) -> bool:
    """Whether the password was entered in this session at most 15 minutes ago. A token has none: its scope counts instead."""
    given = request.session.get(_KEY)
    return isinstance(given, float) and 0 <= timezone.now().timestamp() - given <= CONFIRMED_FOR.total_seconds()


def require_recent(request: HttpRequest | Request, purpose: Purpose) -> None:
    """Raises Problem 403 `step_up_required` for a session without a recent password; a token's scopes decide instead.

    On a page the problem becomes a way to `/confirm/` and back to the page where the person was, with what they had entered.
    """
    if isinstance(getattr(request, "auth", None), Token) or is_recent(request):
        return
    if isinstance(request, HttpRequest):
        drafts.keep(request, drafts.draft_of(request))
    detail = "Enter your password again first; it counts for 15 minutes. Nothing was changed."
    raise Problem(403, "step_up_required", detail, confirm_url=reverse("accounts:confirm"), purpose=purpose.value)


def confirm_url(back: str, purpose: Purpose) -> str:
    """The page that asks for the password and then leads back to an address of this console."""
    return f"{reverse('accounts:confirm')}?{urlencode({'next': back, 'for': purpose.value})}"


def why(purpose: str) -> str:
    """What needs the password, as the beginning of a sentence; for no known purpose, all that may."""
    return WHY[Purpose(purpose) if purpose in set(Purpose) else None]
