"""The commits of a day, of all the tables that a person sees."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.db.models import Q

from console.accounts.models import Person
from console.base.pagination import Key, Page, page
from tables.catalog.listing import visible_to
from tables.models import Commit
from tables.rules.commit_kinds import Kind, of_kind
from tables.rules.destruction import DESTRUCTIVE

NEWEST = (
    Key("committed_at", descending=True),
    Key("table_id"),
    Key("incarnation"),
    Key("version", descending=True),
)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which commits: those from the day `first` to the day `last` (UTC), of one kind if any, or the destructive ones alone."""

    first: date
    last: date
    kind: Kind | None = None
    destructive: bool = False

    def condition(self) -> Q:
        start = datetime.combine(self.first, time.min, UTC)
        end = datetime.combine(self.last, time.min, UTC) + timedelta(days=1)
        wanted = Q(committed_at__gte=start, committed_at__lt=end)
        if self.destructive:
            wanted &= DESTRUCTIVE
        return wanted & of_kind(self.kind) if self.kind else wanted


def commit_page(person: Person, wanted: Filter, limit: int, cursor: str = "") -> Page[Commit]:
    """Commits with their tables, newest first."""
    commits = Commit.objects.filter(wanted.condition(), table__in=visible_to(person)).select_related("table")
    return page(commits.defer("properties", "protocol", "problems"), NEWEST, limit, cursor)
