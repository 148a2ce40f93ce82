"""A table's overview and its protocol."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from console.accounts.models import Person
from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from tables import ports
from tables.history import operations, payloads, queries, schemas, streams
from tables.models import Table
from tables.record import transactions
from tables.web.charts.growth import sizes_over_time
from tables.web.list.views import shown
from tables.web.table import commit_lines, health_findings, page_header, protocol_rows
from tables.web.table.shared import table_page, version_asked
from tables.web.table_state import has_unguarded_writers

COLUMNS = 12  # the first ones of the schema
COMMITS = 5  # the newest ones


@requires(Permission.TABLE_READ)
@require_GET
def overview(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """A table's overview: its health, columns, last commits and growth, and what flows in and out."""
    table = shown(request, table_id)
    own, others = protocol_rows.properties(table)
    days = queries.days_of(table, timezone.now()) if table.version is not None else []
    around = page_header.header(person_of(request), table, "overview")
    facts = {
        **around,
        "findings": health_findings.findings(table, around["table_acts"]),
        "unguarded": has_unguarded_writers(table),
        "requests": ports.open_on(person_of(request), table),
        "properties": own,
        "defaults": others,
        "changed": sum(1 for row in own if row.is_own),
        "days": days,
        "growth": sizes_over_time(days, operations.destructive(table) if len(days) > 1 else ()),
        "streams": streams.streams_into(table),
        "flows": ports.streams_of(person_of(request), table),
        "earlier": list(table.earlier.all()) if table.incarnation else [],
        "columns": len(table.schema.struct["fields"]) if table.schema else None,
        "first_columns": schemas.first_columns(
            table.schema, COLUMNS, table.partition_columns, table.clustering_columns
        ),
        **_lately(person_of(request), table),
    }
    return render(request, "tables/table/overview.html", facts)


def _lately(person: Person, table: Table) -> dict[str, Any]:
    """The newest commits, each with who made it and why."""
    if table.version is None:
        return {"lately": []}
    commits = queries.history_page(table, queries.HistoryFilter(), COMMITS).rows
    return {"lately": commit_lines.lines_of(person, table, table.incarnation, commits)}


@requires(Permission.TABLE_READ)
@require_GET
def protocol(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Reader and writer versions, features, and what each demands."""
    table = shown(request, table_id)
    asked = version_asked(request, table)
    state = queries.state_at(table, asked.version)
    features = payloads.demands_of(state.protocol)
    held = transactions.shown(transactions.at(table, asked.version))
    engines = ports.engines_of(state.protocol)
    return table_page(
        request,
        table,
        "protocol",
        asked.status,
        version=asked.version,
        asked=asked,
        protocol=state.protocol,
        features=features,
        engines=engines,
        locked_out=_locked_out(engines),
        **held,
    )


def _is_kept_from_writing(engine: ports.ReaderEngine) -> bool:
    return engine.reads and engine.writes is False and not engine.only_reads


def _locked_out(engines: Sequence[ports.ReaderEngine]) -> dict[str, list[str]]:
    """The engines, with versions, that can't read the table, and those that read it and can't write to it, though to others."""
    return {
        "readers": [f"{each.name} {each.version}" for each in engines if not each.reads],
        "writers": [f"{each.name} {each.version}" for each in engines if _is_kept_from_writing(each)],
    }
