"""The button on the home page to acknowledge others' changes of people or rules."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from console.accounts import notices
from console.accounts.permissions import requires
from console.audit.actor import Actor
from console.base.errors import Problem


@requires(*notices.SHOWN_TO)
@require_POST
def acknowledge(request: HttpRequest, notice_id: uuid.UUID) -> HttpResponse:
    """Acknowledges one and returns to the home page."""
    try:
        notices.acknowledge(Actor.of(request), notice_id)
    except Problem as problem:
        if problem.status != 403:
            raise
        messages.error(request, problem.detail)
    return redirect("home")
