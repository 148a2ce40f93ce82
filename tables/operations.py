"""Which operations a history has, and the newest commits that took something away: both by the index, at any length."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import QuerySet

from tables import explanations, histories
from tables.models import DESTRUCTIVE, Commit, Explanation, Table

MOST_OPERATIONS = 60
LONGEST_NAME = 100  # what a writer calls its operation may be any text; a longer one is no choice in a list
MOST_MARKS = 60  # more would lie upon each other
APPROVED = (Explanation.Verdict.APPROVED, Explanation.Verdict.NEEDED_NONE)

# From each name straight to the next one: as many looks into the index as there are names, not as there are commits.
_NAMES = """
WITH RECURSIVE found AS (
  (SELECT operation FROM tables_commit WHERE table_id = %(table)s AND incarnation = %(lay)s ORDER BY operation LIMIT 1)
  UNION ALL
  SELECT (SELECT c.operation FROM tables_commit c WHERE c.table_id = %(table)s AND c.incarnation = %(lay)s
          AND c.operation > found.operation ORDER BY c.operation LIMIT 1)
  FROM found WHERE found.operation IS NOT NULL
)
SELECT operation FROM found WHERE operation IS NOT NULL LIMIT %(most)s
"""


def names(table: Table, incarnation: int | None = None) -> list[str]:
    """The operations of a history, by name; at most MOST_OPERATIONS. One query."""
    lay = table.incarnation if incarnation is None else incarnation
    with connection.cursor() as cursor:
        cursor.execute(_NAMES, {"table": table.pk, "lay": lay, "most": MOST_OPERATIONS})
        return [name for (name,) in cursor.fetchall() if 0 < len(name) <= LONGEST_NAME]


@dataclass(frozen=True, slots=True)
class Destructive:
    """A commit that removed or replaced rows. `is_approved`: a job of Levee's stands behind it as it should."""

    version: int
    at: datetime | None
    operation: str
    is_approved: bool


def destructive(table: Table, most: int = MOST_MARKS) -> list[Destructive]:
    """The newest ones of the present history, oldest first. Two queries, each operation read from its end of the index."""
    parts = [_newest(table, operation, most) for operation in DESTRUCTIVE]
    rows = sorted(parts[0].union(*parts[1:], all=True).order_by("-version")[:most])
    known = explanations.of_commits(table, table.incarnation, [version for version, _, _ in rows]) if rows else {}
    return [
        Destructive(version, at, operation, version in known and known[version].verdict in APPROVED)
        for version, at, operation in rows
    ]


def _newest(table: Table, operation: str, most: int) -> QuerySet[Commit, tuple[int, datetime | None, str]]:
    rows = histories.commits_of(table).filter(operation=operation).order_by("-version")
    return rows.values_list("version", "committed_at", "operation")[:most]
