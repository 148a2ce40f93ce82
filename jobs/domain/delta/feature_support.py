"""What a command can't do on a table with a feature of Delta 4.4: each command's `rules` has its row, docs/features.md shows all.

A feature without an entry stands in no command's way. Refusals that no feature causes (a column's name, a file that is missing) are none of
this table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobs.domain.delta.protocols import FEATURES


@dataclass(frozen=True, slots=True)
class Refused:
    """One refusal. `condition` is Delta's (None where it gives none), `when` goes on after “Refused”.

    `always`: whatever is asked of the command, once the feature is in the protocol.
    """

    condition: str | None
    when: str
    always: bool = False


Cells = Mapping[str, Sequence[Refused]]

# Levee reads a table by its path alone: these keep a part of the log, or all of it, elsewhere or in a form of their own.
_BY_PATH = "DELTA_PATH_BASED_ACCESS_TO_CATALOG_MANAGED_TABLE_BLOCKED"
EVERYWHERE: Cells = {
    "catalogManaged": (Refused(_BY_PATH, "always: commits go through the table’s catalog", always=True),),
    "adaptiveMetadata-preview": (Refused(_BY_PATH, "always: it comes with catalogManaged", always=True),),
    "coordinatedCommits-preview": (
        Refused(None, "always: commits go through a coordinator, and Levee knows none", always=True),
    ),
}


def refusals_of(cells: Cells) -> dict[str, tuple[Refused, ...]]:
    """A command's row over all features of Delta 4.4; an empty cell is “it does”. Raises KeyError for a feature that there isn't."""
    unknown = sorted(set(cells) - set(FEATURES))
    if unknown:
        raise KeyError(f"Delta 4.4 has no feature {unknown[0]}")
    return {name: (*EVERYWHERE.get(name, ()), *cells.get(name, ())) for name in FEATURES}
