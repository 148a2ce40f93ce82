"""Size and rows of a table over its newest versions, summed by the database."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, F, Max, Min, Sum

from tables.history.queries import commits_of
from tables.models import Table

MOST_VERSIONS = 1_000  # that are looked at: as many rows are read, however long the history
MOST_POINTS = 100


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """What the table was at a version. Bytes and rows; None where a commit after it doesn't tell or isn't known."""

    version: int
    commits: int
    size_bytes: int | None
    num_records: int | None


def by_version(table: Table) -> list[GrowthPoint]:
    """The newest MOST_VERSIONS versions in MOST_POINTS steps at most, oldest first, reckoned back from what the table is now.

    Each point is the last version of its step. One query.
    """
    if table.version is None:
        return []
    first = max(0, table.version - MOST_VERSIONS + 1)
    width = -(-(table.version - first + 1) // MOST_POINTS)
    steps = (
        commits_of(table)
        .filter(version__gte=first, version__lte=table.version)
        .annotate(step=(table.version - F("version")) / width)
    )
    sums = steps.values("step").order_by("step").annotate(
        first=Min("version"), last=Max("version"), commits=Count("version"),
        removed=Sum("bytes_removed"), added=Sum("bytes_added"), grown=Sum("rows_changed"),
        sizes=Count(F("bytes_added") + F("bytes_removed")), counts=Count("rows_changed"),
    )  # fmt: skip
    points: list[GrowthPoint] = []
    size, records, newest = table.size_bytes, table.num_records, table.version
    for row in sums:
        if row["last"] != newest:  # nothing is known of the versions between
            size = records = None
        points.append(GrowthPoint(row["last"], row["commits"], size, records))
        versions, newest = row["last"] - row["first"] + 1, row["first"] - 1
        size = size - row["added"] + row["removed"] if size is not None and row["sizes"] == versions else None
        records = records - row["grown"] if records is not None and row["counts"] == versions else None
    return points[::-1]
