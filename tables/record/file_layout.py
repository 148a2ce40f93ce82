"""How a table's live files lie: sizes, partitions, statistics. From the Arrow file of a snapshot; numbers in bytes and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.rules.schema import Column, Primitive, SchemaError, Struct, parse_schema
from tables.deltalog.state.livefiles import PARTITION, visible_rows
from tables.deltalog.state.snapshot import Snapshot, physical_names
from tables.rules import health
from tables.rules.health import SMALL_FILE_BYTES
from tables.rules.partition_predicates import predicate_of

MIB = 2**20
BOUNDS = (1 * MIB, 8 * MIB, 32 * MIB, 64 * MIB, 128 * MIB, 256 * MIB, 512 * MIB, 1024 * MIB)
LISTED = 50  # partitions and values that are named; the rest is in the totals
MOST_NAMED = 10  # partitions that a finding's condition names
CURVE = 100  # points of the drawing of partition sizes
_OUTSIDE = r"^/|^[A-Za-z][A-Za-z0-9+.\-]*:|(^|/)(\.|%2[eE]){2}(/|$)"
_MARKS = (b":", b"%", b"..")  # one of which is in each path that matches it, if it doesn't begin with a slash


def summarize(snapshot: Snapshot) -> dict[str, Any]:
    """The layout of one version as JSON values. Unknown is None; a table without files has zeros.

    `histogram` counts files below each bound of BOUNDS and, last, above them; `partitions` is None for unpartitioned tables.
    """
    files = snapshot.files()
    sizes = files.column("size")
    return {
        "version": snapshot.version,
        "num_files": files.num_rows,
        "size_bytes": snapshot.size_bytes,
        "num_records": snapshot.num_records,
        "histogram": _histogram(sizes),
        **_sizes(sizes),
        "with_statistics": files.num_rows - files.column("num_records").null_count,
        "deletion_vectors": files.num_rows - files.column("deletion_vector").null_count,
        **_outside_of(files.column("path")),
        "partitions": _partitions(files, _logical_names(snapshot)),
        "small_alone": _alone(snapshot),
        "most_small": _most(snapshot, _small(files), health.has_many_small),
        "most_vectors": _most(snapshot, pc.is_valid(files.column("deletion_vector")), health.has_many_vectors),
    }


def _small(files: pa.Table) -> pa.ChunkedArray:
    return pc.fill_null(pc.less(files.column("size"), SMALL_FILE_BYTES), False)


def _alone(snapshot: Snapshot) -> int:
    """How many small files an OPTIMIZE leaves as they are: it joins files of one partition, up to a size, and theirs has no other.

    Told where the small files are a finding, 0 elsewhere. Delta 4.4.0, OptimizeExecutor: groups by partition, then by size.
    """
    files, names = snapshot.files(), list(_logical_names(snapshot))
    small, sizes = _small(files), files.column("size")
    if not names or not health.has_many_small(len(small), int(pc.sum(small).as_py() or 0)):
        return 0
    keyed = files.select(names)
    keyed = keyed.append_column("small", pc.if_else(small, sizes, None))
    keyed = keyed.append_column("larger", pc.if_else(small, None, sizes))
    groups = keyed.group_by(names).aggregate([("small", "count"), ("small", "min"), ("larger", "min")])
    joined = pc.add(groups.column("small_min"), groups.column("larger_min"))
    has_partner = pc.fill_null(pc.less_equal(joined, health.JOINED_BYTES), False)
    alone = pc.and_(pc.equal(groups.column("small_count"), 1), pc.invert(has_partner))
    return int(pc.sum(alone).as_py() or 0)


def _most(snapshot: Snapshot, marked: pa.ChunkedArray, is_finding: Callable[[int, int], bool]) -> str | None:
    """A condition on partition columns: the fewest partitions that hold most of the marked files.

    None if they are no finding, need more than MOST_NAMED partitions, or if their values can't be written.
    """
    names, count = _logical_names(snapshot), int(pc.sum(marked).as_py() or 0)
    if not names or not is_finding(len(marked), count):
        return None
    files = snapshot.files()
    groups = files.filter(marked).group_by(list(names)).aggregate([([], "count_all")])
    ordered = groups.sort_by([("count_all", "descending")]).slice(0, MOST_NAMED).to_pylist()
    chosen = []
    for row in ordered:
        chosen.append({name: row[column] for column, name in names.items()})
        count -= 2 * row["count_all"]
        if count < 0:
            return predicate_of(chosen, _types(snapshot, list(names.values())))
    return None


def _types(snapshot: Snapshot, names: Sequence[str]) -> dict[str, str]:
    """The types of partition columns as the log names them; empty for one that the schema doesn't tell."""
    metadata = snapshot.metadata
    try:
        struct = parse_schema(metadata.schema_json) if metadata else Struct(())
    except SchemaError:
        struct = Struct(())
    columns = {name: struct.column(name) for name in names}
    return {name: _type_name(column) for name, column in columns.items()}


def _type_name(column: Column | None) -> str:
    """A primitive column's type as the log names it; empty for any other."""
    return column.type.name if column is not None and isinstance(column.type, Primitive) else ""


def _outside_of(paths: pa.ChunkedArray) -> dict[str, Any]:
    """How many files lie elsewhere, and the directory that they have in common: the table of which this one is a shallow clone."""
    count = sum(map(_outside, paths.chunks))
    if not count:
        return {"outside_files": 0, "outside_under": None}
    ends = pc.min_max(paths.filter(pc.match_substring_regex(paths, _OUTSIDE))).as_py()
    common = os.path.commonprefix([unquote(ends["min"]), unquote(ends["max"])])  # noqa: RUF071 - of URIs, cut at a slash below
    return {"outside_files": count, "outside_under": common.rpartition("/")[0] or None}


def _outside(paths: pa.StringArray) -> int:
    """How many paths lead out of the table's directory. Most tables have none with a mark of it: an expression for each costs twice."""
    buffer = paths.buffers()[2]
    text = buffer.to_pybytes() if buffer else b""
    if not any(mark in text for mark in _MARKS) and not pc.any(pc.starts_with(paths, "/")).as_py():
        return 0
    return int(pc.sum(pc.match_substring_regex(paths, _OUTSIDE)).as_py() or 0)


def _histogram(sizes: pa.ChunkedArray) -> list[dict[str, int | None]]:
    rows: list[dict[str, int | None]] = []
    below = 0
    for bound in (*BOUNDS, None):
        inside = pc.greater_equal(sizes, below)
        if bound is not None:
            inside = pc.and_(inside, pc.less(sizes, bound))
        class_sizes = sizes.filter(inside)
        rows.append({"from": below, "to": bound, "files": len(class_sizes), "bytes": _total(class_sizes)})
        below = bound or below
    return rows


def _sizes(sizes: pa.ChunkedArray) -> dict[str, int | None]:
    known = sizes.drop_null()
    small = known.filter(pc.less(known, SMALL_FILE_BYTES))
    if not len(known):
        return dict.fromkeys(("median_file", "mean_file", "largest_file"), None) | {"small_files": 0, "small_bytes": 0}
    return {
        "median_file": int(pc.quantile(known, 0.5)[0].as_py()),
        "mean_file": int(pc.mean(known).as_py()),
        "largest_file": int(pc.max(known).as_py()),
        "small_files": len(small),
        "small_bytes": _total(small),
    }


def _total(sizes: pa.ChunkedArray) -> int:
    return int(pc.sum(sizes).as_py() or 0)


def _logical_names(snapshot: Snapshot) -> dict[str, str]:
    """Column of the Arrow file → the partition column's name as people know it, in the table's order."""
    metadata = snapshot.metadata
    if metadata is None:
        return {}
    physical = physical_names(metadata)
    names = {PARTITION + physical.get(name, name): name for name in metadata.partition_columns}
    plain = {PARTITION + name: name for name in metadata.partition_columns}
    present = {PARTITION + name for name in snapshot.physical_partition_columns}
    return {column: name for column, name in (names | plain).items() if column in present}


def partitions_of(snapshot: Snapshot) -> tuple[pa.Table, dict[str, str]]:
    """Every partition with `files`, `bytes`, `rows`, `largest_file`, and the names of its value columns by column.

    No names for a table that isn't partitioned.
    """
    names = _logical_names(snapshot)
    return (_totals(snapshot.files(), list(names)) if names else pa.table({})), names


def _partitions(files: pa.Table, names: Mapping[str, str]) -> dict[str, Any] | None:
    if not names:
        return None
    totals = _totals(files, list(names))
    sizes = totals.column("bytes")
    ordered = totals.sort_by([("bytes", "descending")])
    return {
        "columns": list(names.values()),
        "count": totals.num_rows,
        "median_bytes": int(pc.quantile(sizes, 0.5)[0].as_py()) if totals.num_rows else None,
        "largest_bytes": int(pc.max(sizes).as_py()) if totals.num_rows else None,
        "smaller_than_64_mib": int(pc.sum(pc.less(sizes, 64 * MIB)).as_py() or 0),
        "curve": _curve(ordered.column("bytes")),
        **_partition_rows(totals, names),
        "largest": rows_json(ordered.slice(0, LISTED), names),
        "by_column": {name: _by_column(files, column, name) for column, name in names.items()},
    }


def _partition_rows(totals: pa.Table, names: Mapping[str, str]) -> dict[str, Any]:
    """How rows spread over partitions, and those with the most; None as soon as one partition's rows are unknown."""
    if not totals.num_rows or totals.column("rows").null_count:
        return {"median_rows": None, "rows_curve": None, "most_rows": None}
    ordered = totals.sort_by([("rows", "descending")])
    rows = ordered.column("rows")
    return {
        "median_rows": int(pc.quantile(rows, 0.5)[0].as_py()),
        "rows_curve": _curve(rows),
        "most_rows": rows_json(ordered.slice(0, LISTED), names),
    }


def _totals(files: pa.Table, columns: list[str]) -> pa.Table:
    """Files, bytes and rows per combination of values."""
    known = files.select([*columns, "size"]).append_column("num_records", visible_rows(files))
    sums = known.group_by(columns).aggregate(
        [
            ("size", "count", pc.CountOptions(mode="all")),
            ("size", "sum"),
            ("num_records", "sum", _STRICT),
            ("size", "max"),
        ]
    )
    return sums.rename_columns([*columns, "files", "bytes", "rows", "largest_file"]).set_column(
        len(columns) + 1, "bytes", pc.fill_null(sums.column("size_sum"), 0)
    )


_STRICT = pc.ScalarAggregateOptions(skip_nulls=False)  # rows of a partition are unknown as soon as one file's are


def _by_column(files: pa.Table, column: str, name: str) -> dict[str, Any]:
    totals = _totals(files, [column]).sort_by([("bytes", "descending")])
    return {"values": totals.num_rows, "largest": rows_json(totals.slice(0, LISTED), {column: name})}


def rows_json(totals: pa.Table, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Partitions as JSON values: `values` by the columns' names as the log has them, None for null."""
    return [
        {
            "values": {name: row[column] for column, name in names.items()},
            "files": row["files"],
            "bytes": row["bytes"],
            "rows": row["rows"],
            "largest_file": row["largest_file"],
        }
        for row in totals.to_pylist()
    ]


def _curve(sizes: pa.ChunkedArray) -> list[int]:
    """Up to CURVE sizes at even distances, the first and the last among them."""
    count = len(sizes)
    if count <= CURVE:
        return [int(size) for size in sizes.to_pylist()]
    return [int(sizes[round(step * (count - 1) / (CURVE - 1))].as_py()) for step in range(CURVE)]
