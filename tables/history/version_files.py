"""The files in which two versions differ, by the log: rebuilt from it when asked for, inside a request."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tables.deltalog.state.livefiles import sum_of, without
from tables.history import rebuilding
from tables.models import Table

BUSY = "Levee is rebuilding other versions. Nothing was changed; try again in a moment."
IDENTITY = ["path", "size", "num_records", "deletion_vector"]


@dataclass(frozen=True, slots=True)
class Apart:
    """The files that only one of two versions has; a file with another deletion vector counts in both. `rows` None: unknown."""

    files: int
    bytes: int
    rows: int | None


def apart(table: Table, first: int, last: int) -> Apart:
    """What the two versions don't share.

    Raises Problem 403 `outside_roots`, 404 `no_table`, 410 `version_gone`, 422 `unreadable`, 503 `busy` while others are rebuilt.
    """
    with rebuilding.turn(BUSY), tempfile.TemporaryDirectory(prefix="levee-apart-") as folder:
        old, new = (_files(table, version, Path(folder)) for version in (first, last))
        alone = pa.concat_tables([without(old, new), without(new, old)])
        return Apart(alone.num_rows, sum_of(alone, "size") or 0, sum_of(alone, "num_records"))


def _files(table: Table, version: int, folder: Path) -> pa.Table:
    return rebuilding.snapshot_at(table, version, folder / f"{version}.arrow").files().select(IDENTITY)
