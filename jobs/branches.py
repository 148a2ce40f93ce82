"""The three ways in which Delta deletes, as a page explains which one is taken and why not another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LOG_ONLY, VECTORS, REWRITE = "Log only", "Deletion vectors", "Rewrite files"
_NAMES = {"metadata_only": LOG_ONLY, "deletion_vectors": VECTORS, "rewrite": REWRITE}
_DATA_ASKED = "The condition names other columns than those of partitions, so whole files can’t just be dropped."
_NOT_NEEDED = {
    "metadata_only": "Not needed: every row of the files goes with them.",
    "deletion_vectors": "Not needed: rows are marked where they are.",
}


@dataclass(frozen=True, slots=True)
class Way:
    """One way, whether it is taken, and why."""

    name: str
    taken: bool
    why: str


def ways_of(preview: Mapping[str, Any]) -> list[Way]:
    """All three for a delete's preview; none where nothing will be committed."""
    branch, why = str(preview["branch"]), str(preview["why"])
    taken = _NAMES.get(branch)
    if taken is None:
        return []
    return [Way(name, name == taken, why if name == taken else _why_not(name, branch)) for name in _NAMES.values()]


def _why_not(name: str, branch: str) -> str:
    if branch == "metadata_only" or name == REWRITE:
        return _NOT_NEEDED[branch]
    return _DATA_ASKED if name == LOG_ONLY else "They aren’t on for this table."


def title_of(preview: Mapping[str, Any]) -> str:
    """What Delta will do, in a few words with the number in them."""
    files = preview["files_matched"]
    named = f"{files:,} file{'' if files == 1 else 's'}"
    match preview["branch"]:
        case "metadata_only":
            return f"drop {named} from the log"
        case "deletion_vectors":
            return f"mark rows in {_at_most(preview)}{named}"
        case "rewrite":
            return f"rewrite {_at_most(preview)}{named}"
    return "nothing"


def _at_most(preview: Mapping[str, Any]) -> str:
    return "" if preview["rows_matched_exact"] else "at most "
