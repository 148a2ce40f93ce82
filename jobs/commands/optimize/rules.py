"""An optimize as a value, how Delta packs files, and its consequences.

Rules: Delta 4.4.0, OptimizeTableCommand (`OptimizeExecutor`, `groupFilesIntoBins`) and OptimizeTableStrategy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Literal

from jobs.domain.consequences import Consequence, in_words, said

Mode = Literal["compaction", "zorder", "clustering"]

# Delta's defaults. The run sets the same values, so that it follows the prediction whatever the session's settings are.
MIN_FILE_BYTES = MAX_FILE_BYTES = 1 << 30
MOST_DELETED = 0.05


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


@dataclass(frozen=True, slots=True)
class File:
    """A live file. `size` in bytes; `rows` are those it holds and `deleted` those that its deletion vector hides (None: unknown)."""

    partition: int
    size: int
    rows: int | None
    has_vector: bool = False
    deleted: int | None = 0


def is_candidate(file: File) -> bool:
    """Whether compaction looks at the file: it is small, or more than a twentieth of its rows is deleted or can't be told."""
    if file.size < MIN_FILE_BYTES:
        return True
    if not file.has_vector:
        return False
    return file.rows is None or (file.rows > 0 and (file.deleted or 0) / file.rows > MOST_DELETED)


def packed(files: Iterable[File]) -> Iterator[list[File]]:
    """The groups of files that compaction writes as one file each. A file that fits with no other stays as it is."""
    by_partition: dict[int, list[File]] = {}
    for file in filter(is_candidate, files):
        by_partition.setdefault(file.partition, []).append(file)
    for group in by_partition.values():
        yield from (each for each in _bins(sorted(group, key=lambda file: file.size)) if len(each) > 1)


def _bins(files: Iterable[File]) -> Iterator[list[File]]:
    current: list[File] = []
    filled = 0
    for file in files:
        if filled + file.size > MAX_FILE_BYTES:
            yield current
            current, filled = [], 0
        current.append(file)
        filled += file.size
    yield current


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
        files = "1 file" if vectors == 1 else f"{vectors:,} files"
        text = f"The rows that deletion vectors hide in {files} aren’t written again: VACUUM removes them with the old files."
        consequences.append(said("vectors_go", text))
    return consequences
