"""Names of columns that Delta takes with column mapping alone, though other engines write them without.

Source: Delta 4.4.0, `SchemaUtils.checkFieldNames` and `OptimisticTransaction.assertMetadata`, which looks at every commit of metadata. A
commit of files alone is not asked: deletes, rewrites, vacuums and streams work on such tables [run].
"""

from __future__ import annotations

from collections.abc import Sequence

from jobs.domain.consequences import listed
from jobs.domain.errors import EngineFailure, Refusal

INVALID_CHARACTERS = frozenset(" ,;{}()\n\t=")
CONDITION = "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"
REMEDY = "Set the property delta.columnMapping.mode to name first: that alone Delta does on such a table."


def is_invalid(name: str) -> bool:
    """Whether a column's own name, not its path, has a character that Delta takes with column mapping alone."""
    return not INVALID_CHARACTERS.isdisjoint(name)


def invalid_names_failure(names: Sequence[str]) -> EngineFailure:
    """Delta's refusal of these columns."""
    text = (
        "Found invalid character(s) among ' ,;{}()\\n\\t=' in the column names of your schema.\n"
        f"Invalid column names: {', '.join(names)}.\nPlease use other characters and try again.\n"
        "Alternatively, enable Column Mapping to keep using these characters."
    )
    return EngineFailure(CONDITION, "42K05", text)


def invalid_names_refusal(names: Sequence[str], place: str | None, remedy: str = REMEDY) -> Refusal:
    """The refusal of a change of a table's metadata for columns that are there."""
    quoted = listed([f"“{name}”" for name in names])
    text = f"Without column mapping Delta changes no metadata of a table whose column names hold a space or one of ,;{{}}()=: {quoted}."
    return Refusal("bad_column_name", text, place, remedy, invalid_names_failure(names))
