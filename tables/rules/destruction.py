"""The destructive operations, in one list: home, filters, charts and attributions go by it."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import Q

REPLACE = "replace"
OPERATIONS = {
    "DELETE": "delete",
    "TRUNCATE": "truncate",
    "UPDATE": "update",
    "MERGE": "merge",
    "RESTORE": "restore",
    "VACUUM START": "vacuum",
    "CREATE OR REPLACE TABLE": REPLACE,
    "CREATE OR REPLACE TABLE AS SELECT": REPLACE,
    "REPLACE TABLE": REPLACE,
    "REPLACE TABLE AS SELECT": REPLACE,
}
"""Operations that do so by their name, and what they do."""

_OVERWRITES = {"mode": "Overwrite", "outputMode": "Complete"}


def overwrites(parameters: Mapping[str, str | None]) -> bool:
    """Whether a write's parameters say that it replaces what is there: a batch in mode Overwrite, a stream that is Complete."""
    return any(parameters.get(name) == value for name, value in _OVERWRITES.items())


def is_destructive(operation: str, parameters: Mapping[str, str | None], version: int) -> bool:
    """Whether a commit is; a table's first takes nothing away, whatever it is called."""
    return version > 0 and (operation in OPERATIONS or overwrites(parameters))


DESTRUCTIVE = Q(version__gt=0) & (
    Q(operation__in=list(OPERATIONS))
    | Q(operation_parameters__mode="Overwrite")
    | Q(operation_parameters__outputMode="Complete")
)
"""`is_destructive` for the database; two indexes hold such commits alone."""
