"""A table's history, and one of its commits."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, time
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from console.accounts.lists import in_order, listing_of
from console.accounts.models import Person
from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.base.errors import Problem
from console.base.pagination import Page, pager
from tables import ports
from tables.history import commit_files, explained, growth, operations, payloads, queries
from tables.history.operations import UNNAMED
from tables.history.reachability import TableReach, joined
from tables.models import Commit, Table
from tables.record.commit_rows import tree_of
from tables.rules import sample_lake
from tables.rules.destruction import is_destructive
from tables.web.charts.commits import commits_by_day
from tables.web.charts.growth import rows_over_time, rows_over_versions, sizes_over_versions
from tables.web.charts.strip import strip
from tables.web.forms import HistoryForm
from tables.web.kinds import HISTORY
from tables.web.list.views import shown
from tables.web.table import commit_lines, folded_commits, page_header, timelines
from tables.web.table.shared import start_of, table_page, version_asked

MOST_COMMITS = 400  # on a page where most lie in runs
FILES = 50
ACTS = 15
WORDS = {"newest": {"next_text": "Older"}, "oldest": {"next_text": "Newer", "previous_text": "Older"}}


def _note_looked_at(person: Person, table: Table) -> None:
    """The first story has a step that looks at its table’s history: however the person has come here."""
    if person.story_looked_at is None and table.version is not None and sample_lake.is_of_story(table.path, table.root):
        Person.objects.filter(pk=person.pk, story_looked_at=None).update(story_looked_at=Now())
        person.story_looked_at = timezone.now()  # this page says it already


@requires(Permission.TABLE_READ)
@require_GET
def history(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """How far back you can go, and who did what."""
    table = shown(request, table_id)
    _note_looked_at(person_of(request), table)
    if not table.incarnation:
        queries.newest(table)
    form = HistoryForm(request.GET)
    wanted = _history_filter(form) if form.is_valid() else queries.HistoryFilter()
    incarnation = queries.incarnation_of(table, request.GET.get("incarnation", ""))
    reach = TableReach(table)
    arranged = listing_of(person_of(request), HISTORY, request.GET)
    order = arranged.order_asked(request.GET, "newest")
    page, rows = _lines(request, table, wanted, incarnation, reach, arranged.rows, is_newest_first=order == "newest")
    context: dict[str, Any] = {
        "is_oldest_first": order == "oldest",
        "unfolded_order": "newest" if order == "oldest" else request.GET.get("order"),
        "listing": arranged,
        "rows": rows,
        "is_unfolded": "unfold" in request.GET,
        "form": form,
        "wanted": wanted,
        "incarnation": incarnation,
    }
    context |= {"operations": operations.names(table, incarnation), "groups": queries.GROUPS}
    context["commits_url"] = reverse("tables:commit", args=[table.pk, 0]).removesuffix("0/")
    if begins := wanted.before is None and not request.GET.get("cursor"):
        context |= _drawn(reach) | _acts(person_of(request), table)
    return table_page(request, table, "history", begins=begins, **context, **_reachable(request, reach, page, order))


Lines = tuple[Page[Commit], Sequence[commit_lines.CommitRow | folded_commits.FoldedRun]]


def _lines(
    request: HttpRequest, table: Table, wanted: queries.HistoryFilter, incarnation: int, reach: TableReach, commits: int,
    *, is_newest_first: bool,
) -> Lines:  # fmt: skip
    """A page of the history, runs folded unless they are to be opened; where it folds to little, a longer one."""
    person, cursor = person_of(request), request.GET.get("cursor", "")
    order = queries.NEWEST if is_newest_first else queries.OLDEST

    def read(limit: int) -> tuple[Page[Commit], list[commit_lines.CommitRow]]:
        page = queries.history_page(table, wanted, limit, cursor, incarnation, order)
        return page, commit_lines.lines_of(person, table, incarnation, page.rows, reach)

    page, rows = read(commits)
    if "unfold" in request.GET:
        return page, rows
    lines = _folded(rows, is_newest_first=is_newest_first)
    if len(lines) <= commits // 2 and (page.next or page.previous):
        page, rows = read(MOST_COMMITS)
        lines = _folded(rows, is_newest_first=is_newest_first)
    return page, lines


def _folded(
    rows: list[commit_lines.CommitRow], *, is_newest_first: bool
) -> Sequence[commit_lines.CommitRow | folded_commits.FoldedRun]:
    return folded_commits.folded(rows) if is_newest_first else folded_commits.folded(rows[::-1])[::-1]


def _drawn(reach: TableReach) -> dict[str, Any]:
    """The drawings of the whole history: they stand where the list begins, and not again on each of its later pages."""
    spans = joined(reach.spans)
    destructive = operations.destructive(reach.table) if spans else []
    drawn = strip(spans, destructive)
    return {"spans": spans, "destructive": destructive[::-1], "strip": drawn, **_days(reach.table)}


def _days(table: Table) -> dict[str, Any]:
    """Commits and rows by day, size and rows by version, and their drawings."""
    days = queries.days_of(table, timezone.now()) if table.version is not None else []
    points = growth.by_version(table)
    return {
        "days": days,
        "commits_drawn": commits_by_day(days),
        "rows_drawn": rows_over_time(days),
        "points": points[::-1],
        "version_sizes": sizes_over_versions(points),
        "version_rows": rows_over_versions(points),
    }


def _acts(person: Person, table: Table) -> dict[str, Any]:
    """What Levee's jobs did to the table, as far as the person may see it, and its drawing."""
    acts = ports.acts_on(person, table, ACTS)
    return {"acts": acts[::-1], "acts_drawn": timelines.acts_over_time(acts, timezone.now())}


def _history_filter(form: HistoryForm) -> queries.HistoryFilter:
    given = form.cleaned_data
    midnight = {name: given[name] and datetime.combine(given[name], time(), UTC) for name in ("since", "until")}
    return queries.HistoryFilter(
        given["operation"], given["by"], midnight["since"], midnight["until"], given["before"], given["job"]
    )


def _reachable(request: HttpRequest, reach: TableReach, page: Any, order: str) -> dict[str, Any]:
    spans = joined(reach.spans)
    restorable = [span for span in spans if span.restorable]
    return {
        "restorable": sum(span.count for span in restorable),
        "known": sum(span.count for span in spans),
        "oldest": restorable[0] if restorable else None,
        "expires": reach.expires_at(restorable[0]) if restorable else None,
        "retention": reach.retention,
        "page": pager(in_order(request.GET, order), page, **WORDS[order]),
        "earlier": list(reach.table.earlier.all()) if reach.table.incarnation else [],
    }


@requires(Permission.TABLE_READ)
@require_GET
def commit_of(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Leads to the commit of the version that was chosen; to the history, with why, where there is none."""
    table = shown(request, table_id)
    asked = version_asked(request, table)
    if not asked.fault and queries.commits_of(table).filter(version=asked.version).exists():
        return redirect("tables:commit", table.pk, asked.version)
    messages.error(request, asked.fault or f"Levee doesn’t know the commit of version {asked.version:,}.")
    return redirect("tables:history", table.pk)


@requires(Permission.TABLE_READ)
@require_GET
def commit(request: HttpRequest, table_id: uuid.UUID, version: int) -> HttpResponse:
    """One commit: its effects, and the job and people behind it."""
    table = shown(request, table_id)
    incarnation = queries.incarnation_of(table, request.GET.get("incarnation", ""))
    if "job" in request.GET and table.incarnation:
        incarnation = queries.incarnation_with(table, version, request.GET["job"], incarnation)
    row = queries.commit_at(table, version, incarnation)
    reaches = TableReach(table)
    reach, job = reaches.of(row), ports.jobs_of(person_of(request), [row]).get(version)
    schema_changes, property_changes, protocol = payloads.commit_changes(table, row)
    return table_page(
        request,
        table,
        "commit",
        crumbs=page_header.commit_crumbs(table),
        commit=row,
        incarnation=incarnation,
        explanation=explained.of_commits(table, incarnation, [version]).get(version),
        job=job,
        undo_query=None if job else _undo_query(reaches, row),
        title=commit_lines.title_of(row),
        rows_changed=commit_lines.signed(row.rows_changed),
        rows_reported=commit_lines.signed(reported := commit_lines.reported_otherwise(row)),
        rows_apart=None if reported is None or row.rows_changed is None else abs(row.rows_changed - reported),
        reach=reach,
        predicate=commit_lines.predicate_of(row),
        seconds=commit_lines.seconds_of(row),
        schema_changes=schema_changes,
        property_changes=property_changes,
        new_protocol=protocol,
        **_files(request, table, row),
    )


def _undo_query(reach: TableReach, row: Commit) -> str | None:
    """What asks for a restore to before a commit that took rows away; None where that version can't be restored."""
    if not is_destructive(row.operation, row.operation_parameters, row.version, row.removal):
        return None
    before = Commit.objects.filter(table=row.table, incarnation=row.incarnation, version=row.version - 1).first()
    if before is None or not reach.of(before).restorable:
        return None
    reason = f"Undo version {row.version:,} ({row.operation or UNNAMED}), which no job of Levee made."
    return urlencode({"version": before.version, "reason": reason})


def _files(request: HttpRequest, table: Table, row: Commit) -> dict[str, Any]:
    """A page of the commit's files, narrowed by action and by a partition column's value."""
    start, wanted = start_of(request.GET.get("files", "")), _files_filter(request, table)
    context = {"wanted": wanted, "partition_names": table.partition_columns, "files_from": start}
    try:
        page = commit_files.files_of(table, row, wanted["action"], start, FILES, wanted["partition"])
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
        "action": action if action in commit_files.KINDS else "",
        "column": column,
        "value": value,
        "partition": partition,
    }


def _physical(table: Table, column: str) -> str:
    """A partition column's name as files carry it: column mapping renames columns, not files."""
    tree = tree_of(table.schema)
    field = tree.column(column) if tree else None
    return field.physical_name if field else column
