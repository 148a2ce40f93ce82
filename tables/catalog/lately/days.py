"""What happened to the tables that a person sees, day by day: commits by kind, rows and bytes in and out.

Summed from the tables' own days for a few tables. Of more, whole roots have their sums in their rows, counted again by the light
worker; tables that a person sees one by one are added to those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from operator import attrgetter
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone

from console.accounts.models import Person
from console.accounts.roles import Permission
from tables.catalog.listing import roots_of, visible_to
from tables.models import Root, Table, TableDay
from tables.rules.commit_kinds import CommitKind

DAYS = 30
LIVE = 300  # tables whose days are summed for each page
REFRESH = timedelta(minutes=5)
MOST = 2**63 - 1  # what a sum is cut at, as a table's own is
_LOCKS = 0x6C766479  # the space of advisory locks in which the counting of a root takes one


@dataclass(frozen=True, slots=True)
class LakeDay:
    """One day (UTC) of many tables. Rows and bytes are net per commit; `untold` counts the commits that don't tell theirs."""

    day: date
    commits: int = 0
    appends: int = 0
    changes: int = 0
    removals: int = 0
    upkeeps: int = 0
    rows_in: int = 0
    rows_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    untold: int = 0

    @property
    def others(self) -> int:
        return self.commits - self.appends - self.changes - self.removals - self.upkeeps

    def of(self, kind: CommitKind) -> int:
        """The commits of one kind."""
        return {
            CommitKind.APPEND: self.appends,
            CommitKind.CHANGE: self.changes,
            CommitKind.REMOVAL: self.removals,
            CommitKind.UPKEEP: self.upkeeps,
            CommitKind.OTHER: self.others,
        }[kind]


FIGURES = tuple(field.name for field in fields(LakeDay) if field.name != "day")


@dataclass(frozen=True, slots=True)
class LakeDays:
    """The last DAYS days, oldest first, each of them. `counted_at` says since when they may be old; None: they are of this moment.

    `uncounted` is how many roots are left out because nothing has counted them yet.
    """

    days: list[LakeDay]
    counted_at: datetime | None = None
    uncounted: int = 0

    def __bool__(self) -> bool:
        return self.uncounted > 0 or any(day.commits for day in self.days)


def days_for(person: Person, seen: int | None = None) -> LakeDays:
    """The days of the tables that the person sees. One to three queries, whatever the size of the catalog.

    `seen` is how many those are, where that is known: above LIVE it doesn't matter how many.
    """
    today = timezone.now().astimezone(UTC).date()
    tables = visible_to(person).order_by()
    if (tables[: LIVE + 1].count() if seen is None else seen) <= LIVE:
        return LakeDays(_filled(_summed(tables, today), today))
    sums, times = [], []
    uncounted = 0
    for stored, at in roots_of(person).values_list("days", "days_at"):
        if at is None:
            uncounted += 1
            continue
        sums += [LakeDay(date.fromisoformat(day), *figures) for day, *figures in stored or []]
        times.append(at)
    scopes = person.scopes(Permission.TABLE_READ)
    if not scopes.everything and scopes.tables:
        single = Table.objects.filter(pk__in=scopes.tables, hidden_at=None).exclude(root_id__in=scopes.roots)
        sums += _summed(single, today)
    return LakeDays(_filled(sums, today), min(times, default=None), uncounted)


def _summed(tables: QuerySet[Table], today: date) -> list[LakeDay]:
    """The days on which these tables had commits."""
    rows = TableDay.objects.filter(table__in=tables, day__gt=today - timedelta(days=DAYS), day__lte=today)
    summed = rows.values("day").annotate(**{f"sum_{name}": Sum(name) for name in FIGURES})
    listed = summed.values_list("day", *(f"sum_{name}" for name in FIGURES))
    return [LakeDay(day, *(min(int(figure), MOST) for figure in figures)) for day, *figures in listed]


def _filled(sums: Iterable[LakeDay], today: date) -> list[LakeDay]:
    """Each of the last days once, those without commits too."""
    days: dict[date, list[LakeDay]] = {today - timedelta(days=back): [] for back in reversed(range(DAYS))}
    for part in sums:
        if part.day in days:  # what was counted yesterday may begin a day earlier
            days[part.day].append(part)
    return [_sum(day, parts) for day, parts in days.items()]


_figures = attrgetter(*FIGURES)


def _sum(day: date, parts: list[LakeDay]) -> LakeDay:
    return LakeDay(day, *map(sum, zip(*map(_figures, parts), strict=True))) if parts else LakeDay(day)


def refresh_next() -> bool:
    """Counts the root whose days are oldest, if they are older than REFRESH and nobody else counts it now; else False.

    No row is locked meanwhile: people change roots.
    """
    for root in _late_ones() if next_late() else ():
        with transaction.atomic():
            if _try_turn(root) and _late_ones().filter(pk=root.pk).exists():  # another worker may just have counted it
                refresh(root)
                return True
    return False


def _try_turn(root: Root) -> bool:
    """Keeps other workers off the root until the transaction ends; False while one counts it."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(%s, hashtext(%s))", [_LOCKS, str(root.pk)])
        return bool(cursor.fetchone()[0])


def next_late() -> Root | None:
    """The root to count next: none in a catalog whose days are summed for each page."""
    root = _late_ones().first()
    few = Table.objects.filter(hidden_at=None).order_by()[: LIVE + 1].count() <= LIVE
    return None if root is None or few else root


def _late_ones() -> QuerySet[Root]:
    late = Q(days_at=None) | Q(days_at__lt=timezone.now() - REFRESH)
    return Root.objects.filter(late).order_by(F("days_at").asc(nulls_first=True))


def refresh(root: Root) -> None:
    """Sums the days of a root's tables and keeps the sums."""
    now = timezone.now()
    days = _summed(Table.objects.filter(root=root, hidden_at=None), now.astimezone(UTC).date())
    stored: Sequence[list[Any]] = [[day.day.isoformat(), *(getattr(day, name) for name in FIGURES)] for day in days]
    Root.objects.filter(pk=root.pk).update(days=stored, days_at=now)
