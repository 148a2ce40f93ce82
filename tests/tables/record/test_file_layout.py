"""How live files lie, from hand-written logs: sizes, partitions, what is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tables.deltalog.replay.log import open_log
from tables.record.file_layout import LISTED, MIB, partitions_of, summarize
from tests.tables.deltalog.writing import LogWriter, add, vector

Read = Callable[..., dict[str, Any]]


@pytest.fixture
def layout(tmp_path: Path) -> Read:
    """Writes a table of these files and reads its layout."""

    def read(*adds: dict[str, Any], partition: Iterable[str] = ()) -> dict[str, Any]:
        writer = LogWriter(tmp_path / "table")
        writer.create(*adds, partition=partition)
        return summarize(open_log(str(writer.table)).snapshot(target=tmp_path / "files.arrow"))

    return read


def partitions(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The largest partitions as (value of the first column, files, bytes, rows)."""
    rows = found["partitions"]["largest"]
    return [(next(iter(row["values"].values())), row["files"], row["bytes"], row["rows"]) for row in rows]


def test_an_empty_table_has_an_empty_layout(layout: Read) -> None:
    found = layout(partition=["day"])
    assert (found["num_files"], found["size_bytes"], found["num_records"]) == (0, 0, 0)
    assert (found["median_file"], found["small_files"]) == (None, 0)
    assert (found["partitions"]["count"], found["partitions"]["largest"]) == (0, [])


def test_sizes_fall_into_bins(layout: Read) -> None:
    found = layout(add("a", size=1000), add("b", size=MIB), add("c", size=2 * MIB), add("d", size=1024 * MIB))
    filled = [row for row in found["histogram"] if row["files"]]
    assert filled == [
        {"from": 0, "to": MIB, "files": 1, "bytes": 1000},
        {"from": MIB, "to": 8 * MIB, "files": 2, "bytes": 3 * MIB},
        {"from": 1024 * MIB, "to": None, "files": 1, "bytes": 1024 * MIB},
    ]
    assert (found["median_file"], found["largest_file"]) == (1.5 * MIB, 1024 * MIB)


def test_small_files_are_counted(layout: Read) -> None:
    found = layout(add("a", size=32 * MIB - 1), add("b", size=32 * MIB))
    assert (found["small_files"], found["small_bytes"]) == (1, 32 * MIB - 1)


def test_partitions_are_summed_and_the_largest_come_first(layout: Read) -> None:
    adds = [add(f"f{n}", size=100 * (n % 3 + 1), partition={"day": f"d{n % 3}"}) for n in range(9)]
    found = layout(*adds, partition=["day"])
    assert partitions(found) == [("d2", 3, 900, 30), ("d1", 3, 600, 30), ("d0", 3, 300, 30)]
    assert (found["partitions"]["count"], found["partitions"]["largest_bytes"]) == (3, 900)


def test_of_many_partitions_the_largest_are_named(layout: Read) -> None:
    adds = [add(f"f{n}", size=100 + n, partition={"day": f"{n}"}) for n in range(LISTED + 5)]
    found = layout(*adds, partition=["day"])
    assert found["partitions"]["count"] == LISTED + 5
    assert len(partitions(found)) == LISTED
    assert partitions(found)[0][0] == str(LISTED + 4)


def test_the_null_partition_is_one_of_them(layout: Read) -> None:
    found = layout(add("a", partition={"day": None}), add("b", partition={}), partition=["day"])
    assert partitions(found) == [(None, 2, 200, 20)]


def test_unknown_rows_stay_unknown(layout: Read) -> None:
    adds = (add("a", rows=None, partition={"day": "1"}), add("b", rows=5, partition={"day": "2"}))
    found = layout(*adds, partition=["day"])
    assert found["num_records"] is None
    assert found["with_statistics"] == 1
    assert {value: rows for value, _, _, rows in partitions(found)} == {"1": None, "2": 5}


def test_rows_of_deletion_vectors_do_not_count(layout: Read) -> None:
    found = layout(add("a", rows=10, partition={"day": "1"}, deletionVector=vector("v", 4)), partition=["day"])
    assert (found["num_records"], found["deletion_vectors"]) == (6, 1)
    assert partitions(found) == [("1", 1, 100, 6)]


def test_an_unknown_size_makes_the_sum_unknown(layout: Read) -> None:
    found = layout(add("a", size=-1), add("b", size=10))
    assert found["size_bytes"] is None
    assert found["largest_file"] == 10


def test_a_table_without_partition_columns_has_no_partitions(layout: Read, tmp_path: Path) -> None:
    assert layout(add("a"))["partitions"] is None
    snapshot = open_log(str(tmp_path / "table")).snapshot(target=tmp_path / "again.arrow")
    assert partitions_of(snapshot)[1] == {}


@pytest.mark.parametrize(
    ("path", "outside"),
    [
        ("day=1/a", 0),
        ("a..b/c", 0),
        ("at=10%3A00/a", 0),
        ("/elsewhere/a", 1),
        ("s3://bucket/a", 1),
        ("../a", 1),
        ("day=1/%2e%2E/a", 1),
        ("day=1/.%2e/a", 1),
    ],
)
def test_files_outside_the_table_are_counted(layout: Read, path: str, outside: int) -> None:
    assert layout(add("plain"), add(path))["outside_files"] == outside


def small(day: str, count: int, **more: Any) -> list[dict[str, Any]]:
    return [add(f"{day}-{n}", size=MIB, partition={"day": day}, **more) for n in range(count)]


def test_the_partitions_that_hold_most_small_files_are_named(layout: Read) -> None:
    large = [add(f"l{n}", size=64 * MIB, partition={"day": "a"}) for n in range(20)]
    found = layout(*small("b", 30), *small("c", 45), *small("d", 40), *large, partition=["day"])
    assert found["most_small"] == "day IN ('c', 'd')"
    assert found["most_vectors"] is None


def test_the_partitions_that_hold_most_deletion_vectors_are_named(layout: Read) -> None:
    worn = [
        add(f"w{n}", partition={"day": "it's"}, deletionVector=vector("ab^-aqEH.-t@S}K{vb[*k^", 1)) for n in range(12)
    ]
    assert layout(*worn, *small("b", 20), partition=["day"])["most_vectors"] == "day = 'it\\'s'"


def test_no_partitions_are_named_where_they_would_be_too_many_or_there_are_none(layout: Read) -> None:
    spread = [file for day in range(60) for file in small(f"d{day}", 2)]
    assert layout(*spread, partition=["day"])["most_small"] is None


GIB = 2**30


@pytest.mark.parametrize(
    ("beside", "alone"),
    [
        ([], 110),  # a day has one small file, and nothing else
        ([GIB - MIB // 2], 110),  # together they would be larger than what Delta joins
        ([GIB - MIB], 0),
        ([64 * MIB], 0),
        ([2 * GIB], 110),
        ([MIB], 0),
        ([2 * GIB, 64 * MIB], 0),
    ],
)
def test_small_files_without_another_in_their_partition_are_told_apart(
    layout: Read, beside: list[int], alone: int
) -> None:
    days = [file for day in range(109) for file in small(f"d{day}", 1)]
    files = [*days, add("none", size=MIB, partition={"day": None})]
    more = [
        add(f"m{size}-{file['add']['path']}", size=size, partition=file["add"]["partitionValues"])
        for size in beside
        for file in files
    ]
    assert layout(*files, *more, partition=["day"])["small_alone"] == alone


def test_a_table_without_partitions_has_no_small_file_alone(layout: Read) -> None:
    assert layout(*(add(f"f{n}", size=MIB) for n in range(120)))["small_alone"] == 0


def test_one_with_few_small_files_has_none_alone(layout: Read) -> None:
    assert layout(*(file for day in range(60) for file in small(f"d{day}", 1)), partition=["day"])["small_alone"] == 0


def test_no_partition_of_a_table_without_any_is_named(layout: Read) -> None:
    assert layout(*(add(f"f{n}", size=MIB) for n in range(120)))["most_small"] is None
