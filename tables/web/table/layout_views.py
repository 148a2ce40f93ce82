"""How a table's files lie, and its partitions."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.base.errors import Problem
from tables.history import layout_at
from tables.history import partitions as listing
from tables.web.list.views import shown
from tables.web.table import layout_figures, page_header
from tables.web.table.shared import start_of, table_page, version_asked

PARTITIONS = 100


@requires(Permission.TABLE_READ)
@require_GET
def layout(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """How the live files lie: sizes, partitions, skew, statistics."""
    table = shown(request, table_id)
    asked = version_asked(request, table)
    try:
        found = layout_at.at(table, asked.version)
    except Problem as problem:
        if problem.status not in {410, 422} or table.version is None or asked.version == table.version:
            raise
        asked = asked.refused(table.version, problem)
        found = layout_at.at(table, asked.version)
    context = {"version": asked.version, "asked": asked, "is_newest": asked.version == table.version}
    return table_page(request, table, "layout", asked.status, **context, **layout_figures.layout(found))


@requires(Permission.TABLE_READ)
@require_GET
def partitions(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Every partition of the newest version, largest first; only the table for a swap while you type."""
    table = shown(request, table_id)
    order = request.GET.get("order", "")
    order = order if order in listing.ORDERS else listing.USUAL
    q = request.GET.get("q", "")[: listing.LONGEST_QUERY]
    page = listing.page(table, order, q, start_of(request.GET.get("cursor", "")), PARTITIONS)
    context = {"order": order, "q": q, **layout_figures.partitions(page, order, request.GET)}
    if getattr(request, "htmx", False) and request.headers.get("HX-Target") == "found":
        return render(request, "tables/table/_partitions.html", context)
    around = page_header.header(person_of(request), table, "layout")
    return render(request, "tables/table/partitions.html", {**around, **context})
