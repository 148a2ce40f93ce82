"""A restore as a value, and its consequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from jobs.domain.consequences import Consequence, in_words, said
from jobs.domain.delta.feature_support import Cells

REFUSED: Cells = {}


@dataclass(frozen=True, slots=True)
class Restore:
    """RESTORE of a Delta table to one of its versions.

    `undoes` is the id of the job whose commit it undoes, None for a restore of its own; `accepted_commits` are the later versions
    that its requester accepted to undo as well.
    """

    kind: ClassVar[str] = "restore"
    schema_version: ClassVar[int] = 1

    table: str
    version: int
    path: str = ""
    undoes: str | None = None
    accepted_commits: Sequence[int] = ()


def consequences_of(
    *, change_feed: bool, retention: timedelta, head: int, no_way_back: str | None = None
) -> list[Consequence]:
    """`head` is the version before the restore, which you can restore in turn, unless Delta refuses that: `no_way_back` says why."""
    consequences = [
        said(
            "reversible",
            f"Version {head:,} stays in the history: you can restore it in turn until it is {in_words(retention)} old. A VACUUM that"
            " keeps less ends it earlier.",
        )
        if no_way_back is None
        else said(
            "no_way_back", f"Version {head:,} stays in the history, and can’t be restored in turn. {no_way_back}"
        ),
        said("metadata_too", "Schema, partitioning and table properties go back to that version as well."),
    ]
    if change_feed:
        text = "Readers of the change feed see restored rows as inserts and removed rows as deletes."
        consequences.append(said("change_feed", text))
    return consequences
