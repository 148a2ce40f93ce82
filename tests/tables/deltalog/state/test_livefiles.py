"""Rows of live files: those that a reader sees, as far as the log tells."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tables.deltalog.read.actions import AddFile, DeletionVector
from tables.deltalog.state.livefiles import VECTOR, FileCounts, rows_of, visible_rows


def files(*pairs: tuple[int | None, int | None]) -> pa.Table:
    """Files with so many rows, of which a vector hides as many; 0 for no vector."""
    vectors = [None if hidden == 0 else {"storage": "u", "cardinality": hidden} for _, hidden in pairs]
    rows = pa.array([rows for rows, _ in pairs], pa.int64())
    return pa.table(
        {"size": pa.array([1] * len(pairs)), "num_records": rows, "deletion_vector": pa.array(vectors, VECTOR)}
    )


@pytest.mark.parametrize(
    ("pairs", "seen", "total"),
    [
        ([(10, 0), (5, 0)], [10, 5], 15),
        ([(10, 4), (5, 5)], [6, 0], 6),
        ([(10, 4), (None, 0)], [6, None], None),
        ([(10, None)], [None], None),
        (
            [(10, 0), (5, 9)],
            [10, None],
            None,
        ),  # its vector hides more rows than there are: it doesn't lower the others' sum
        ([], [], 0),
    ],
)
def test_rows_without_those_that_vectors_hide(pairs, seen, total):
    table = files(*pairs)
    assert visible_rows(table).to_pylist() == seen
    assert rows_of(table) == total
    counts = FileCounts()
    for batch in table.to_batches():
        counts.add(batch)
    assert counts.known() == (len(pairs), len(pairs), total)


def test_an_add_says_the_same_of_itself():
    def add(rows: int | None, hidden: int) -> int | None:
        vector = DeletionVector("u", "x", None, None, hidden)
        return AddFile("a", {}, 1, 0, True, None, rows, vector).rows

    assert (add(10, 4), add(5, 9), add(None, 1)) == (6, None, None)
