"""What commits do, in five kinds: the drawing of a lake's days and its list of commits go by them."""

from __future__ import annotations

from enum import StrEnum

from django.db.models import Q


class Kind(StrEnum):
    """A commit's kind, by its operation and, of a write, by its mode."""

    APPEND = "append"
    CHANGE = "change"
    REMOVAL = "removal"
    UPKEEP = "upkeep"
    OTHER = "other"


TEXTS = {
    Kind.APPEND: "Append",
    Kind.CHANGE: "Overwrite, merge, update",
    Kind.REMOVAL: "Delete, truncate",
    Kind.UPKEEP: "Maintenance",
    Kind.OTHER: "Other",
}
REMOVALS = ("DELETE", "TRUNCATE", "DROP PARTITION")
CHANGES = (
    "MERGE", "UPDATE", "RESTORE",
    "CREATE OR REPLACE TABLE", "CREATE OR REPLACE TABLE AS SELECT", "REPLACE TABLE", "REPLACE TABLE AS SELECT",
)  # fmt: skip
UPKEEP = ("OPTIMIZE", "REORG", "VACUUM START", "VACUUM END", "COMPUTE STATS", "FSCK")
APPENDS = ("WRITE", "STREAMING UPDATE", "COPY INTO", "CREATE TABLE AS SELECT", "CLONE", "CONVERT")
BY_OPERATION = {Kind.REMOVAL: REMOVALS, Kind.CHANGE: CHANGES, Kind.UPKEEP: UPKEEP, Kind.APPEND: APPENDS}

# `contains` is false where a parameter isn't there; a comparison would be unknown, and so would be its opposite.
_OVERWRITES = Q(version__gt=0) & (
    Q(operation_parameters__contains={"mode": "Overwrite"})
    | Q(operation_parameters__contains={"outputMode": "Complete"})
)


def of_kind(kind: Kind) -> Q:
    """The condition on commits of one kind; any commit is of exactly one, as `KIND_SQL` counts them."""
    if kind is Kind.CHANGE:
        return Q(operation__in=CHANGES) | (Q(operation__in=APPENDS) & _OVERWRITES)
    if kind is Kind.APPEND:
        return Q(operation__in=APPENDS) & ~_OVERWRITES
    if kind is Kind.OTHER:
        return ~Q(operation__in=[name for names in BY_OPERATION.values() for name in names])
    return Q(operation__in=BY_OPERATION[kind])


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)


KIND_SQL = f"""case
    when operation in ({_quoted(REMOVALS)}) then 'removal'
    when operation in ({_quoted(CHANGES)}) then 'change'
    when operation in ({_quoted(UPKEEP)}) then 'upkeep'
    when operation not in ({_quoted(APPENDS)}) then 'other'
    when version > 0 and (operation_parameters->>'mode' = 'Overwrite' or operation_parameters->>'outputMode' = 'Complete')
        then 'change'
    else 'append' end"""
"""The same in SQL, for statements over the columns of a commit; made of the constants above alone."""
