"""The page of a table's columns: what the log's statistics say of each."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from jobs.web.profiles import log_profile
from tables.web.table import page_header
from tables.web.table.shared import start_of


@requires(Permission.TABLE_ROWS)
@require_GET
def profile(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Bounds of each column at once."""
    subject = log_profile.subject_for(Actor.of(request), table_id)
    start = start_of(request.GET.get("start", ""))
    found, total = log_profile.of_columns(subject, start)
    end = start + len(found.columns)
    context = {
        **page_header.header(person_of(request), subject.table, "schema"),
        "found": found,
        "total": total,
        "first": start + 1,
        "last": end,
        "earlier": max(start - log_profile.AT_ONCE, 0) if start else None,
        "later": end if end < total else None,
    }
    return render(request, "jobs/profiles/profile.html", context)
