"""How the rows that a condition may match lie over the table's partitions: which can't, may and must hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.pruning.outcomes import Outcome
from jobs.pruning.partitions import PartitionColumn
from tables.deltalog.state.livefiles import PARTITION, visible_rows

MOST = 20  # partitions by name; the others are counted
LONGEST = 200  # characters of a value

Spread = dict[str, Any]


def spread_of(files: pa.Table, partitions: Sequence[PartitionColumn], outcome: Outcome) -> Spread | None:
    """The log's answer by partition, most rows first; None for a table without partitions.

    `columns` are the partition columns with their names in the log. `partitions` counts all of them, `may` those with a file that may
    hold a matching row, `must` those whose every file matches as a whole. Each of `rows` has its `values`, `files_may`, `rows_most` and
    `rows_least`; a number of rows is None where the log doesn't tell it.
    """
    if not partitions:
        return None
    must = pc.and_(outcome.true, outcome.must)
    visible = visible_rows(files)
    marked = _keyed(files, partitions, {
        "may": pc.cast(outcome.true, pa.int64()), "must": pc.cast(must, pa.int64()),
        "most": _where(outcome.true, visible), "least": _where(must, visible),
    })  # fmt: skip
    totals = _summed(marked, ("may", "must", "most", "least"), len(partitions))
    hit = totals.filter(pc.greater(totals.column("may_sum"), 0))
    whole = pc.equal(hit.column("must_sum"), hit.column("must_count"))
    return {
        "partitions": totals.num_rows,
        "may": hit.num_rows,
        "must": pc.sum(pc.cast(whole, pa.int64())).as_py() or 0,
        "exact": False,
        "columns": [[".".join(column.path), column.physical] for column in partitions],
        "rows": [_row(row, partitions) for row in _first(hit, "most_sum")],
    }


def counted(spread: Spread, files: pa.Table, matched: Sequence[int]) -> Spread:
    """The same by Spark's count: `files` are those that might match, `matched` how many rows of each do."""
    columns = [PartitionColumn((name,), physical, "string") for name, physical in spread["columns"]]
    may = pa.array([int(count > 0) for count in matched], pa.int64())
    keyed = _keyed(files, columns, {"may": may, "most": pa.array(matched, pa.int64())})
    totals = _summed(keyed, ("may", "most"), len(columns))
    hit = totals.filter(pc.greater(totals.column("may_sum"), 0))
    rows = [_row(row | {"least_sum": row["most_sum"]}, columns) for row in _first(hit, "most_sum")]
    return spread | {"may": hit.num_rows, "must": 0, "exact": True, "rows": rows}


def _where(condition: pa.Array, values: pa.Array) -> pa.Array:
    return pc.if_else(condition, values, 0)


def _keyed(files: pa.Table, partitions: Sequence[PartitionColumn], values: Mapping[str, pa.Array]) -> pa.Table:
    keys = {f"key{place}": files.column(PARTITION + column.physical) for place, column in enumerate(partitions)}
    return pa.table({**keys, **values})


def _summed(table: pa.Table, names: Sequence[str], keys: int) -> pa.Table:
    """The sums by partition: one that misses a part is null. `<first name>_count` are the files."""
    all_known = pc.ScalarAggregateOptions(skip_nulls=False)
    sums = [(name, "sum", all_known) for name in names]
    return table.group_by([f"key{place}" for place in range(keys)]).aggregate(
        [*sums, (names[1], "count", pc.CountOptions(mode="all"))]
    )


def _first(totals: pa.Table, name: str) -> list[dict[str, Any]]:
    """Most rows first, unknown ones before all; equal ones by their values."""
    keys = [column for column in totals.column_names if column.startswith("key")]
    order = pc.sort_indices(
        totals, [(name, "descending", "at_start"), *((key, "ascending", "at_start") for key in keys)]
    )
    rows: list[dict[str, Any]] = totals.take(order[:MOST]).to_pylist()
    return rows


def _row(row: Mapping[str, Any], partitions: Sequence[PartitionColumn]) -> dict[str, Any]:
    named = [".".join(column.path) for column in partitions]
    values = [row[f"key{place}"] for place in range(len(partitions))]
    return {
        "values": [
            [name, None if value is None else value[:LONGEST]] for name, value in zip(named, values, strict=True)
        ],
        "files_may": row["may_sum"],
        "rows_most": row["most_sum"],
        "rows_least": row["least_sum"],
    }
