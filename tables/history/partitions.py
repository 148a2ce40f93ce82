"""All partitions of a table's newest version, page by page: from the live files that the last sync wrote, by size, rows or files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from console.base.errors import Problem
from tables.history import queries
from tables.models import Table
from tables.record import file_layout
from tables.record.live_files import live_files

ORDERS = {"size": "bytes", "rows": "rows", "files": "files"}
USUAL = "size"
LONGEST_QUERY = 200
_LABEL = "label"


@dataclass(frozen=True, slots=True)
class PartitionPage:
    """One page. `count` are all partitions, `found` those that fit the search; `next` and `previous` are cursors, None at the ends.

    `top` is the largest value of the order among all that were found, None when unknown.
    """

    version: int
    columns: list[str]
    rows: list[dict[str, Any]]
    count: int
    found: int
    start: int
    top: int | None
    next: int | None
    previous: int | None


def page(table: Table, order: str, q: str, start: int, limit: int) -> PartitionPage:
    """Partitions from the `start`th on, largest first; unknown values last. `q` is a part of `column=value/column=value`, in any case.

    Raises Problem as `histories.newest`; 409 `not_partitioned`, or `not_synced` where the live files must be read again first.
    """
    queries.newest(table)
    snapshot = live_files(table)
    if snapshot is None or snapshot.version != table.version:
        raise Problem(409, "not_synced", "The list of live files isn’t available. Sync the table, then try again.")
    totals, names = file_layout.partitions_of(snapshot)
    if not names:
        raise Problem(409, "not_partitioned", f"{table.name} is not partitioned.")
    partitions = _ordered(_searched(totals, names, q), ORDERS.get(order, ORDERS[USUAL]))
    tops = partitions.column(ORDERS.get(order, ORDERS[USUAL]))
    return PartitionPage(
        version=table.version,
        columns=list(names.values()),
        rows=file_layout.rows_json(partitions.slice(start, limit), names),
        count=totals.num_rows,
        found=partitions.num_rows,
        start=start,
        top=pc.max(tops).as_py() if partitions.num_rows else None,
        next=start + limit if start + limit < partitions.num_rows else None,
        previous=max(start - limit, 0) if start else None,
    )


def _searched(totals: pa.Table, names: Mapping[str, str], q: str) -> pa.Table:
    """With a column `label` to search and to tell equals apart."""
    parts = [
        pc.binary_join_element_wise(f"{name}=", pc.fill_null(totals.column(column), "null"), "")
        for column, name in names.items()
    ]
    labelled = totals.append_column(_LABEL, pc.binary_join_element_wise(*parts, "/"))
    if not q:
        return labelled
    return labelled.filter(pc.match_substring(labelled.column(_LABEL), q, ignore_case=True))


def _ordered(partitions: pa.Table, column: str) -> pa.Table:
    """Largest first; Arrow puts unknown values last."""
    keys = [(column, "descending"), (_LABEL, "ascending")]
    return partitions.take(pc.sort_indices(partitions, sort_keys=keys))
