"""A vacuum as a value: its retention, its class, what Delta refuses, and its consequences.

Rules: Delta 4.4.0, VacuumCommand and DeltaConfigs (`delta.deletedFileRetentionDuration`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Literal

from console.base.text.counted import counted
from jobs.domain.consequences import Consequence, in_words, said
from jobs.domain.delta.feature_support import Cells
from jobs.domain.errors import EngineFailure

Class = Literal["ordinary", "short_retention"]

HOUR_MS = 3_600_000
SAFE = timedelta(days=7)
MOST_HOURS = 876_600  # a hundred years
# The retentions of the curve, hours.
CURVE = (0, 1, 6, 24, 48, 72, 168, 336, 720, 2_160)
NEGATIVE = EngineFailure(
    "DELTA_VACUUM_RETENTION_PERIOD_NEGATIVE", "22003", "Retention period for Vacuum can't be less than 0 hours."
)
NAMED = 3
SURROGATE = re.compile("[\ud800-\udfff]")  # stands for a byte that is no UTF-8


REFUSED: Cells = {}


@dataclass(frozen=True, slots=True)
class Vacuum:
    """VACUUM of a Delta table: deletes the files that no version within the retention needs.

    `retention_hours` None is the table's own `delta.deletedFileRetentionDuration`. `lite` finds them by the log alone, without listing
    the directory. `table` is the catalog's id and `path` its canonical location.
    """

    kind: ClassVar[str] = "vacuum"
    schema_version: ClassVar[int] = 1

    table: str
    retention_hours: int | None = None
    lite: bool = False
    path: str = ""


def retention_of(hours: int | None, own: timedelta) -> timedelta:
    """The retention of a run; `own` is the table's."""
    return own if hours is None else timedelta(hours=hours)


def class_of(retention: timedelta) -> Class:
    """Less than 7 days is a class of its own, even if the table itself keeps less."""
    return "short_retention" if retention < SAFE else "ordinary"


def too_short(hours: int | None, own: timedelta) -> EngineFailure | None:
    """Delta's refusal of a retention below the table's own; None where its check passes, or is off for the class of the request."""
    asked = retention_of(hours, own)
    if asked >= own or class_of(asked) == "short_retention":
        return None
    hours = -(-int(own.total_seconds()) // 3_600)
    text = (
        "The specified VACUUM retention period is too low and may corrupt this Delta table if any writes are in progress. Use a retention"
        f" period of at least {hours:,} hours."
    )
    return EngineFailure("DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT", "22003", text)


def hours_for_delta(cut_ms: int, now_ms: int, own: timedelta) -> int:
    """The whole hours of retention with which Delta, asked now, deletes what is older than `cut_ms`: rounded down, so that the log never
    claims more than was kept; but not below the table's own retention where the cut isn't."""
    kept = max(0, now_ms - cut_ms)
    hours = kept // HOUR_MS
    own_ms = int(own / timedelta(milliseconds=1))
    return -(-own_ms // HOUR_MS) if hours * HOUR_MS < own_ms <= kept else hours


def is_odd(name: str, *, top: bool) -> bool:
    """Whether Delta couldn't delete a file of this name, so that it stays: one that reads as a URI, or whose bytes are no UTF-8."""
    return (top and ":" in name) or (not name.isascii() and SURROGATE.search(name) is not None)


def first_readable_after(readable: Sequence[tuple[int, int]], dying: Sequence[tuple[int, int]], head: int) -> int:
    """The oldest version that can be read after the run. `readable` are those of now, oldest first; the head is always one."""
    for start, end in readable:
        version = start
        for first, last in dying:
            if first <= version <= last:
                version = last + 1
        if version <= end:
            return version
    return head


def count_of(spans: Iterable[Sequence[int]]) -> int:
    """How many versions lie in the spans."""
    return sum(last - first + 1 for first, last in spans)


def spans_in_words(spans: Sequence[Sequence[int]]) -> str:
    """`versions 3 to 8, and 11`."""
    named = [f"{first:,}" if first == last else f"{first:,} to {last:,}" for first, last in spans[:NAMED]]
    rest = f" and {counted(len(spans) - NAMED, 'more range')}" if len(spans) > NAMED else ""
    noun = "version" if count_of(spans) == 1 else "versions"
    return f"{noun} {', '.join(named)}{rest}"


def consequences_of(
    *,
    dying: Sequence[Sequence[int]],
    retention: timedelta,
    own: timedelta,
    lite: bool,
    feed: bool,
    needed_by: Sequence[str],
) -> list[Consequence]:
    """What follows from a vacuum that leaves `dying` versions without files; `feed`: the table has the change data feed on."""
    consequences = [
        said(
            "files_go",
            "The files are deleted from storage: nothing can bring them back. No row of the newest version changes.",
        )
    ]
    if dying:
        text = f"You can no longer read or restore {spans_in_words(dying)}."
        consequences.append(said("versions_die", text))
    if retention < own:
        text = (
            f"Delta’s safety check is off for this run, since {in_words(retention)} is less than the table’s own {in_words(own)}: a writer"
            " or reader that takes longer than that may lose files that it needs."
        )
        consequences.append(said("check_off", text))
    if retention > own and not lite:
        text = (
            f"A file that was removed longer ago than the table’s own {in_words(own)} stays only if it was written in the last"
            f" {in_words(retention)}: Delta forgets older removals."
        )
        consequences.append(said("keeps_no_more", text))
    if feed and not lite:
        text = f"Files of the change feed that are older than {in_words(retention)} go as well: their changes can’t be read afterwards."
        consequences.append(said("feed_goes", text))
    if not lite:
        text = (
            "The run deletes every file in the directory that the log doesn’t name and that is old enough, also one that another program"
            " put there."
        )
        consequences.append(said("untracked_go", text))
    return [*consequences, *(said("needed", text) for text in needed_by)]


def parameters_of(command: Vacuum) -> Mapping[str, Any]:
    """What the requester gave."""
    return {"table": command.table, "retention_hours": command.retention_hours, "lite": command.lite}
