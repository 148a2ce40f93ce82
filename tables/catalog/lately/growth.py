"""How much the largest tables have grown lately."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, timedelta

from django.db.models import Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from console.accounts.models import Person
from tables.catalog.lately.days import DAYS
from tables.catalog.listing import visible_to
from tables.models import Table, TableDay

SHOWN = 6
COLUMNS = ("name", "incarnation", "size_bytes", "last_commit_at")  # of a table: the others are wide


@dataclass(frozen=True, slots=True)
class TableGrowth:
    """A table with its size at the end of each of the last days, oldest first; None before a commit that doesn't tell."""

    table: Table
    sizes: list[int | None]
    grown: int | None
    last_day: date

    @property
    def days(self) -> list[date]:
        """The days of the `sizes`, UTC."""
        return [self.last_day - timedelta(days=back) for back in reversed(range(len(self.sizes)))]


def of_largest(person: Person) -> list[TableGrowth]:
    """The largest tables that the person sees, largest first. Two queries."""
    today = timezone.now().astimezone(UTC).date()
    # The list's own order, which an index has.
    by_size = visible_to(person).order_by(Coalesce("size_bytes", Value(-1)).desc(), "id")
    tables = [table for table in by_size.only(*COLUMNS)[:SHOWN] if table.size_bytes is not None]
    grown: dict[tuple[object, int], dict[date, int | None]] = {}
    rows = TableDay.objects.filter(table__in=[t.pk for t in tables], day__gt=today - timedelta(days=DAYS))
    for row in rows.values_list("table_id", "incarnation", "day", "bytes_grown"):
        grown.setdefault((row[0], row[1]), {})[row[2]] = row[3]
    return [_growth(table, grown.get((table.pk, table.incarnation), {}), today) for table in tables]


def _growth(table: Table, grown: dict[date, int | None], today: date) -> TableGrowth:
    """Reckoned back from what the table is now."""
    size, sizes = table.size_bytes, [table.size_bytes]
    for back in range(DAYS):
        step = grown.get(today - timedelta(days=back), 0)
        size = None if size is None or step is None or size < step else size - step
        sizes.append(size)
    known = table.size_bytes is not None and size is not None
    return TableGrowth(table, sizes[::-1], (table.size_bytes or 0) - (size or 0) if known else None, today)
