"""What a version's log says of its columns at once: bounds of the data columns from the files' statistics, partition columns exactly.

Statistics are of files, with the rows that deletion vectors hide; texts in them may be cut, and each may be missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.pruning.outer_bounds import outer_bounds
from jobs.pruning.partitions import value_of
from jobs.pruning.prediction import MAPPING, kept_as, longest_text, refuse_shared_names
from jobs.pruning.statistics import StoredStatistics, WantedColumn, are_kept, stored_of
from jobs.pruning.stored_bounds import NullCounts, Sides, sides_of
from tables.deltalog.rules.schema import Column, Primitive, Struct, dotted, type_text
from tables.deltalog.state.livefiles import PARTITION, visible_rows
from tables.deltalog.state.snapshot import Snapshot

MOST_STATISTICS = 64 << 20  # bytes of them that are read at once
LISTED = 10  # values of a partition column that are named, those with most rows

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A partition column's value as the log has it (None: NULL), and the rows that a reader sees with it (None: unknown)."""

    text: str | None
    rows: int | None


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A column. No value lies outside `low` and `high`, and at most `nulls` are NULL, in the files that tell it.

    `unbounded` and `uncounted` are the files that don't, so that for more than 0 nothing is certain: all of them where statistics weren't
    read. `low` and `high` are None where no file tells them, or none are kept of the type, which leaves `unbounded` at 0. A partition
    column has `distinct`, exactly but for spellings that can't be read with certainty (a time without a zone), and its `values`, those
    with most rows first; its `nulls` are rows, None where unknown.
    """

    path: str
    type: str
    nulls: int | None
    uncounted: int = 0
    low: str | None = None
    high: str | None = None
    low_is_cut: bool = False
    high_is_cut: bool = False
    unbounded: int = 0
    has_bounds: bool = False  # whether bounds are kept of its type
    distinct: int | None = None
    values: tuple[Value, ...] = ()

    @property
    def is_partition(self) -> bool:
        return self.distinct is not None


@dataclass(frozen=True, slots=True)
class ColumnProfiles:
    """A version's columns. `rows` are those that a reader sees (None: unknown), `vectors` the files with a deletion vector. `unread` says
    that the statistics are too many to be read at once."""

    version: int
    files: int
    rows: int | None
    vectors: int
    columns: tuple[ColumnProfile, ...]
    unread: bool = False


@dataclass(frozen=True, slots=True)
class _Leaf:
    path: Path
    physical: Path
    type: str
    kept_as: str  # the type as which older files have its bounds


def profiled(snapshot: Snapshot, struct: Struct, first: int = 0, most: int | None = None) -> tuple[ColumnProfiles, int]:
    """The profile of `most` columns from the `first` on, and how many there are. The snapshot must have its files.

    Raises CommandRefused `unreadable` where files keep two columns under one name.
    """
    files = snapshot.files()
    mapped = _configuration(snapshot).get(MAPPING, "none").lower() != "none"
    refuse_shared_names(struct, mapped)
    leaves = list(_leaves(struct, mapped, (), ()))
    chosen = leaves[first : None if most is None else first + most]
    partitions = _partitions(snapshot, chosen)
    stats = files.column("stats")
    unread = stats.nbytes > MOST_STATISTICS
    data = [leaf for leaf in chosen if leaf.path not in partitions]
    stored = {} if unread else stored_of(stats, [WantedColumn(leaf.physical, leaf.kept_as) for leaf in data])
    records = files.column("num_records").combine_chunks()
    columns = [
        _partition(files, leaf, partitions[leaf.path])
        if leaf.path in partitions
        else _data(leaf, stored.get(leaf.physical), records, longest_text(snapshot))
        for leaf in chosen
    ]
    vectors = len(files) - files.column("deletion_vector").null_count
    return ColumnProfiles(snapshot.version, len(files), snapshot.num_records, vectors, tuple(columns), unread), len(
        leaves
    )


def _configuration(snapshot: Snapshot) -> Mapping[str, str]:
    return snapshot.metadata.configuration if snapshot.metadata else {}


def _leaves(struct: Struct, mapped: bool, above: Path, physical_above: Path) -> Iterator[_Leaf]:
    """Every column that isn't a struct, with its path in the files."""
    for column in struct.columns:
        path = (*above, column.name)
        physical = (*physical_above, column.physical_name if mapped else column.name)
        if isinstance(column.type, Struct):
            yield from _leaves(column.type, mapped, path, physical)
        else:
            kind = _type(column)
            yield _Leaf(path, physical, kind, kept_as(column, kind))


def _type(column: Column) -> str:
    return type_text(column.type) if isinstance(column.type, Primitive) else type_text(column.type).partition("<")[0]


def _partitions(snapshot: Snapshot, leaves: Sequence[_Leaf]) -> dict[Path, str]:
    """The partition columns among the leaves, with their names in the saved files."""
    logged = {name.lower(): name for name in snapshot.physical_partition_columns}
    names = {name.lower() for name in (snapshot.metadata.partition_columns if snapshot.metadata else ())}
    return {
        leaf.path: logged.get(leaf.physical[0].lower(), leaf.physical[0])
        for leaf in leaves
        if len(leaf.path) == 1 and leaf.path[0].lower() in names
    }


def _partition(files: pa.Table, leaf: _Leaf, name: str) -> ColumnProfile:
    """By the log's own values. An empty text, or a name for it, is NULL in other types than string, as Delta reads it."""
    values = files.column(PARTITION + name).combine_chunks()
    if leaf.type != "string":
        values = pc.if_else(
            pc.is_in(values, pa.array(["", "__HIVE_DEFAULT_PARTITION__"])), pa.scalar(None, pa.string()), values
        )
    rows = visible_rows(files)
    table = pa.table({"value": values, "rows": rows, "unknown": pc.cast(pc.is_null(rows), pa.int64())})
    grouped = table.group_by("value").aggregate([("rows", "sum"), ("unknown", "sum")]).to_pylist()
    spelled = [Value(each["value"], None if each["unknown_sum"] else each["rows_sum"] or 0) for each in grouped]
    found = _ordered(_joined(_ordered(spelled), leaf.type))
    valued = [value for value in found if value.text is not None]
    nulls = next((value.rows for value in found if value.text is None), 0)
    return ColumnProfile(dotted(leaf.path), leaf.type, nulls, distinct=len(valued), values=tuple(valued[:LISTED]))


def _ordered(values: Iterable[Value]) -> list[Value]:
    return sorted(values, key=lambda value: (-(value.rows or 0), value.text is None, value.text or ""))


def _joined(spelled: Sequence[Value], type_name: str) -> Iterable[Value]:
    """Values that are one in several spellings, such as 1.1 and 1.10, by their first one. Those that can't be read are apart."""
    found: dict[tuple[bool, Any], Value] = {}
    for value in spelled:
        read = value_of(value.text, type_name)
        key = (False, value.text) if read is None else (True, read.value)
        same = found.setdefault(key, value)
        if same is not value:
            rows = None if same.rows is None or value.rows is None else same.rows + value.rows
            found[key] = Value(same.text, rows)
    return found.values()


def _data(leaf: _Leaf, stored: StoredStatistics | None, records: pa.Array, longest: int) -> ColumnProfile:
    name = dotted(leaf.path)
    if stored is None:
        has_bounds = are_kept(leaf.kept_as)
        unbounded = len(records) if has_bounds else 0
        return ColumnProfile(name, leaf.type, None, len(records), unbounded=unbounded, has_bounds=has_bounds)
    nothing = pa.nulls(len(records), pa.int64())
    has_bounds = stored.low is not None and stored.high is not None
    written = Sides(stored.low, stored.high) if has_bounds else Sides(nothing, nothing)
    sides, wrong = sides_of(leaf.kept_as, written, NullCounts(stored.nulls, records))
    counts = pc.if_else(wrong, pa.scalar(None, pa.int64()), stored.nulls)
    uncounted = counts.null_count
    nulls = int(pc.sum(counts).as_py() or 0) if uncounted < len(records) else (0 if not len(records) else None)
    if not has_bounds:
        return ColumnProfile(name, leaf.type, nulls, uncounted)
    found = outer_bounds(leaf.type, leaf.kept_as, sides, longest)
    empty = pc.fill_null(pc.equal(counts, records), False)  # nothing but NULL, or no row: no value to bound
    unbounded = len(records) - int(pc.sum(pc.or_(found.known, empty)).as_py() or 0)
    return ColumnProfile(
        name,
        leaf.type,
        nulls,
        uncounted,
        found.low,
        found.high,
        found.low_is_cut,
        found.high_is_cut,
        unbounded,
        has_bounds=True,
    )
