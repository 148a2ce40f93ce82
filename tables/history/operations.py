"""Which operations a history has, and the newest commits that took something away: both by the index, at any length."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from tables.history import explained
from tables.models import Commit, Explanation, Table
from tables.rules.destruction import DESTRUCTIVE

MOST_OPERATIONS = 60
LONGEST_NAME = 100  # what a writer calls its operation may be any text; a longer one is no choice in a list
UNNAMED = "an unnamed operation"
MOST_MARKS = 60  # more would lie upon each other
# What such a commit did was approved too, though it turned out otherwise.
APPROVED = (Explanation.Verdict.APPROVED, Explanation.Verdict.NEEDED_NONE, Explanation.Verdict.CONTRADICTS)

# From each name straight to the next one: as many looks into the index as there are names, not as there are commits.
_NAMES = """
WITH RECURSIVE found AS (
  (SELECT operation FROM tables_commit WHERE table_id = %(table)s AND incarnation = %(incarnation)s ORDER BY operation LIMIT 1)
  UNION ALL
  SELECT (SELECT c.operation FROM tables_commit c WHERE c.table_id = %(table)s AND c.incarnation = %(incarnation)s
          AND c.operation > found.operation ORDER BY c.operation LIMIT 1)
  FROM found WHERE found.operation IS NOT NULL
)
SELECT operation FROM found WHERE operation IS NOT NULL LIMIT %(most)s
"""


def names(table: Table, incarnation: int | None = None) -> list[str]:
    """The operations of a history, by name; at most MOST_OPERATIONS. One query."""
    incarnation = table.incarnation if incarnation is None else incarnation
    with connection.cursor() as cursor:
        cursor.execute(_NAMES, {"table": table.pk, "incarnation": incarnation, "most": MOST_OPERATIONS})
        return [name for (name,) in cursor.fetchall() if 0 < len(name) <= LONGEST_NAME]


@dataclass(frozen=True, slots=True)
class Destructive:
    """A commit that removed or replaced rows. `is_approved`: a job of Levee's stands behind it as it should."""

    version: int
    at: datetime | None
    operation: str
    is_approved: bool


def destructive(table: Table, most: int = MOST_MARKS) -> list[Destructive]:
    """The newest ones of the present history, oldest first. Two queries, however long it is."""
    commits = Commit.objects.filter(DESTRUCTIVE, table=table, incarnation=table.incarnation).order_by("-version")
    rows = sorted(commits.values_list("version", "committed_at", "operation")[:most])
    known = explained.of_commits(table, table.incarnation, [version for version, _, _ in rows]) if rows else {}
    return [
        Destructive(version, at, operation, version in known and known[version].verdict in APPROVED)
        for version, at, operation in rows
    ]
