"""A reorg as a value, and its consequences. Rules: Delta 4.4.0, DeltaReorgTableCommand (`DeltaPurgeOperation`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from jobs.domain.consequences import Consequence, in_words, said
from jobs.domain.delta.feature_support import Cells, Refused

REFUSED: Cells = {
    "clustering": (Refused("DELTA_CLUSTERING_WITH_PARTITION_PREDICATE", "with a condition on partitions"),),
}


@dataclass(frozen=True, slots=True)
class Reorg:
    """REORG TABLE … APPLY (PURGE): writes the files again that hold deleted rows or dropped columns, without them.

    `predicate` (None: the whole table) is on partition columns alone; `tree` is its stored form, which Spark runs. `table` is the
    catalog's id and `path` its canonical location.
    """

    kind: ClassVar[str] = "reorg"
    schema_version: ClassVar[int] = 1

    table: str
    predicate: str | None = None
    path: str = ""
    tree: Mapping[str, Any] | None = None


def consequences_of(*, retention: timedelta, rows: int | None, dropped: bool) -> list[Consequence]:
    """What follows from purging files of which deletion vectors hide `rows` rows (None: unknown); `dropped`: of columns as well."""
    hidden = "" if rows is None else f"{rows:,} "
    what = f"{hidden}deleted {'row' if rows == 1 else 'rows'}{' and the dropped columns' if dropped else ''}"
    return [
        said(
            "rows_unchanged",
            "No row that a reader sees changes: Delta marks the commit so that streams and the change feed pass over it.",
        ),
        said(
            "purged_later",
            f"The {what} aren’t written again, but lie in the old files until VACUUM removes these, at the earliest"
            f" {in_words(retention)} after the run; until then the table takes more space.",
        ),
    ]
