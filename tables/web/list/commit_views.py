"""The commits of a day, or those that await acknowledgement, of all tables."""

from __future__ import annotations

from datetime import UTC, date, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from console.accounts.lists import in_order, listing_of
from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.base.pagination import Page, pager
from console.templatetags.levee import number, unknown
from tables.catalog.lately.commits import CommitFilter, awaiting_page, commit_page
from tables.history.version_links import commit_url
from tables.models import Commit
from tables.rules.commit_kinds import TEXTS, CommitKind
from tables.web.kinds import COMMITS

DESTRUCTIVE = "destructive"  # no kind of its own: of several kinds, and over a week unless a day is asked for
UNAPPROVED = "unapproved"  # nor is this: those that await acknowledgement, of all days, last found first, unless a day is asked for
WEEK = timedelta(days=6)
EARLIEST = date(1970, 1, 2)


@requires(Permission.TABLE_READ)
@require_GET
def commits(request: HttpRequest) -> HttpResponse:
    """One day's commits, today's unless told, of any kind or of one."""
    today = timezone.now().astimezone(UTC).date()
    kind, day = request.GET.get("kind", ""), _day(request.GET.get("day", ""), today)
    person = person_of(request)
    arranged = listing_of(person, COMMITS, request.GET)
    order = arranged.order_asked(request.GET, "newest")
    is_reversed = order == "oldest"
    of_all_days = kind == UNAPPROVED and day is None
    size, cursor = arranged.rows, request.GET.get("cursor", "")
    if of_all_days:
        found = awaiting_page(person, size, cursor, oldest_first=is_reversed)
    else:
        found = commit_page(person, _filter(kind, day, today), size, cursor, oldest_first=is_reversed)
    last = None if of_all_days else day or today
    context = {
        "heading": _heading(kind, day, today),
        "kinds": _kinds(kind, day),
        "awaiting": kind == UNAPPROVED,
        "rows": [_row(commit) for commit in found.rows],
        "listing": arranged,
        "page": _pager(in_order(request.GET, order), found, is_reversed=is_reversed),
        "earlier_url": _at(kind, last - timedelta(days=1)) if last and last > EARLIEST else None,
        "later_url": _at(kind, last + timedelta(days=1)) if last and last < today else None,
    }
    return render(request, "tables/list/commits.html", context)


def _pager(asked: QueryDict, found: Page[Commit], *, is_reversed: bool) -> dict[str, Any]:
    following, previous = ("Later", "Earlier") if is_reversed else ("Earlier", "Later")
    return pager(asked, found, following, previous_text=previous)


def _day(text: str, today: date) -> date | None:
    """The day that was asked for, none in the future; None for no day."""
    try:
        return max(min(date.fromisoformat(text), today), EARLIEST)
    except ValueError:
        return None


def _filter(kind: str, day: date | None, today: date) -> CommitFilter:
    if kind == DESTRUCTIVE:
        return CommitFilter(day or today - WEEK, day or today, destructive=True)
    if kind == UNAPPROVED:
        return CommitFilter(day or today, day or today, unapproved=True)
    return CommitFilter(day or today, day or today, CommitKind(kind) if kind in set(CommitKind) else None)


def _heading(kind: str, day: date | None, today: date) -> str:
    name = {DESTRUCTIVE: "Destructive commits", UNAPPROVED: "Commits awaiting acknowledgement"}.get(kind, "Commits")
    if day is None and kind == DESTRUCTIVE:
        return f"{name}, last 7 days"
    if day is None and kind == UNAPPROVED:
        return name
    return f"{name}, {day:%-d %B %Y}" if day and kind == UNAPPROVED else f"{name} of {day or today:%-d %B %Y}"


def _kinds(chosen: str, day: date | None) -> list[dict[str, Any]]:
    named = {kind.value: text for kind, text in TEXTS.items()}
    texts = {"": "All", **named, DESTRUCTIVE: "Destructive", UNAPPROVED: "To acknowledge"}
    chosen = chosen if chosen in texts else ""
    return [{"text": t, "url": _at(kind, day), "is_current": kind == chosen} for kind, t in texts.items()]


def _at(kind: str, day: date | None) -> str:
    asked = {"day": day.isoformat() if day else "", "kind": kind}
    return f"?{urlencode({name: value for name, value in asked.items() if value})}"


def _row(commit: Commit) -> dict[str, Any]:
    grown = commit.rows_changed
    rows = unknown("the commit doesn’t tell how many rows changed") if grown is None else _signed(grown)
    return {"commit": commit, "url": commit_url(commit.table, commit.version, commit.incarnation), "rows": rows}


def _signed(rows: int) -> str:
    return f"{'+' if rows > 0 else '−' if rows < 0 else ''}{number(abs(rows))}"
