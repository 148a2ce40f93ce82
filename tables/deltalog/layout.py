"""How the live files of a version are laid out: sizes, partitions, statistics. Pure Arrow over `Snapshot.files()`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.livefiles import PARTITION, deleted_rows, sum_of

EDGES = tuple(1 << power for power in range(10, 41, 2))
"""Upper edges of the size histogram in bytes: 1 KiB, 4 KiB, … 1 TiB; the last bin is open."""

SMALL = 32 << 20
"""Files below this many bytes count as small."""


@dataclass(frozen=True, slots=True)
class SizeBin:
    """Files of `low` to below `high` bytes (None: no upper edge)."""

    low: int
    high: int | None
    num_files: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition's totals. `values` stand in the order of the partition columns; `num_records` is None when a file doesn't say."""

    values: tuple[str | None, ...]
    num_files: int
    size_bytes: int | None
    num_records: int | None


@dataclass(frozen=True, slots=True)
class Layout:
    """A version's files in sums. Sizes are bytes; unknown is None.

    `partitions` are the largest by size, at most as many as were asked for; `num_partitions` counts all (0 when not partitioned).
    `largest_partition_share` is the largest partition's part of all bytes. `files_with_stats` counts files whose rows are known.
    """

    num_files: int
    size_bytes: int | None
    num_records: int | None
    smallest: int | None
    median: int | None
    largest: int | None
    small_files: int
    small_bytes: int
    histogram: tuple[SizeBin, ...]
    partitions: tuple[Partition, ...]
    num_partitions: int
    largest_partition_share: float | None
    files_with_stats: int
    files_with_vectors: int
    deleted_rows: int | None


def layout_of(files: pa.Table, partition_columns: Sequence[str], limit: int = 1000) -> Layout:
    """The layout of a snapshot's files. `partition_columns` are physical names; `limit` bounds the partitions that are listed."""
    sizes = pa.chunked_array(files.column("size").chunks, pa.int64()).drop_null()
    partitions, count, share = _partitions(files, partition_columns, limit)
    small = pc.filter(sizes, pc.less(sizes, SMALL))
    records, hidden = sum_of(files, "num_records"), deleted_rows(files)
    low, median, high = _quantiles(sizes)
    return Layout(
        num_files=files.num_rows,
        size_bytes=sum_of(files, "size"),
        num_records=None if records is None or hidden is None else max(0, records - hidden),
        smallest=low,
        median=median,
        largest=high,
        small_files=len(small),
        small_bytes=pc.sum(small).as_py() or 0,
        histogram=_histogram(sizes),
        partitions=partitions,
        num_partitions=count,
        largest_partition_share=share,
        files_with_stats=files.num_rows - files.column("num_records").null_count,
        files_with_vectors=files.num_rows - files.column("deletion_vector").null_count,
        deleted_rows=hidden,
    )


def _quantiles(sizes: pa.ChunkedArray) -> list[int | None]:
    if len(sizes) == 0:
        return [None, None, None]
    found = pc.quantile(sizes, q=[0, 0.5, 1], interpolation="lower")
    return [int(value) for value in found.to_pylist()]


def _histogram(sizes: pa.ChunkedArray) -> tuple[SizeBin, ...]:
    """One bin per edge; empty bins at both ends are left out."""
    bins: list[SizeBin] = []
    low = 0
    for high in (*EDGES, None):
        inside = pc.greater_equal(sizes, low)
        if high is not None:
            inside = pc.and_(inside, pc.less(sizes, high))
        chosen = pc.filter(sizes, inside)
        bins.append(SizeBin(low, high, len(chosen), pc.sum(chosen).as_py() or 0))
        low = high or low
    filled = [index for index, item in enumerate(bins) if item.num_files]
    return tuple(bins[filled[0] : filled[-1] + 1]) if filled else ()


def _partitions(files: pa.Table, columns: Sequence[str], limit: int) -> tuple[tuple[Partition, ...], int, float | None]:
    if not columns or files.num_rows == 0:
        return (), 0, None
    names = [PARTITION + column for column in columns]
    grouped = _totals(files, names)
    total = pc.sum(grouped.column("size_sum")).as_py() or 0
    order = [("size_sum", "descending"), *((name, "ascending") for name in names)]
    top = grouped.sort_by(order).slice(0, limit)
    rows = tuple(_partition(row, names) for row in top.to_pylist())
    share = (rows[0].size_bytes or 0) / total if rows and total else None
    return rows, grouped.num_rows, share


def _totals(files: pa.Table, names: list[str]) -> pa.Table:
    wanted = files.select([*names, "size", "num_records"])
    vectors = files.column("deletion_vector")
    hidden = pc.fill_null(pc.struct_field(vectors, "cardinality"), 0)
    live = pc.subtract(files.column("num_records"), hidden)
    wanted = wanted.set_column(wanted.column_names.index("num_records"), "num_records", live)
    sums = [("size", "sum"), ("size", "count"), ("num_records", "sum"), ("num_records", "count"), ([], "count_all")]
    return wanted.group_by(names).aggregate(sums)


def _partition(row: dict[str, Any], names: list[str]) -> Partition:
    count = row["count_all"]
    return Partition(
        tuple(row[name] for name in names),
        count,
        row["size_sum"] if row["size_count"] == count else None,
        row["num_records_sum"] if row["num_records_count"] == count else None,
    )
