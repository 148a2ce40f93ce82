"""Measurements that Spark makes for a preview, beside the numbers from the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.domain.results import Inspection


@dataclass(frozen=True, slots=True)
class Matched:
    """The rows that a delete would remove at `version`, counted.

    `rows` match, of `rows_total` in the table. `rows_hash` is the order-free hash over all columns of the matching rows: the sum of
    a 64-bit hash of each row as decimal(38,0), in text; None where a column has no hash. `files` maps each file with a matching
    row to how many it has, by its absolute decoded path (with its scheme, unless local).
    """

    version: int
    rows: int
    rows_total: int
    rows_hash: str | None
    files: Mapping[str, int]
    bytes: int | None = None  # the sizes of those files, added up


@dataclass(frozen=True, slots=True)
class Restorable:
    """What a restore to `version` would bring back, as it can be read now.

    `missing_files` are files of that version that are no longer in storage (absolute decoded paths, at most 1,000 of them) and
    `missing_count` counts all. `rows` and `rows_hash` (as in Matched) are of the whole table at that version, read row by row;
    None where files are missing, or where it was too large to be read for a preview (`unread_because` says so). `rows_back` and
    `rows_gone` are what the table gains and loses, row by row and not by files; None as well where the two schemas differ.
    """

    version: int
    missing_files: tuple[str, ...]
    missing_count: int
    rows: int | None
    rows_hash: str | None
    unread_because: str | None = None
    rows_back: int | None = None
    rows_gone: int | None = None


@dataclass(frozen=True, slots=True)
class Deletable:
    """The files that a vacuum would delete from storage: neither of `version` nor removed since `cut_ms`, and not changed since then.

    Times are ms since 1970; `planned_at_ms` is that of the plan. `files`, `bytes` and `directories` (empty ones) go; of the files,
    `untracked_files` with `untracked_bytes` are those that the log doesn't name. `digest` is of their names and sizes, `sample` names some.
    `by_age` are `{hours, files, bytes}` since when they aren't needed, `by_commit` `{version, files, bytes}` of the commits that removed
    most; `curve` is `{hours, files, bytes}`: what would go with each retention. Bytes are None where the log alone tells sizes, and lacks
    one. `dying` are spans of versions that lose a file. `listed` counts the files that were looked at, None for a plan by the log alone.
    `nested` names Delta tables inside, `nested_count` counts them.
    """

    version: int
    planned_at_ms: int
    cut_ms: int
    files: int
    bytes: int | None
    directories: int
    untracked_files: int
    untracked_bytes: int | None
    digest: str
    listed: int | None
    by_age: tuple[Mapping[str, int | None], ...] = ()
    by_commit: tuple[Mapping[str, int | None], ...] = ()
    curve: tuple[Mapping[str, int | None], ...] = ()
    dying: tuple[tuple[int, int], ...] = ()
    sample: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    nested_count: int = 0


@dataclass(frozen=True, slots=True)
class Violating:
    """The rows that violate new CHECK constraints at `version`: where one is false or NULL.

    `rows` has them by the number of the change that adds the constraint, since a name can come again after its drop.
    """

    version: int
    rows: Mapping[str, int]


Measure = Inspection | Matched | Restorable | Deletable | Violating
