"""The form in which a person acknowledges a commit that nobody explains."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from console.accounts.permissions import asks
from console.accounts.roles import Permission
from console.audit.actor import Actor
from tables.explanations import acknowledge as acknowledge_commit
from tables.histories import incarnation_of
from tables.versions import commit_url
from tables.views import shown


@asks(Permission.TABLE_ADD)
@require_POST
def acknowledge(request: HttpRequest, table_id: uuid.UUID, version: int) -> HttpResponse:
    """Keeps the person's words; back to the commit."""
    table = shown(request, table_id)
    lay = incarnation_of(table, request.POST.get("incarnation", ""))
    acknowledge_commit(Actor.of(request), table, version, request.POST.get("reason", ""), lay)
    messages.success(request, f"Version {version:,} is acknowledged.")
    return redirect(commit_url(table, version, lay))
