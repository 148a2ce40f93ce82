"""Which commits are destructive: home, filters, charts and attributions go by it.

A commit is judged by what its `remove` actions did to the table's rows (`Removal`), whatever it is called: one that lost or replaced
rows is destructive, one that moved them to other files, or removed none, isn't. The operation decides only where the actions don't
tell: where they weren't all read, or where it destroys by other means (VACUUM deletes files, RESTORE and REPLACE take the table to
another state).
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import Q

from tables.deltalog.read.file_sums import Removal
from tables.deltalog.vacuum import operations
from tables.rules.commit_kinds import UPKEEP

REPLACE = "replace"
UNREAD = ""  # the removal of a commit whose actions were not all read, or that left the log before Levee looked at them
OPERATIONS = {
    "DELETE": "delete",
    "TRUNCATE": "truncate",
    "UPDATE": "update",
    "MERGE": "merge",
    "RESTORE": "restore",
    operations.START: "vacuum",
    "CREATE OR REPLACE TABLE": REPLACE,
    "CREATE OR REPLACE TABLE AS SELECT": REPLACE,
    "REPLACE TABLE": REPLACE,
    "REPLACE TABLE AS SELECT": REPLACE,
}
"""Operations that do so by their name, and what they do."""
# Those that change rows have changed none where no row was removed; the others destroy by other means.
_OTHERWISE = [name for name, effect in OPERATIONS.items() if effect not in ("delete", "truncate", "update", "merge")]
# What rewrites files may leave out that it changes no data; one that says it does is judged by that.
_UPKEEP = [name for name in UPKEEP if name not in OPERATIONS]
_OVERWRITES = {"mode": "Overwrite", "outputMode": "Complete"}


def overwrites(parameters: Mapping[str, str | None]) -> bool:
    """Whether a write's parameters say that it replaces what is there: a batch in mode Overwrite, a stream that is Complete."""
    return any(parameters.get(name) == value for name, value in _OVERWRITES.items())


def is_destructive(operation: str, parameters: Mapping[str, str | None], version: int, removal: str = UNREAD) -> bool:
    """Whether a commit is; a table's first takes nothing away, whatever it is called."""
    if version <= 0:
        return False
    match removal:
        case Removal.LOST:
            return True
        case Removal.REARRANGED:
            return False
        case Removal.REPLACED:
            return True
        case Removal.UNSAID:
            return operation not in _UPKEEP
        case Removal.NONE:
            return operation in _OTHERWISE
    return operation in OPERATIONS or overwrites(parameters)


def told(operation: str, removal: str) -> str:
    """A removal in the words of the contract, where none is left unsaid; empty for one of a commit that wasn't read to its end."""
    if removal != Removal.UNSAID:
        return removal
    return Removal.REARRANGED if operation in _UPKEEP else Removal.REPLACED


DESTRUCTIVE = Q(version__gt=0) & (
    Q(removal=Removal.LOST.value)
    | Q(removal=Removal.REPLACED.value)
    | Q(removal=Removal.UNSAID.value) & ~Q(operation__in=_UPKEEP)
    | Q(removal=Removal.NONE.value) & Q(operation__in=_OTHERWISE)
    | Q(removal=UNREAD)
    & (
        Q(operation__in=list(OPERATIONS))
        | Q(operation_parameters__mode="Overwrite")
        | Q(operation_parameters__outputMode="Complete")
    )
)
"""`is_destructive` for the database; two indexes hold such commits alone."""
