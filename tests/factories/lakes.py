"""Small tables on disk: real ones, written by another engine than Levee's, and logs written by hand.

Not among the names of `tests.factories`: a process that only needs rows does without pyarrow and delta-rs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake
from pyarrow import parquet as pq

from tables.models import Root, Table
from tests.factories.catalog import TableFactory
from tests.jobs import small_delta
from tests.jobs.pruning import tables as previewed

Columns = Mapping[str, Any]
SALES: list[small_delta.Row] = [{"id": n, "p": "FR" if n % 2 else "DE"} for n in range(10)]
TWO_FILES = (
    previewed.add(0, previewed.stats(10, {"n": 1}, {"n": 10}, {"n": 0}), {"country": "FR"}),
    previewed.add(1, previewed.stats(20, {"n": 11}, {"n": 20}, {"n": 0}), {"country": "DE"}),
)


def delta(place: Path | str, columns: Columns | pa.Table, **options: Any) -> Path:
    """Writes the columns as a Delta table, or with `mode` to one; `options` are those of `write_deltalake`."""
    write_deltalake(str(place), columns if isinstance(columns, pa.Table) else pa.table(columns), **options)
    return Path(place)


def parquet(file: Path, columns: Columns, schema: pa.Schema | None = None) -> Path:
    """One parquet file, in a directory that is made where there is none."""
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns, schema=schema), file)
    return file


class Lake:
    """A directory below which tests write parquet files."""

    def __init__(self, top: Path) -> None:
        self.top = top
        top.mkdir(parents=True, exist_ok=True)

    def write(self, place: str, columns: dict | None = None, *, name: str = "part-0.parquet", schema=None) -> Path:
        """One parquet file `place/name`; answers the top directory of its table (the first part of `place`)."""
        parquet(self.top / place / name, {"id": [1, 2, 3]} if columns is None else columns, schema)
        return self.top / place.split("/")[0]


def sales_in(root: Root, rows: Sequence[small_delta.Row] = SALES) -> Table:
    """The Delta table `sales` below the root, small enough to be counted by hand, and its entry, never synced."""
    small_delta.create(Path(root.uri) / "sales", list(rows))
    made: Table = TableFactory(root=root, name="sales")
    return made


def log_alone(root: Root, files: Sequence[dict[str, Any]] = TWO_FILES, **more: Any) -> Table:
    """The Delta table `table` below the root, of a log without data files, and its entry, never synced."""
    previewed.write(Path(root.uri), list(files), partitions=["country"], **more)
    made: Table = TableFactory(root=root, name="table")
    return made
