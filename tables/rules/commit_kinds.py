"""What commits do, in five kinds: the drawing of a lake's days and its list of commits go by them."""

from __future__ import annotations

from enum import StrEnum

from django.db.models import Q

from tables.deltalog.read.file_sums import Removal
from tables.deltalog.vacuum import operations


class CommitKind(StrEnum):
    """A commit's kind: by its operation and, of a write, by its mode, unless its removals say otherwise.

    An operation that says nothing of data leaves it to the files: one that only adds some appends.
    """

    APPEND = "append"
    CHANGE = "change"
    REMOVAL = "removal"
    UPKEEP = "upkeep"
    OTHER = "other"


TEXTS = {
    CommitKind.APPEND: "Append",
    CommitKind.CHANGE: "Overwrite, merge, update",
    CommitKind.REMOVAL: "Delete, truncate",
    CommitKind.UPKEEP: "Maintenance",
    CommitKind.OTHER: "Other",
}
REMOVALS = ("DELETE", "TRUNCATE", "DROP PARTITION")
CHANGES = (
    "MERGE", "UPDATE", "RESTORE",
    "CREATE OR REPLACE TABLE", "CREATE OR REPLACE TABLE AS SELECT", "REPLACE TABLE", "REPLACE TABLE AS SELECT",
)  # fmt: skip
UPKEEP = ("OPTIMIZE", "REORG", operations.START, operations.END, "COMPUTE STATS", "FSCK")
APPENDS = ("WRITE", "STREAMING UPDATE", "COPY INTO", "CREATE TABLE AS SELECT", "CLONE", "CONVERT")
# By DuckDB, by writers that name none, by delta-rs until 2024 for a table that it made with rows, by Delta Standalone's users.
UNSAID = ("", "UNKNOWN", "CREATE TABLE", "MANUAL UPDATE")
BY_OPERATION = {
    CommitKind.REMOVAL: REMOVALS,
    CommitKind.CHANGE: CHANGES,
    CommitKind.UPKEEP: UPKEEP,
    CommitKind.APPEND: APPENDS,
}

# `contains` is false where a parameter isn't there; a comparison would be unknown, and so would be its opposite.
_OVERWRITES = Q(version__gt=0) & (
    Q(operation_parameters__contains={"mode": "Overwrite"})
    | Q(operation_parameters__contains={"outputMode": "Complete"})
)

_LATER = Q(version__gt=0)  # a table's first commit takes nothing away
_LOST = _LATER & Q(removal=Removal.LOST)
_RULES: tuple[tuple[Q, CommitKind], ...] = (
    (_LATER & Q(removal=Removal.REARRANGED), CommitKind.UPKEEP),
    (Q(operation__in=REMOVALS), CommitKind.REMOVAL),
    (Q(operation__in=CHANGES), CommitKind.CHANGE),
    (Q(operation__in=APPENDS) & _OVERWRITES, CommitKind.CHANGE),
    (_LOST & Q(files_added=0), CommitKind.REMOVAL),
    (_LOST, CommitKind.CHANGE),
    (_LATER & Q(removal=Removal.REPLACED), CommitKind.CHANGE),
    (Q(operation__in=UPKEEP), CommitKind.UPKEEP),
    (_LATER & Q(removal=Removal.UNSAID), CommitKind.CHANGE),
    (Q(operation__in=APPENDS), CommitKind.APPEND),
    (Q(operation__in=UNSAID, removal=Removal.NONE, files_added__gt=0), CommitKind.APPEND),
)
"""The first that holds; no row has an unknown value in a column that a condition asks for, but `files_added`, which counts as some."""


def of_kind(kind: CommitKind) -> Q:
    """The condition on commits of one kind; any commit is of exactly one, as `KIND_SQL` counts them."""
    wanted, earlier = Q(pk__in=[]), Q(pk__in=[])
    for condition, named in _RULES:
        if named is kind:
            wanted |= condition & ~earlier
        earlier |= condition
    return wanted if kind is not CommitKind.OTHER else ~earlier


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)


KIND_SQL = f"""case
    when version > 0 and removal = '{Removal.REARRANGED}' then 'upkeep'
    when operation in ({_quoted(REMOVALS)}) then 'removal'
    when operation in ({_quoted(CHANGES)}) then 'change'
    when version > 0 and operation in ({_quoted(APPENDS)})
        and (operation_parameters->>'mode' = 'Overwrite' or operation_parameters->>'outputMode' = 'Complete') then 'change'
    when version > 0 and removal = '{Removal.LOST}' then case when files_added = 0 then 'removal' else 'change' end
    when version > 0 and removal = '{Removal.REPLACED}' then 'change'
    when operation in ({_quoted(UPKEEP)}) then 'upkeep'
    when version > 0 and removal = '{Removal.UNSAID}' then 'change'
    when operation in ({_quoted(APPENDS)}) then 'append'
    when operation in ({_quoted(UNSAID)}) and removal = '{Removal.NONE}' and files_added > 0 then 'append'
    else 'other' end"""
"""The same in SQL, for statements over the columns of a commit; made of the constants above alone."""
