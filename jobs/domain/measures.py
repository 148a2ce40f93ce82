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


Measure = Inspection | Matched | Restorable
