"""Schemas of a table at any version, and what differs between two versions."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from tables.history import payloads, queries, schemas
from tables.models import Table
from tables.web.list.views import shown
from tables.web.table import page_header, schema_pages, state_comparison, timelines
from tables.web.table.shared import VersionAsked, start_of, table_page, version_asked, version_in


@requires(Permission.TABLE_READ)
@require_GET
def schema(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """The columns at a version, their changes, and two versions compared; only the columns for a swap while you type."""
    table = shown(request, table_id)
    asked = version_asked(request, table)
    state = queries.state_at(table, asked.version)
    listed = _listed(request, table, state) | {"table": table, "version": asked.version, "asked": asked, "at": state}
    if getattr(request, "htmx", False) and request.headers.get("HX-Target") == "found":
        return render(request, "tables/schema/_fields.html", listed)
    page, changes = payloads.schema_changes(table, cursor=request.GET.get("changes", ""))
    compared = _compared(request, table)
    return table_page(
        request,
        table,
        "schema",
        max(asked.status, compared.get("status", 200)),
        changes=changes,
        columns_drawn=timelines.columns_over_time(changes, timezone.now()),
        older_changes=page.next,
        all_changes=queries.schema_commits(table).count() if page.next or "changes" in request.GET else None,
        compared=compared,
        **{name: value for name, value in listed.items() if name != "table"},
    )


def _listed(request: HttpRequest, table: Table, state: queries.StateAtVersion) -> dict[str, Any]:
    """The fields that are asked for: by a part of path or comment, below one field, or page by page."""
    fields = schemas.fields_of(state.schema, state.partition_columns or (), state.clustering_columns, state.properties)
    q, below = request.GET.get("q", "").strip()[:200], request.GET.get("below", "")[:1000]
    listing = schemas.listing(fields, q, below, start_of(request.GET.get("cursor", "")))
    return {"fields": listing, "q": q, "below": below, "page": schema_pages.field_pages(listing, request.GET)}


def _compared(request: HttpRequest, table: Table) -> dict[str, Any]:
    """The comparison that is asked for, else none."""
    if "old" not in request.GET:
        return {}
    old, new = _pair(request, table, "old", "new")
    typed = {
        "old": old.version, "new": new.version, "old_typed": old.typed, "new_typed": new.typed,
        "status": max(old.status, new.status),
    }  # fmt: skip
    if fault := old.fault or new.fault:
        return {**typed, "error": fault}
    before, after = queries.state_at(table, old.version), queries.state_at(table, new.version)
    if before.schema is None or after.schema is None:
        return {**typed, "error": "Levee doesn’t know the schema of one of these versions."}
    return {**typed, "changes": schemas.differences(before.schema, after.schema)}


def _pair(request: HttpRequest, table: Table, old: str, new: str) -> tuple[VersionAsked, VersionAsked]:
    """Two versions by the names of their fields: the last two unless told."""
    newest = queries.newest(table)
    first = version_in(request.GET.get(old, ""), newest, max(newest - 1, 0))
    return first, version_in(request.GET.get(new, ""), newest, newest)


@requires(Permission.TABLE_READ)
@require_GET
def compare(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Two versions side by side: schema, properties, protocol, and what the commits between them did."""
    table = shown(request, table_id)
    first, second = _pair(request, table, "from", "to")
    old, new = first.version, second.version
    around = page_header.header(person_of(request), table, "history")
    compared = state_comparison.comparison(*(queries.state_at(table, version) for version in (old, new)))
    sums = queries.between(table, min(old, new), max(old, new))
    asked_for = {"old": old, "new": new, "steps": abs(new - old), "first": first, "second": second}
    asked_for |= {"older": min(old, new), "newer": max(old, new)}
    context = {**around, **asked_for, "sums": sums, **compared}
    return render(request, "tables/table/compare.html", context, status=max(first.status, second.status))
