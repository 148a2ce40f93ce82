"""An optimize as a value, and its consequences. Rules: Delta 4.4.0, OptimizeTableCommand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Literal

from console.base.text.counted import counted
from jobs.domain.consequences import Consequence, in_words, said
from jobs.domain.delta.feature_support import Cells, Refused

Mode = Literal["compaction", "zorder", "clustering"]

_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")


REFUSED: Cells = {
    "clustering": (
        Refused("DELTA_CLUSTERING_WITH_ZORDER_BY", "with columns to sort by"),
        Refused("DELTA_CLUSTERING_WITH_PARTITION_PREDICATE", "with a condition on partitions"),
    ),
}


@dataclass(frozen=True, slots=True)
class Optimize:
    """OPTIMIZE of a Delta table: joins small files, sorts them by `zorder_by`, or clusters a clustered table (`full`: all of it).

    `predicate` (None: the whole table) is on partition columns alone; `tree` is its stored form, which Spark runs. `table` is the
    catalog's id and `path` its canonical location.
    """

    kind: ClassVar[str] = "optimize"
    schema_version: ClassVar[int] = 1

    table: str
    predicate: str | None = None
    zorder_by: Sequence[str] | None = None
    full: bool = False
    path: str = ""
    tree: Mapping[str, Any] | None = None


def name_parts(text: str) -> list[str]:
    """A column's name taken apart at its dots, those in backticks left alone. Raises ValueError for what is no name."""
    parts, place = [], 0
    while match := _PART.match(text, place):
        parts.append(match[1].replace("``", "`") if match[1] else match[2])
        place = match.end() + 1
        if match.end() == len(text):
            return parts
        if text[match.end()] != ".":
            break
    raise ValueError(f"{text} is no column’s name")


def written_name(path: Sequence[str]) -> str:
    """The name of a column or a struct's field, as `name_parts` reads it back."""
    return ".".join(f"`{part.replace('`', '``')}`" if {"`", "."} & set(part) else part for part in path)


def consequences_of(*, retention: timedelta, num_bytes: int | None, vectors: int) -> list[Consequence]:
    """What follows from writing `num_bytes` (None: unknown) again; `vectors` files of them have a deletion vector."""
    consequences = [
        said(
            "rows_unchanged",
            "No row changes: Delta marks the commit so that streams and the change feed pass over it.",
        ),
        said(
            "bytes_stay",
            f"The old files{'' if num_bytes else ', if there are any,'} stay in storage until VACUUM removes them, at the"
            f" earliest {in_words(retention)} after the run; until then the table takes more space.",
        ),
    ]
    if vectors:
        files = counted(vectors, "file")
        text = f"The rows that deletion vectors hide in {files} aren’t written again: VACUUM removes them with the old files."
        consequences.append(said("vectors_go", text))
    return consequences
