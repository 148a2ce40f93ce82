"""The groups of files that Delta rewrites together, by the log's columns of sizes, vectors and partition values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from jobs.domain.packing import MAX_FILE_BYTES, bins
from tables.deltalog.state.livefiles import PARTITION


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files of one partition that are rewritten together, as `written` files at most. `size` is bytes, `vectors` counts files."""

    partition: int
    files: int
    size: int
    vectors: int
    written: int = 1


def packed(files: pa.Table, *, alone: bool = False) -> Iterator[FileGroup]:
    """The groups of a compaction; with `alone`, as in a reorg, also those of one file.

    Works on columns: only partitions that hold more than one full file are looked at file by file.
    """
    ordered = _Columns.of(files)
    for partition, start, end in ordered.partitions:
        whole = ordered.group(partition, start, end)
        if whole.size <= MAX_FILE_BYTES:
            if whole.files > 1 or alone:
                yield whole
            continue
        for places in bins(ordered.sizes.slice(start, end - start).to_pylist(), alone=alone):
            yield ordered.group(partition, start + places.start, start + places.stop)


def sorted_whole(files: pa.Table) -> Iterator[FileGroup]:
    """The groups of a Z-order: every file of a partition, written as files of the full size."""
    ordered = _Columns.of(files)
    for partition, start, end in ordered.partitions:
        whole = ordered.group(partition, start, end)
        yield replace(whole, written=max(1, whole.size // MAX_FILE_BYTES))


@dataclass(frozen=True, slots=True)
class _Columns:
    """Sizes and vectors of files, by partition and size; each partition as its number, start and end."""

    sizes: pa.Array
    vectors: pa.Array
    partitions: list[tuple[int, int, int]]

    @classmethod
    def of(cls, files: pa.Table) -> _Columns:
        codes, sizes = _partition_codes(files), pc.fill_null(files.column("size").combine_chunks(), 0)
        by = pa.table({"code": codes, "size": sizes})
        order = pc.sort_indices(by, [("code", "ascending"), ("size", "ascending")])
        vectors = pc.cast(pc.is_valid(files.column("deletion_vector").combine_chunks()), pa.int64())
        ends = pc.run_end_encode(codes.take(order)).run_ends.to_pylist()
        places = [(number, start, end) for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False))]
        return cls(sizes.take(order), vectors.take(order), places)

    def group(self, partition: int, start: int, end: int) -> FileGroup:
        size, vectors = (
            int(pc.sum(column.slice(start, end - start)).as_py() or 0) for column in (self.sizes, self.vectors)
        )
        return FileGroup(partition, end - start, size, vectors)


def _partition_codes(files: pa.Table) -> pa.Array:
    """A number for each file's partition: equal for equal partition values, NULL among them."""
    codes = pa.repeat(pa.scalar(0, pa.int64()), files.num_rows)
    for name in files.column_names:
        if name.startswith(PARTITION):
            values = pc.dictionary_encode(files.column(name).combine_chunks(), null_encoding="encode")
            combined = pc.add(pc.multiply(codes, len(values.dictionary)), pc.cast(values.indices, pa.int64()))
            codes = pc.cast(pc.dictionary_encode(combined).indices, pa.int64())
    return codes
