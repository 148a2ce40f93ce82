"""Records refusals at an address as well: services record only those that they make themselves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from console.accounts.models import Person
from console.audit.actions import Action, EventOutcome, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record, refused_in
from console.base.errors import Problem


class RefusalsOnRecord:
    """Records an event for each 403 of a person that no service has recorded. If the audit fails, it stays a 403: nothing was done."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        token = refused_in.set(False)
        try:
            response = self.get_response(request)
            if response.status_code == 403 and not refused_in.get() and isinstance(request.user, Person):
                _record(request)
        finally:
            refused_in.reset(token)
        return response


def _record(request: HttpRequest) -> None:
    with suppress(Problem):
        record(
            Actor.of(request), Action.ADDRESS_CALL, ObjectKind.ADDRESS, request.path[:500], f"{request.method} {request.path}"[:500],
            outcome=EventOutcome.REFUSED, reason="forbidden: none of the roles or scopes allows this address.",
        )  # fmt: skip
