"""What Delta checks of a table's metadata in every commit that carries some, whatever the commit changes of it.

Source: Delta 4.4.0, `OptimisticTransaction.assertMetadata`.
"""

from __future__ import annotations

from collections.abc import Mapping

from jobs.domain.column_names import REMEDY, invalid_names_refusal, is_invalid
from jobs.domain.errors import CommandRefused
from tables.deltalog.rules.schema import Struct, walk

MAPPING_MODE = "delta.columnMapping.mode"


def is_mapped(configuration: Mapping[str, str]) -> bool:
    """Whether columns are found in files by physical names or ids, so that any character may stand in a name."""
    return configuration.get(MAPPING_MODE, "none").lower() != "none"


def refuse_invalid_names(
    struct: Struct, configuration: Mapping[str, str], place: str | None = None, remedy: str = REMEDY
) -> None:
    """Raises CommandRefused `bad_column_name` if a commit of this schema and these properties would be refused for a column's name."""
    if is_mapped(configuration):
        return
    names = [".".join(path) for path, column in walk(struct) if is_invalid(column.name)]
    if names:
        raise CommandRefused(invalid_names_refusal(names, place, remedy))
