"""The pages of one table."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, time
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts.permissions import asks, person_of
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.errors import Problem
from tables import (
    actions,
    behind,
    descriptions,
    drawings,
    explanations,
    histories,
    layouts,
    log_state,
    naming,
    operations,
    presenters,
    runs,
    schemas,
    services,
)  # fmt: skip
from tables import partitions as listing
from tables.forms import CompareForm, DescribeForm, HistoryForm, VersionForm
from tables.keyset import Page
from tables.models import Commit, Table
from tables.reach import Reach, joined
from tables.views import neighbours, shown

COMMITS = 50
MOST_COMMITS = 400  # on a page where most lie in runs
FILES = 50
PARTITIONS = 100
PAGE_WAITS = 5.0  # seconds, for a sync


def _page(request: HttpRequest, table: Table, tab: str, **context: Any) -> HttpResponse:
    around = presenters.header(person_of(request), table, tab)
    return render(request, f"tables/{tab}.html", {**around, **context})


@asks(Permission.TABLE_READ)
@require_GET
def overview(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """What a table is, whether it is well, how it has grown."""
    table = shown(request, table_id)
    own, others = presenters.properties(table)
    days = histories.days_of(table, timezone.now()) if table.version is not None else []
    return _page(
        request,
        table,
        "overview",
        findings=presenters.findings(table),
        requests=behind.open_on(person_of(request), table),
        properties=own,
        defaults=others,
        changed=sum(1 for row in own if row.is_own),
        days=days,
        growth=drawings.sizes_over_time(days, operations.destructive(table) if len(days) > 1 else ()),
        earlier=list(table.earlier.all()) if table.incarnation else [],
        columns=len(table.schema.struct["fields"]) if table.schema else None,
    )


@asks(Permission.TABLE_READ)
@require_GET
def schema(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """The columns at a version, their changes, and two versions compared; the columns alone for a swap while somebody types."""
    table = shown(request, table_id)
    version = _version(request, table)
    state = histories.state_at(table, version)
    listed = _listed(request, table, state) | {"table": table, "version": version, "at": state}
    if getattr(request, "htmx", False) and request.headers.get("HX-Target") == "found":
        return render(request, "tables/_fields.html", listed)
    found, changes = descriptions.schema_changes(table, cursor=request.GET.get("changes", ""))
    return _page(
        request,
        table,
        "schema",
        changes=changes,
        older_changes=found.next,
        all_changes=histories.schema_commits(table).count() if found.next or "changes" in request.GET else None,
        compared=_compared(request, table),
        **{name: value for name, value in listed.items() if name != "table"},
    )


def _listed(request: HttpRequest, table: Table, state: histories.State) -> dict[str, Any]:
    """The fields that are asked for: by a part of path or comment, below one field, or page by page."""
    fields = schemas.fields_of(state.schema, state.partition_columns or (), state.clustering_columns, state.properties)
    q, below = request.GET.get("q", "").strip()[:200], request.GET.get("below", "")[:1000]
    listing = schemas.listing(fields, q, below, _start(request.GET.get("cursor", "")))
    return {"fields": listing, "q": q, "below": below, "page": presenters.field_pages(listing, request.GET)}


def _start(text: str) -> int:
    """The place in a list where a page begins; the first page for what is no place."""
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _version(request: HttpRequest, table: Table) -> int:
    """The version of the page. Raises Problem 400 `invalid`, and as `histories.newest`."""
    newest = histories.newest(table)
    form = VersionForm(request.GET)
    if not form.is_valid():
        raise Problem(400, "invalid", "A version is a number.")
    asked: int | None = form.cleaned_data["version"]
    return newest if asked is None else asked


def _compared(request: HttpRequest, table: Table) -> dict[str, Any]:
    """The comparison that is asked for, else none."""
    if "old" not in request.GET:
        return {}
    form = CompareForm(request.GET)
    if not form.is_valid():
        return {"error": "Give two versions."}
    old, new = form.cleaned_data["old"], form.cleaned_data["new"]
    before, after = histories.state_at(table, old), histories.state_at(table, new)
    if before.schema is None or after.schema is None:
        return {"old": old, "new": new, "error": "Levee has no commit that tells the schema of one of these versions."}
    return {"old": old, "new": new, "changes": schemas.differences(before.schema, after.schema)}


@asks(Permission.TABLE_READ)
@require_GET
def compare(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Two versions side by side: schema, properties, protocol, and what the commits between them did."""
    table = shown(request, table_id)
    newest = histories.newest(table)
    asked = {"old": request.GET.get("from", max(newest - 1, 0)), "new": request.GET.get("to", table.version)}
    form = CompareForm(asked)
    if not form.is_valid():
        raise Problem(400, "invalid", "Give two versions.")
    old, new = form.cleaned_data["old"], form.cleaned_data["new"]
    around = presenters.header(person_of(request), table, "history")
    compared = presenters.comparison(*(histories.state_at(table, version) for version in (old, new)))
    sums = histories.between(table, min(old, new), max(old, new))
    asked_for = {"old": old, "new": new, "steps": abs(new - old)}
    return render(request, "tables/compare.html", {**around, **asked_for, "sums": sums, **compared})


@asks(Permission.TABLE_READ)
@require_GET
def history(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """How far back one can go, and who did what."""
    table = shown(request, table_id)
    if not table.incarnation:
        histories.newest(table)
    form = HistoryForm(request.GET)
    wanted = _history_filter(form) if form.is_valid() else histories.Filter()
    lay = histories.incarnation_of(table, request.GET.get("incarnation", ""))
    reach = Reach(table)
    found, rows = _lines(request, table, wanted, lay, reach)
    context = {"rows": rows, "is_unfolded": "unfold" in request.GET, "form": form, "wanted": wanted, "incarnation": lay}
    context |= {"operations": operations.names(table, lay), "groups": histories.GROUPS}
    context["commits_url"] = reverse("tables:commit", args=[table.pk, 0]).removesuffix("0/")
    if begins := wanted.before is None and not request.GET.get("cursor"):
        context |= _drawn(reach)
    return _page(request, table, "history", begins=begins, **context, **_reachable(request, reach, found))


Lines = tuple[Page[Commit], Sequence["presenters.CommitRow | runs.Run"]]


def _lines(request: HttpRequest, table: Table, wanted: histories.Filter, lay: int, reach: Reach) -> Lines:
    """A page of the history, runs folded unless they are to be opened; where it folds to little, a longer one."""
    person, cursor = person_of(request), request.GET.get("cursor", "")

    def read(limit: int) -> tuple[Page[Commit], list[presenters.CommitRow]]:
        found = histories.history_page(table, wanted, limit, cursor, lay)
        known = explanations.of_commits(table, lay, [commit.version for commit in found.rows])
        jobs = behind.jobs_of(person, found.rows)
        return found, presenters.commit_rows(found.rows, reach.over(found.rows), known, jobs)

    found, rows = read(COMMITS)
    if "unfold" in request.GET:
        return found, rows
    lines = runs.folded(rows)
    if len(lines) <= COMMITS // 2 and (found.next or found.previous):
        found, rows = read(MOST_COMMITS)
        lines = runs.folded(rows)
    return found, lines


def _drawn(reach: Reach) -> dict[str, Any]:
    """The drawings of the whole history: they stand where the list begins, and not again on each of its later pages."""
    spans = joined(reach.spans)
    destructive = operations.destructive(reach.table) if spans else []
    strip = drawings.strip(spans, destructive)
    return {"spans": spans, "destructive": destructive[::-1], "strip": strip, **_days(reach.table)}


def _days(table: Table) -> dict[str, Any]:
    """Commits and rows by day, and their drawings."""
    days = histories.days_of(table, timezone.now()) if table.version is not None else []
    return {"days": days, "commits_drawn": drawings.commits_by_day(days), "rows_drawn": drawings.rows_over_time(days)}


def _history_filter(form: HistoryForm) -> histories.Filter:
    given = form.cleaned_data
    midnight = {name: given[name] and datetime.combine(given[name], time(), UTC) for name in ("since", "until")}
    return histories.Filter(
        given["operation"], given["by"], midnight["since"], midnight["until"], given["before"], given["job"]
    )


def _reachable(request: HttpRequest, reach: Reach, found: Any) -> dict[str, Any]:
    spans = joined(reach.spans)
    restorable = [span for span in spans if span.restorable]
    return {
        "restorable": sum(span.count for span in restorable),
        "known": sum(span.count for span in spans),
        "oldest": restorable[0] if restorable else None,
        "expires": reach.expires_at(restorable[0]) if restorable else None,
        "retention": reach.retention,
        "page": neighbours(request, found, "Older"),
        "earlier": list(reach.table.earlier.all()) if reach.table.incarnation else [],
    }


@asks(Permission.TABLE_READ)
@require_GET
def commit(request: HttpRequest, table_id: uuid.UUID, version: int) -> HttpResponse:
    """What one commit did, and who stands behind it."""
    table = shown(request, table_id)
    lay = histories.incarnation_of(table, request.GET.get("incarnation", ""))
    if "job" in request.GET and table.incarnation:
        lay = histories.incarnation_with(table, version, request.GET["job"], lay)
    found = histories.commit_at(table, version, lay)
    reach = Reach(table).of(found)
    schema_changes, property_changes, protocol = descriptions.commit_changes(table, found)
    return _page(
        request,
        table,
        "commit",
        crumbs=presenters.commit_crumbs(table),
        commit=found,
        incarnation=lay,
        explanation=explanations.of_commits(table, lay, [version]).get(version),
        job=behind.jobs_of(person_of(request), [found]).get(version),
        title=presenters.title_of(found),
        rows_changed=presenters.signed(found.rows_changed),
        reach=reach,
        predicate=presenters.predicate_of(found),
        seconds=presenters.seconds_of(found),
        schema_changes=schema_changes,
        property_changes=property_changes,
        new_protocol=protocol,
        **_files(request, table, found),
    )


def _files(request: HttpRequest, table: Table, found: Commit) -> dict[str, Any]:
    """A page of the commit's files, narrowed by action and by a partition column's value."""
    start, wanted = _start(request.GET.get("files", "")), _files_filter(request, table)
    context = {"wanted": wanted, "partition_names": table.partition_columns, "files_from": start}
    try:
        page = actions.files_of(table, found, wanted["action"], start, FILES, wanted["partition"])
    except Problem as problem:
        return context | {"files": [], "files_problem": problem.detail, "more_files": None}
    return context | {
        "files": page.rows,
        "more_files": page.next,
        "earlier_files": page.previous,
        "unread": page.problems,
    }


def _files_filter(request: HttpRequest, table: Table) -> dict[str, Any]:
    """`partition` is a column and the text that its value holds, None for all files; what is no action narrows nothing."""
    action = request.GET.get("action", "")
    column, value = request.GET.get("column", ""), request.GET.get("value", "")[:200]
    if column not in table.partition_columns and table.partition_columns:
        column = table.partition_columns[0]
    partition = (_physical(table, column), value) if column and value else None
    return {
        "action": action if action in actions.KINDS else "",
        "column": column,
        "value": value,
        "partition": partition,
    }


def _physical(table: Table, column: str) -> str:
    """A partition column's name as files carry it: column mapping renames columns, not files."""
    tree = schemas.tree_of(table.schema)
    found = tree.column(column) if tree else None
    return found.physical_name if found else column


@asks(Permission.TABLE_READ)
@require_GET
def protocol(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Reader and writer versions, features, and what each demands."""
    table = shown(request, table_id)
    version = _version(request, table)
    state = histories.state_at(table, version)
    features = descriptions.demands_of(state.protocol)
    held = log_state.shown(log_state.at(table, version))
    return _page(request, table, "protocol", version=version, protocol=state.protocol, features=features, **held)


@asks(Permission.TABLE_READ)
@require_GET
def layout(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """How the live files lie: sizes, partitions, skew, statistics."""
    table = shown(request, table_id)
    version = _version(request, table)
    drawn = presenters.layout(layouts.at(table, version))
    return _page(request, table, "layout", version=version, is_newest=version == table.version, **drawn)


@asks(Permission.TABLE_READ)
@require_GET
def partitions(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Every partition of the newest version, largest first; the table alone for a swap while somebody types."""
    table = shown(request, table_id)
    order = request.GET.get("order", "")
    order = order if order in listing.ORDERS else listing.USUAL
    q = request.GET.get("q", "")[: listing.LONGEST_QUERY]
    found = listing.page(table, order, q, _start(request.GET.get("cursor", "")), PARTITIONS)
    context = {"order": order, "q": q, **presenters.partitions(found, order, request.GET)}
    if getattr(request, "htmx", False) and request.headers.get("HX-Target") == "found":
        return render(request, "tables/_partitions.html", context)
    around = presenters.header(person_of(request), table, "layout")
    return render(request, "tables/partitions.html", {**around, **context})


@asks(Permission.TABLE_ADD)
@require_POST
def sync(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Reads what is new in the log."""
    try:
        synced = services.sync_table(Actor.of(request), shown(request, table_id), PAGE_WAITS)
    except Problem as problem:
        if problem.code != "sync_running":
            raise
        messages.info(request, problem.detail)
    else:
        if synced.asked is not None:
            messages.info(request, "The log is still being read; what is shown here is what it said before.")
        elif synced.table.sync_error:
            messages.warning(request, synced.table.sync_error)
    return redirect("tables:overview", table_id)


@asks(Permission.TABLE_ADD, Permission.TAG_MANAGE)
@require_http_methods(["GET", "POST"])
def describe(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Name, owner, description and tags."""
    table = shown(request, table_id)
    given = {
        "catalog_name": table.catalog_name or "",
        "owner": table.owner,
        "description": table.description,
        "tags": ", ".join(table.tags),
    }
    form = DescribeForm(request.POST or None, initial=given)
    if request.method == "POST" and form.is_valid() and _named(request, form, table):
        services.update_table(Actor.of(request), table, **_described(form, table))
        return redirect("tables:overview", table.pk)
    return _page(request, table, "describe", form=form)


def _named(request: HttpRequest, form: DescribeForm, table: Table) -> bool:
    """Gives the table the name that was entered, or takes it away; False with the reason in the form."""
    name = form.cleaned_data["catalog_name"] or None
    if "catalog_name" not in request.POST or name == table.catalog_name:
        return True
    try:
        naming.rename_table(Actor.of(request), table, name)
    except Problem as problem:
        if problem.status not in {400, 409}:
            raise
        form.add_error("catalog_name", problem.detail)
        return False
    return True


def _described(form: DescribeForm, table: Table) -> dict[str, Any]:
    """The fields that differ from what the table has: others need no permission."""
    tags = sorted({tag.strip() for tag in form.cleaned_data["tags"].split(",")} - {""})
    given = {"owner": form.cleaned_data["owner"], "description": form.cleaned_data["description"], "tags": tags}
    return {name: value for name, value in given.items() if value != getattr(table, name)}


@asks(Permission.TAG_MANAGE)
@require_POST
def hide(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Takes the table out of the lists."""
    table = shown(request, table_id)
    services.hide_table(Actor.of(request), table)
    messages.success(
        request, f"{table.name} is hidden. Its history and the audit stay; adding it again brings it back."
    )
    return redirect("tables:list")
