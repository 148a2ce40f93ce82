"""The page of the rows that differ between two versions. Opening it reads with Spark, and the audit log records it."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.domain.read_limits import CLOSER, CODE
from jobs.reads.row_diff import ask_row_diff
from jobs.reads.rows import table_with_rows
from jobs.web.reads.row_forms import RowDiffForm
from jobs.web.reads.row_views import context_of, refusal
from tables.history import queries
from tables.models import Table
from tables.web.table import page_header

REMEDIES = {
    CODE: CLOSER,
    "version_gone": "Choose versions that can still be read.",
    "busy": "Try again in a moment.",
}


@requires(Permission.TABLE_ROWS)
@require_GET
def row_diff(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Which rows differ between two versions of the table: the last two unless told."""
    actor = Actor.of(request)
    table = table_with_rows(actor, table_id)
    newest = queries.newest(table)
    form = RowDiffForm(request.GET or {"from_version": max(newest - 1, 0), "to_version": newest})
    asked = _asked(actor, table, form) if form.is_valid() else {}
    context = {**page_header.header(person_of(request), table, "history"), "form": form, **asked}
    return render(request, "jobs/reads/row_diff.html", context, status=400 if form.errors else 200)


def _asked(actor: Actor, table: Table, form: RowDiffForm) -> dict[str, Any]:
    """The read so far; what is refused at once stands where the rows would."""
    try:
        return context_of(ask_row_diff(actor, table, form.given()))
    except Problem as problem:
        if problem.status >= 500 and problem.code != "busy":
            raise
        return {"error": refusal(problem, REMEDIES)}
