"""A delete in words and numbers, and Delta's three methods: which one it will use, and why not the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from console.base.text.counted import counted
from jobs.commands.delete.comparison import BRANCHES
from jobs.commands.delete.rules import files_without_rows
from jobs.domain.comparison import Unit
from jobs.domain.results import Result
from jobs.domain.wording import Figure, Parameters, Preview, percent

NO_COUNT = "the log doesn’t record how many rows some files hold"
LOG_ONLY, VECTORS, REWRITE = "Log only", "Deletion vectors", "Rewrite files"
_NAMES = {"metadata_only": LOG_ONLY, "deletion_vectors": VECTORS, "rewrite": REWRITE}
_DATA_ASKED = "The condition names columns that aren’t partition columns, so Delta can’t just drop whole files."
_NOT_NEEDED = {
    "metadata_only": "Not needed: Delta drops whole files with all their rows.",
    "deletion_vectors": "Not needed: Delta marks the rows in place.",
}


TITLED_BY: tuple[str, ...] = ("rows_matched", "rows_matched_exact", "files_matched", "class")


def title(table: str, parameters: Parameters, preview: Preview) -> str:
    rows = preview.get("rows_matched")
    if rows is None or not preview.get("rows_matched_exact"):
        return f"Delete {'rows' if parameters.get('tree') else 'all rows'} from {table}"  # nosec B608  # a title
    if rows == 0 and (files := preview.get("files_matched")):
        return f"Remove {files:,} {'file' if files == 1 else 'files'} without rows from {table}"
    every = "all " if preview.get("class") == "whole_table" else ""
    return f"Delete {every}{rows:,} {'row' if rows == 1 else 'rows'} from {table}"  # nosec B608  # a title


def figures(preview: Preview) -> list[Figure]:
    if "measured_at_version" not in preview:
        return []
    numbers = [_rows(preview), *_files(preview)]
    if preview.get("partitions") is not None:
        numbers.append(Figure("Partitions", preview["partitions"], "with matching rows"))
    return numbers


def _rows(preview: Preview) -> Figure:
    rows, total = preview.get("rows_matched"), preview.get("rows_total")
    if rows is None:
        return Figure("Rows to delete", None, "counted by Spark later", why_unknown=NO_COUNT)
    counted = bool(preview.get("rows_matched_exact"))
    of = f"{percent(rows, total)} of the table, " if total else ""
    return Figure("Rows to delete", rows, f"{of}{'exact' if counted else 'at most, from the log'}", at_most=not counted)


def _files(preview: Preview) -> list[Figure]:
    total = preview.get("files_total")
    of = None if total is None else f"of {total:,}"
    match preview.get("branch"):
        case "rewrite":
            rewritten = Figure("Files to rewrite", preview.get("files_to_rewrite"), of)
            return [rewritten, Figure("Bytes to rewrite", preview.get("bytes_to_rewrite"), unit=Unit.BYTES)]
        case "metadata_only":
            removed = Figure("Files to remove", preview.get("files_matched"), of)
            return [removed, Figure("Bytes to remove", preview.get("bytes_matched"), unit=Unit.BYTES)]
        case "deletion_vectors":
            return [Figure("Files with marked rows", preview.get("files_matched"), of)]
    return [Figure("Files that match", preview.get("files_matched"), of)]


def weight(preview: Preview) -> Figure | None:
    if "measured_at_version" not in preview:
        return None
    match preview.get("branch"):
        case "rewrite":
            return Figure("Rewrites", preview.get("bytes_to_rewrite"), unit=Unit.BYTES)
        case "metadata_only":
            return Figure("Removes", preview.get("bytes_matched"), unit=Unit.BYTES)
    return Figure("Marks", preview.get("files_matched"), noun="file")


def outcome(result: Result) -> list[Figure]:
    """How many rows Delta deleted, as it recorded it; of files without rows how many it removed."""
    rows = Figure(
        "Rows deleted",
        result.num_affected_rows,
        "num_affected_rows",
        why_unknown="Delta recorded no count: the log doesn’t record how many rows some files hold",
        unknown="not recorded",
    )
    removed = files_without_rows(result.num_affected_rows, result.operation_metrics)
    return [rows, Figure("Files removed", removed, "without rows")] if removed else [rows]


def facts(preview: Preview) -> dict[str, str]:
    """The method that Delta uses."""
    way = BRANCHES.get(preview.get("branch", ""))
    return {"Method": way} if way else {}


@dataclass(frozen=True, slots=True)
class Way:
    """One of Delta's methods, whether Delta uses it, and why."""

    name: str
    taken: bool
    why: str


def ways_of(preview: Mapping[str, Any]) -> list[Way]:
    """All three methods for a delete's preview; none where Delta will commit nothing."""
    branch, why = str(preview["branch"]), str(preview["why"])
    taken = _NAMES.get(branch)
    if taken is None:
        return []
    return [Way(name, name == taken, why if name == taken else _why_not(name, branch)) for name in _NAMES.values()]


def _why_not(name: str, branch: str) -> str:
    if branch == "metadata_only" or name == REWRITE:
        return _NOT_NEEDED[branch]
    return _DATA_ASKED if name == LOG_ONLY else "They are off for this table."


def branch_title(preview: Mapping[str, Any]) -> str:
    """What Delta will do, in a few words, with the number of files."""
    files = preview["files_matched"]
    named = counted(files, "file")
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
