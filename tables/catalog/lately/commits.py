"""The commits of some days, and those that await acknowledgement, of all the tables that a person sees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.db.models import Exists, OuterRef, Q

from console.accounts.models import Person
from console.base.pagination import OrderKey, Page, page
from tables.catalog.attributions import open_ones
from tables.catalog.listing import visible_to
from tables.models import Commit, Explanation
from tables.rules.commit_kinds import CommitKind, of_kind
from tables.rules.destruction import DESTRUCTIVE

NEWEST = (
    OrderKey("committed_at", descending=True),
    OrderKey("table_id"),
    OrderKey("incarnation"),
    OrderKey("version", descending=True),
)
FOUND_LAST = (
    OrderKey("found_at", descending=True),
    OrderKey("id", descending=True),
)  # as the index of open explanations has them
NOT_LISTED = ("properties", "protocol", "problems")


@dataclass(frozen=True, slots=True)
class CommitFilter:
    """Which commits: those from the day `first` to the day `last` (UTC), of one kind if any.

    Or the destructive ones alone, or those that await acknowledgement. A commit whose log doesn't tell when it was made is in no day.
    """

    first: date
    last: date
    kind: CommitKind | None = None
    destructive: bool = False
    unapproved: bool = False

    def condition(self) -> Q:
        begin, end = (datetime.combine(day, time.min, UTC) for day in (self.first, self.last))
        wanted = Q(committed_at__gte=begin, committed_at__lt=end + timedelta(days=1))
        if self.destructive:
            wanted &= DESTRUCTIVE
        if self.unapproved:
            wanted &= _awaits_acknowledgement()
        return wanted & of_kind(self.kind) if self.kind else wanted


def _awaits_acknowledgement() -> Q:
    same = {name: OuterRef(name) for name in ("table", "incarnation", "version")}
    return Q(Exists(Explanation.objects.filter(verdict__in=Explanation.UNEXPLAINED, acknowledged_at=None, **same)))


def commit_page(
    person: Person, wanted: CommitFilter, limit: int, cursor: str = "", *, oldest_first: bool = False
) -> Page[Commit]:
    """Commits of some days with their tables, newest first unless told."""
    commits = Commit.objects.filter(wanted.condition(), table__in=visible_to(person)).select_related("table")
    return page(commits.defer(*NOT_LISTED), _turned(NEWEST, oldest_first), limit, cursor)


def awaiting_page(person: Person, limit: int, cursor: str = "", *, oldest_first: bool = False) -> Page[Commit]:
    """Commits of all days that await acknowledgement, with their tables, last found first unless told. Two queries.

    The few explanations of a page are found by their index, and their commits by key: nothing is sorted, however many are open.
    """
    explanations = open_ones(person).select_related(None).only("table_id", "incarnation", "version", "found_at")
    found = page(explanations, _turned(FOUND_LAST, oldest_first), limit, cursor)
    return Page(_commits_of(found.rows), found.next, found.previous)


def _turned(order: Iterable[OrderKey], oldest_first: bool) -> list[OrderKey]:
    return [OrderKey(key.field, key.descending != oldest_first) for key in order]


def _commits_of(explanations: list[Explanation]) -> list[Commit]:
    """Their commits, in the same order."""
    if not explanations:
        return []
    versions = defaultdict(list)
    for each in explanations:
        versions[each.table_id, each.incarnation].append(each.version)
    same = Q()
    for (table, incarnation), of_table in versions.items():
        same |= Q(table=table, incarnation=incarnation, version__in=of_table)
    commits = Commit.objects.filter(same).select_related("table").defer(*NOT_LISTED)
    by_key = {(c.table_id, c.incarnation, c.version): c for c in commits}
    keys = [(e.table_id, e.incarnation, e.version) for e in explanations]
    return [by_key[key] for key in keys if key in by_key]
