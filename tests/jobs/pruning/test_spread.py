"""Rows that may match, by partition: what the log proves, rules out and doesn't tell, then Spark's count."""

from __future__ import annotations

import pyarrow as pa

from jobs.pruning import spread
from jobs.pruning.outcomes import Outcome
from jobs.pruning.partitions import PartitionColumn
from tables.deltalog.state.livefiles import PARTITION, VECTOR

COUNTRY = PartitionColumn(("country",), "col-7", "string")
NONE = None


def files(*rows: tuple[str | None, int | None, int | None]) -> pa.Table:
    """Live files by value, physical rows and rows that a vector hides (None: no vector)."""
    vectors = [
        None if hidden is None else {"storage": "u", "path_or_inline": "x", "cardinality": hidden}
        for _, _, hidden in rows
    ]
    return pa.table({
        "num_records": pa.array([count for _, count, _ in rows], pa.int64()),
        "deletion_vector": pa.array(vectors, VECTOR),
        f"{PARTITION}col-7": pa.array([value for value, _, _ in rows], pa.string()),
    })  # fmt: skip


def outcome(may: list[bool], must: list[bool]) -> Outcome:
    return Outcome(pa.array(may), pa.array([not sure for sure in must]), pa.array([False] * len(may)))


LIVE = files(("DE", 100, 10), ("DE", 50, NONE), ("FR", 30, NONE), ("IT", 70, NONE), (None, NONE, NONE))
FOUND = outcome([True, True, True, False, True], [True, False, True, True, False])


def by_value(found: spread.Spread) -> dict[str | None, tuple[int | None, int | None, int]]:
    return {row["values"][0][1]: (row["rows_least"], row["rows_most"], row["files_may"]) for row in found["rows"]}


def test_the_log_says_which_partitions_cant_may_and_must_hold_matching_rows() -> None:
    found = spread.spread_of(LIVE, [COUNTRY], FOUND)
    assert found is not None
    assert (found["partitions"], found["may"], found["must"], found["exact"]) == (4, 3, 1, False)
    assert by_value(found) == {None: (0, None, 1), "DE": (90, 140, 2), "FR": (30, 30, 1)}
    assert [row["values"][0][1] for row in found["rows"]] == [None, "DE", "FR"]  # what isn't known may be the most
    assert found["rows"][0]["values"][0][0] == "country"  # not the name in the log
    assert spread.spread_of(LIVE, [], FOUND) is None


def test_sparks_count_takes_the_place_of_the_bounds() -> None:
    found = spread.spread_of(LIVE, [COUNTRY], FOUND)
    assert found is not None
    exact = spread.counted(found, LIVE.filter(FOUND.true), [5, 7, 0, 1])
    assert (exact["partitions"], exact["may"], exact["exact"]) == (4, 2, True)
    assert by_value(exact) == {"DE": (12, 12, 2), None: (1, 1, 1)}


def test_of_many_partitions_the_largest_are_named() -> None:
    many = files(*((f"c{number}", number + 1, NONE) for number in range(500)))
    found = spread.spread_of(many, [COUNTRY], outcome([True] * 500, [False] * 500))
    assert found is not None
    assert (found["may"], len(found["rows"])) == (500, spread.MOST)
    assert found["rows"][0]["rows_most"] == 500
