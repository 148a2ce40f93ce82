"""A repair as a value, its refusals by feature, and its consequences. Rules: Delta 4.4.0, OptimisticTransaction; the protocol's "remove".

What Databricks calls FSCK REPAIR TABLE. Open-source Delta has no such command; delta-rs has one (`repair`), and commits under the same
name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from jobs.domain.consequences import Consequence, said
from jobs.domain.delta.feature_support import Cells, Refused
from jobs.domain.errors import CommandRefused, Refusal

OPERATION = "FSCK"
NAMED = 100  # missing files by name; the digest covers all
MOST_MISSING = 100_000  # files that one repair takes out
LOOK_SECONDS = 400.0  # that asking storage may take for a preview, less than a preview's own limit

AGAIN = "Request it again: what is missing by then is reviewed anew."

REFUSED: Cells = {
    "appendOnly": (Refused("DELTA_CANNOT_MODIFY_APPEND_ONLY", "while `delta.appendOnly` is true"),),
}


@dataclass(frozen=True, slots=True)
class Repair:
    """Takes the data files out of a Delta table that storage no longer holds.

    `table` is the catalog's id and `path` its canonical location.
    """

    kind: ClassVar[str] = "repair"
    schema_version: ClassVar[int] = 1

    table: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class LostFiles:
    """The missing files of a version: how many (None: storage hasn't been asked), and the rows that were in them (None: unknown).

    `vectors` are files that are left although the file of their deletion vector is missing; `outside` are those that nobody looks at.
    """

    version: int
    files: int | None
    rows: int | None
    vectors: int = 0
    outside: int = 0


def untold(why: object) -> CommandRefused:
    """Storage doesn't tell what is missing, so nothing is taken out."""
    text = f"Storage doesn’t tell which files are missing: {str(why).rstrip('.')}."
    remedy = "Find out why storage doesn’t answer, then request it again. Nothing was committed."
    return CommandRefused(Refusal("unreadable", text, remedy=remedy))


def back_again(paths: Sequence[str]) -> str:
    """That storage holds files which the approved repair takes out."""
    more = "" if len(paths) == 1 else f" and {len(paths) - 1:,} more"
    return f"Storage holds {paths[0]}{more} again, which the approved repair takes out."


def details_of(paths: Sequence[str], size: int | None, rows: int | None) -> dict[str, Any]:
    """What a result says of the files that its commit took out; None is unknown."""
    return {"files": len(paths), "bytes": size, "rows": rows, "named": list(paths[:NAMED])}


def consequences_of(loss: LostFiles, *, change_feed: bool) -> list[Consequence]:
    """What follows beside the numbers; `change_feed`: the table has the change data feed on."""
    return [
        *_asked_first(loss),
        said("rows_lost", _rows_lost(loss)),
        said(
            "not_by_restore",
            f"A restore doesn’t bring them back: storage has nothing to restore. Once the files are in storage again, a restore of version"
            f" {loss.version:,} does, as long as that version is in the log.",
        ),
        said(
            "older_versions",
            "Older versions that need these files can’t be read either, before the repair and after it.",
        ),
        *([said("change_feed", CHANGE_FEED)] if change_feed else []),
        *_left(loss),
    ]


CHANGE_FEED = (
    "The change data feed is on: for this commit it reads the deleted rows from the removed files, which aren’t there. Reads of the feed"
    " that cross the commit fail, streams that read the feed among them: begin them after it."
)


def _asked_first(loss: LostFiles) -> list[Consequence]:
    if loss.files is not None:
        return []
    text = "A worker asks storage for every live file first. What it finds missing then is what people approve, and nothing else."
    return [said("asked_first", text)]


def _rows_lost(loss: LostFiles) -> str:
    if loss.rows is None:
        return "The rows of the missing files leave the table. How many they are isn’t known. Queries that need them fail until then."
    if loss.rows == 1:
        return "The row of the missing files leaves the table. Queries that need it fail until then."
    return f"The {loss.rows:,} rows of the missing files leave the table. Queries that need them fail until then."


def _left(loss: LostFiles) -> list[Consequence]:
    found = []
    if loss.vectors:
        one = loss.vectors == 1
        text = (
            f"{'One file stays' if one else f'{loss.vectors:,} files stay'} though nobody can read {'it' if one else 'them'}: the file of"
            f" {'its' if one else 'their'} deletion vector is missing, and a repair doesn’t help. The rows are still there: put the"
            " vector’s file back, or restore a version from before it was written."
        )
        found.append(said("vectors_missing", text))
    if loss.outside:
        one = loss.outside == 1
        text = (
            f"{'One file lies' if one else f'{loss.outside:,} files lie'} outside the table’s directory. Levee doesn’t look at"
            f" {'it' if one else 'them'}, and leaves {'it' if one else 'them'} in the table."
        )
        found.append(said("outside", text))
    return found
