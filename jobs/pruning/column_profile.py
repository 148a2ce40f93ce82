"""What a version's log says of its columns at once: bounds of the data columns from the files' statistics, partition columns exactly.

Statistics are of files, with the rows that deletion vectors hide; texts in them may be cut, and each may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.pruning.moments import as_dates, as_moments, slack_of
from jobs.pruning.prediction import MAPPING, longest_text
from jobs.pruning.statistics import Stored, Wanted, stored_of
from tables.deltalog.rules.schema import Column, Primitive, Struct, dotted, type_text
from tables.deltalog.state.livefiles import PARTITION, visible_rows
from tables.deltalog.state.snapshot import Snapshot

MOST_STATISTICS = 64 << 20  # bytes of them that are read at once
LISTED = 10  # values of a partition column that are named, those with most rows
TIMES = ("timestamp", "timestamp_ntz")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ENDS = "\ufffd\U0010ffff"  # what Delta's writers put behind an upper bound that they have cut

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A partition column's value as the log has it (None: NULL), and the rows that a reader sees with it (None: unknown)."""

    text: str | None
    rows: int | None


@dataclass(frozen=True, slots=True)
class Profile:
    """A column. No value lies outside `low` and `high`, and at most `nulls` are NULL, in the files that tell it.

    `unbounded` and `uncounted` are the files that don't, so that for more than 0 nothing is certain; `low` and `high` are None where no
    file tells them, or none are kept of the type. A partition column has `distinct`, exactly, and its `values`, those with most rows first;
    its `nulls` are rows, None where unknown.
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
class Columns:
    """A version's columns. `rows` are those that a reader sees (None: unknown), `vectors` the files with a deletion vector. `unread` says
    that the statistics are too many to be read at once."""

    version: int
    files: int
    rows: int | None
    vectors: int
    columns: tuple[Profile, ...]
    unread: bool = False


@dataclass(frozen=True, slots=True)
class _Leaf:
    path: Path
    physical: Path
    type: str


def profiled(snapshot: Snapshot, struct: Struct, first: int = 0, most: int | None = None) -> tuple[Columns, int]:
    """The profile of `most` columns from the `first` on, and how many there are. The snapshot must have its files."""
    files = snapshot.files()
    mapped = _configuration(snapshot).get(MAPPING, "none").lower() != "none"
    leaves = list(_leaves(struct, mapped, (), ()))
    chosen = leaves[first : None if most is None else first + most]
    partitions = _partitions(snapshot, chosen)
    stats = files.column("stats")
    unread = stats.nbytes > MOST_STATISTICS
    data = [leaf for leaf in chosen if leaf.path not in partitions]
    stored = {} if unread else stored_of(stats, [Wanted(leaf.physical, leaf.type) for leaf in data])
    records = files.column("num_records").combine_chunks()
    columns = [
        _partition(files, leaf, partitions[leaf.path])
        if leaf.path in partitions
        else _data(leaf, stored.get(leaf.physical), records, longest_text(snapshot))
        for leaf in chosen
    ]
    vectors = len(files) - files.column("deletion_vector").null_count
    return Columns(snapshot.version, len(files), snapshot.num_records, vectors, tuple(columns), unread), len(leaves)


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
            yield _Leaf(path, physical, _type(column))


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


def _partition(files: pa.Table, leaf: _Leaf, name: str) -> Profile:
    """By the log's own values. An empty text, or a name for it, is NULL in other types than string, as Delta reads it."""
    values = files.column(PARTITION + name).combine_chunks()
    if leaf.type != "string":
        values = pc.if_else(
            pc.is_in(values, pa.array(["", "__HIVE_DEFAULT_PARTITION__"])), pa.scalar(None, pa.string()), values
        )
    rows = visible_rows(files)
    table = pa.table({"value": values, "rows": rows, "unknown": pc.cast(pc.is_null(rows), pa.int64())})
    grouped = table.group_by("value").aggregate([("rows", "sum"), ("unknown", "sum")]).to_pylist()
    found = [Value(each["value"], None if each["unknown_sum"] else each["rows_sum"] or 0) for each in grouped]
    found.sort(key=lambda value: (-(value.rows or 0), value.text is None, value.text or ""))
    valued = [value for value in found if value.text is not None]
    nulls = next((value.rows for value in found if value.text is None), 0)
    return Profile(dotted(leaf.path), leaf.type, nulls, distinct=len(valued), values=tuple(valued[:LISTED]))


def _data(leaf: _Leaf, stored: Stored | None, records: pa.Array, longest: int) -> Profile:
    name = dotted(leaf.path)
    if stored is None:
        return Profile(name, leaf.type, None, uncounted=len(records), unbounded=len(records))
    uncounted = len(records) - _count(pc.is_valid(stored.nulls))
    nulls = int(pc.sum(stored.nulls).as_py() or 0) if uncounted < len(records) else (0 if not len(records) else None)
    if stored.low is None or stored.high is None:
        return Profile(name, leaf.type, nulls, uncounted)
    low, high = _typed(stored.low, leaf.type, pc.subtract), _typed(stored.high, leaf.type, pc.add)
    empty = pc.fill_null(pc.equal(stored.nulls, records), False)  # nothing but NULL, or no row: no value to bound
    known = pc.or_(pc.and_(pc.is_valid(low), pc.is_valid(high)), empty)
    least, largest = pc.min(low).as_py(), pc.max(high).as_py()
    is_text = leaf.type == "string"
    return Profile(
        name,
        leaf.type,
        nulls,
        uncounted,
        _shown(least, leaf.type),
        _shown(largest, leaf.type),
        is_text and isinstance(least, str) and len(least) >= longest,
        is_text and isinstance(largest, str) and (len(largest) >= longest or largest.endswith(tuple(_ENDS))),
        len(records) - _count(known),
        has_bounds=True,
    )


def _count(flags: pa.Array) -> int:
    return int(pc.sum(flags).as_py() or 0)


def _typed(side: pa.Array, type_name: str, moved: Callable[[pa.Array, pa.Array], pa.Array]) -> pa.Array:
    """The bounds by their type; a time `moved` by as much as what is written may be wrong."""
    if type_name == "date":
        return as_dates(side)
    if type_name in TIMES:
        moments = as_moments(side, type_name)
        slack = slack_of(side, moments) if type_name == "timestamp" else None
        return moments if slack is None else moved(moments, slack)
    if pa.types.is_floating(side.type):
        return pc.if_else(pc.is_finite(side), side, pa.scalar(None, side.type))
    return side


def _shown(value: Any, type_name: str) -> str | None:
    if value is None:
        return None
    if type_name in TIMES:
        return _moment(int(value))
    if isinstance(value, date):
        return value.isoformat()
    return value.rstrip(_ENDS) if isinstance(value, str) else str(value)


def _moment(micros: int) -> str | None:
    """As Spark writes it, in UTC; None for a time that Python doesn't have."""
    try:
        moment = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None
    return moment.replace(tzinfo=None).isoformat(" ")
