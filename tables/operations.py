"""Which operations a history has, and the newest commits that took something away: both by the index, at any length."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from tables import explanations
from tables.models import DESTRUCTIVE, Explanation, Table

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

# Each operation is read from its end of the index.
_NEWEST = """
SELECT found.version, found.committed_at, found.operation
FROM unnest(%(operations)s::text[]) AS asked (operation) CROSS JOIN LATERAL (
  SELECT version, committed_at, operation FROM tables_commit
  WHERE table_id = %(table)s AND incarnation = %(lay)s AND operation = asked.operation ORDER BY version DESC LIMIT %(most)s
) AS found ORDER BY found.version DESC LIMIT %(most)s
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
    """The newest ones of the present history, oldest first. Two queries, however long it is."""
    asked: dict[str, Any] = {"table": table.pk, "lay": table.incarnation, "operations": list(DESTRUCTIVE), "most": most}
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, asked)
        rows: list[tuple[int, datetime | None, str]] = sorted(cursor.fetchall())
    known = explanations.of_commits(table, table.incarnation, [version for version, _, _ in rows]) if rows else {}
    return [
        Destructive(version, at, operation, version in known and known[version].verdict in APPROVED)
        for version, at, operation in rows
    ]
