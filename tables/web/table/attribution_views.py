"""The form to acknowledge an unapproved commit."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from console.accounts.permissions import requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from tables.catalog.attributions import acknowledge as acknowledge_commit
from tables.history.queries import incarnation_of
from tables.history.version_links import commit_url
from tables.web.list.views import shown


@requires(Permission.TABLE_ADD)
@require_POST
def acknowledge(request: HttpRequest, table_id: uuid.UUID, version: int) -> HttpResponse:
    """Records the person's explanation and returns to the commit."""
    table = shown(request, table_id)
    incarnation = incarnation_of(table, request.POST.get("incarnation", ""))
    acknowledge_commit(Actor.of(request), table, version, request.POST.get("reason", ""), incarnation)
    messages.success(request, f"Version {version:,} is acknowledged.")
    return redirect(commit_url(table, version, incarnation))
