"""The live files of a version as Arrow: one row per file, in a disposable file that is memory-mapped when read.

Columns: `path` (as the log has it, URL-encoded), `size` (bytes), `modification_time` (ms since 1970), `num_records` (physical rows),
`stats` (Delta's JSON text), `deletion_vector` (struct), `base_row_id`, `default_row_commit_version`, and for each partition column
`partition.<physical name>` (the log's text as it stands, null where the log has null or no value). Unknown is null.

An empty text or Hive's name for null in a string column are values to Delta's engine, whatever the protocol's text says; of other
types it casts them to NULL when it reads a row and refuses them when it filters by that column.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.read.paths import canonical

VECTOR = pa.struct(
    [
        ("storage", pa.string()),
        ("path_or_inline", pa.string()),
        ("offset", pa.int64()),
        ("size_in_bytes", pa.int64()),
        ("cardinality", pa.int64()),
    ]
)
_PLAIN: list[tuple[str, pa.DataType]] = [
    ("path", pa.string()),
    ("size", pa.int64()),
    ("modification_time", pa.int64()),
    ("num_records", pa.int64()),
    ("stats", pa.string()),
    ("deletion_vector", VECTOR),
    ("base_row_id", pa.int64()),
    ("default_row_commit_version", pa.int64()),
]
PARTITION = "partition."
VALUES = "partition_values"
RAW = pa.schema([*_PLAIN, (VALUES, pa.map_(pa.string(), pa.string()))])
"""Rows before the table's partition columns are known: the values as a map by physical name."""

_LONG_KEY = 512
_VARIES = r"^/|:|//|\./|%[0-9A-F]?[a-f]"  # as `paths.may_vary`, but for escapes that are canonical already
_MARKS = (b":", b"//", b"./", b"%")


def live_schema(partition_columns: Sequence[str]) -> pa.Schema:
    return pa.schema([*_PLAIN, *((PARTITION + name, pa.string()) for name in partition_columns)])


def shape(batch: pa.RecordBatch, partition_columns: Sequence[str]) -> pa.RecordBatch:
    """RAW rows as rows of `live_schema`: a column per partition column."""
    values = batch.column(VALUES)
    columns = [batch.column(name) for name, _ in _PLAIN]
    columns += [_partition_value(values, name) for name in partition_columns]
    return pa.RecordBatch.from_arrays(columns, schema=live_schema(partition_columns))


def _partition_value(values: pa.Array, name: str) -> pa.Array:
    if len(values) == 0:
        return pa.nulls(0, pa.string())
    return pc.map_lookup(values, pa.scalar(name), "first")


def keys(batch: pa.RecordBatch) -> pa.Array:
    """What identifies a file in a log: its canonical path, and the deletion vector where there is one (`file_key` for one row)."""
    whole_keys = _whole_keys(batch)
    long = pc.greater(pc.binary_length(whole_keys), _LONG_KEY)
    if not pc.any(long).as_py():
        return whole_keys
    return pc.replace_with_mask(
        whole_keys, long, pa.array(map(_short, whole_keys.filter(long).to_pylist()), pa.string())
    )


def _whole_keys(batch: pa.RecordBatch) -> pa.Array:
    path, vector = canonical_paths(batch.column("path")), batch.column("deletion_vector")
    if vector.null_count == len(vector):
        return path
    offset = pc.struct_field(vector, "offset")
    suffix = pc.if_else(
        pc.is_null(offset),
        "",
        pc.binary_join_element_wise("@", pc.cast(offset, pa.string()), "", null_handling="replace"),
    )
    parts = [pc.struct_field(vector, name) for name in ("storage", "path_or_inline")]
    unique = pc.binary_join_element_wise(*parts, suffix, "")
    return pc.if_else(pc.is_null(vector), path, pc.binary_join_element_wise(path, unique, "\x00"))


def canonical_paths(paths: pa.Array) -> pa.Array:
    """`paths.canonical` of each; all but those few that may vary are left as they are."""
    if is_without(paths, _MARKS):
        return paths
    vary = pc.match_substring_regex(paths, _VARIES)
    if not pc.any(vary).as_py():
        return paths
    return pc.replace_with_mask(paths, vary, pa.array(map(canonical, paths.filter(vary).to_pylist()), pa.string()))


def is_without(paths: pa.Array, marks: Sequence[bytes]) -> bool:
    """Whether no path begins with a slash or holds one of the marks, told at once: an expression looks at each. False may be wrong."""
    content = paths.buffers()[2]
    text = b"" if content is None else content.to_pybytes()
    return not any(mark in text for mark in marks) and not pc.any(pc.starts_with(paths, "/")).as_py()


def file_key(path: str, vector_id: str | None) -> str:
    path = canonical(path)
    key = path if vector_id is None else f"{path}\x00{vector_id}"
    return key if len(key) <= _LONG_KEY // 4 else _short(key)


def file_keys(paths: Sequence[str]) -> Sequence[str]:
    """`file_key` of files without a deletion vector whose paths can be written in one way only."""
    longest = max(map(len, paths), default=0)
    return paths if longest <= _LONG_KEY // 4 else [_short(path) for path in paths]


def _short(key: str) -> str:
    """Long keys by their digest, since a replay holds a key per file and a hostile path may be megabytes long."""
    data = key.encode()
    return key if len(data) <= _LONG_KEY else f"\x00{hashlib.sha256(data).hexdigest()}"


def parted(batch: pa.RecordBatch, touched: pa.Array | None) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The rows whose key is not among `touched`, and those whose key is."""
    if touched is None or len(touched) == 0:
        return batch, batch.slice(0, 0)
    gone = pc.is_in(keys(batch), value_set=touched)
    if not pc.any(gone).as_py():
        return batch, batch.slice(0, 0)
    return cast(pa.RecordBatch, batch.filter(pc.invert(gone))), cast(pa.RecordBatch, batch.filter(gone))


def without(files: pa.Table, others: pa.Table) -> pa.Table:
    """The files, identified by path and deletion vector, that the others lack."""
    return files.filter(pc.invert(pc.is_in(_keys_of(files), value_set=_keys_of(others))))


def _keys_of(files: pa.Table) -> pa.Array:
    batches = files.combine_chunks().to_batches()
    return keys(batches[0]) if batches else pa.array([], pa.string())


def sum_of(table: pa.Table, name: str) -> int | None:
    """A column's sum, 0 for no rows, None when a value is unknown."""
    column = table.column(name)
    if column.null_count:
        return None
    return int(pc.sum(column).as_py() or 0)


def visible_rows(table: pa.Table) -> pa.Array:
    """Rows that a reader sees in each file; null where the log doesn't tell, or has a deletion vector hide more rows than there are."""
    vectors = table.column("deletion_vector").combine_chunks()
    records = table.column("num_records").combine_chunks()
    if vectors.null_count == len(vectors):
        return records
    hidden = pc.if_else(pc.is_null(vectors), 0, pc.struct_field(vectors, "cardinality"))
    rows = pc.subtract(records, hidden)
    return pc.if_else(pc.less(rows, 0), pa.scalar(None, pa.int64()), rows)


def rows_of(table: pa.Table) -> int | None:
    """Rows that a reader sees in these files together; None where that isn't known of one of them."""
    rows = visible_rows(table)
    return None if rows.null_count else int(pc.sum(rows).as_py() or 0)


class FileCounts:
    """Files, bytes and visible rows, added up batch by batch; a sum is unknown as soon as one part of it is."""

    def __init__(self) -> None:
        self._files = 0
        self._sums: list[int | None] = [0, 0]

    def add(self, batch: pa.RecordBatch) -> None:
        table = pa.Table.from_batches([batch])
        self._files += len(batch)
        parts = (sum_of(table, "size"), rows_of(table))
        pairs = zip(self._sums, parts, strict=True)
        self._sums = [None if total is None or part is None else total + part for total, part in pairs]

    def known(self) -> tuple[int, int | None, int | None]:
        """Files, bytes, visible rows."""
        size, rows = self._sums
        return self._files, size, rows
