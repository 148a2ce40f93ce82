"""What removed files held, by the statistics of their adds, and what became of the rows."""

from __future__ import annotations

from typing import Any

import pytest

from tables.deltalog.read.file_sums import Removal
from tables.deltalog.replay import removed_rows
from tests.tables.deltalog.writing import PROTOCOL, Action, LogWriter, add, info, metadata, remove, vector

BASE = [PROTOCOL, metadata(), add("a", rows=2), add("b", rows=3)]
COUNTED = '{"numRecords":10}'


def quiet(action: Action) -> Action:
    """The same, without a change of data."""
    return {name: value | {"dataChange": False} for name, value in action.items()}


def without_flag(action: Action) -> Action:
    return {name: {k: v for k, v in value.items() if k != "dataChange"} for name, value in action.items()}


def removed(log, target, base=None) -> dict[int, int | None]:
    """Rows that each commit removed, as they are known at the end of a pass."""
    run = log.sync(target, base)
    rows = {commit.version: commit.rows_removed for commit in run.commits()}
    return rows | {version: sums.rows_removed for version, sums in run.completed.items()}


@pytest.mark.parametrize("stats", [None, '{"minValues":{}}'])
def test_a_removal_without_rows_has_those_of_its_add(writer: LogWriter, log, target, stats):
    writer.create(add("a", rows=2), add("b", rows=3), add("c", rows=None))
    writer.commit(1, info("DELETE"), remove("a"), remove("b", stats=stats))
    writer.commit(2, info("DELETE"), remove("c"))
    writer.commit(3, info("DELETE"), remove("never added"))
    assert removed(log, target) == {0: 0, 1: 5, 2: None, 3: None}


def test_rows_of_a_checkpoint_are_known_at_the_end(writer: LogWriter, log, target):
    hidden = add("c", rows=10, deletionVector=vector("x", 4))
    writer.create()
    writer.checkpoint(4, *BASE, hidden, add("d", rows=None))
    writer.commit(5, info("DELETE"), remove("a"), remove("c", deletionVector=vector("x", 4)))
    writer.commit(6, info("DELETE"), remove("b"), remove("d"))
    writer.commit(7, info("DELETE"), remove("e"), remove("a"))
    rows = removed(log, target)
    assert (rows[5], rows[6], rows[7]) == (8, None, None)


def test_a_vector_that_hides_more_rows_than_there_are_leaves_them_unknown(writer: LogWriter, log, target):
    writer.create(add("a", rows=5, deletionVector=vector("x", 9)))
    base = log.sync(target).snapshot()
    writer.commit(1, info("DELETE"), remove("a", deletionVector=vector("x", 9)))
    run = log.sync(target, base)
    assert [commit.version for commit in run.commits()] == [1]
    assert (run.completed[1].rows_removed, run.completed[1].removal) == (None, Removal.LOST)


def test_rows_of_a_saved_state_are_known_at_the_end(writer: LogWriter, log, target):
    writer.create(add("a", rows=2), add("b", rows=3))
    base = log.sync(target).snapshot()
    writer.commit(1, info("DELETE"), remove("a"), remove("b"))
    run = log.sync(target, base)
    (commit,) = run.commits()
    assert (commit.rows_removed, commit.removal) == (None, Removal.LOST)
    assert run.completed[1].rows_removed == 5


def test_commits_before_a_checkpoint_are_told_by_those_before_them(writer: LogWriter, log, target, monkeypatch):
    writer.create(add("a", rows=2), add("b", rows=3))
    writer.commit(1, info("DELETE"), remove("a"), remove("b"))
    writer.checkpoint(2, PROTOCOL, metadata())
    writer.commit(2, info(), add("c", rows=7))
    assert removed(log, target) == {0: 0, 1: 5, 2: 0}
    monkeypatch.setattr(removed_rows, "MOST_EARLIER", 1)
    assert removed(log, target)[1] is None


def test_a_file_that_came_back_with_fewer_rows_has_those(writer: LogWriter, log, target):
    shrunk = add("a", rows=10, deletionVector=vector("x", 3))
    writer.create(add("a", rows=10))
    writer.commit(1, info("DELETE"), remove("a"), shrunk)
    writer.commit(2, info("DELETE"), remove("a", deletionVector=vector("x", 3)))
    run = log.sync(target)
    kinds = [(c.rows_added, c.rows_removed, c.removal) for c in run.commits()]
    assert kinds[1:] == [(7, 10, Removal.LOST), (0, 7, Removal.LOST)]


VECTOR_FILE = "deletion_vector_da385cd5-ca32-4e30-8cf6-bd08e5f11f69.bin"
REMOVALS: dict[str, tuple[list[Action], Removal]] = {
    "an append": ([add("n")], Removal.NONE),
    "an append that also compacts": ([quiet(remove("a")), quiet(add("n")), add("m")], Removal.NONE),
    "a compaction": ([quiet(remove("a")), quiet(add("n"))], Removal.REARRANGED),
    "a compaction into files without statistics": ([quiet(remove("a")), quiet(add("n", rows=None))], Removal.REARRANGED),
    "rows gone that are said to be the same": ([quiet(remove("a")), quiet(add("n", rows=9))], Removal.LOST),
    "a removal": ([remove("a")], Removal.LOST),
    "a removal that doesn't say whether data changes": ([without_flag(remove("a"))], Removal.LOST),
    "a removal of unknown rows": ([remove("u"), add("n")], Removal.LOST),
    "an add of unknown rows": ([remove("a"), add("n", rows=None)], Removal.LOST),
    "as many rows again": ([remove("a"), add("n")], Removal.REPLACED),
    "as many rows again, and nothing says whether data changes": (
        [without_flag(remove("a")), without_flag(add("n"))], Removal.UNSAID,
    ),
    "as many rows again, which the removal alone says": ([remove("a"), without_flag(add("n"))], Removal.REPLACED),
    "as many rows again, which the added file alone says": ([without_flag(remove("a")), add("n")], Removal.REPLACED),
    "more rows": ([remove("a"), add("n", rows=11)], Removal.REPLACED),
    "a deletion vector": ([remove("a"), add("a", deletionVector=vector("x", 1))], Removal.LOST),
    "a vector that doesn't tell": (
        [remove("a"), add("a", deletionVector={"storageType": "u", "pathOrInlineDv": "x"})], Removal.LOST,
    ),
    "a deletion vector taken away": (
        [remove("a", stats=COUNTED, deletionVector=vector("y", 2)), add("a")], Removal.REPLACED,
    ),
    "a delete beside a compaction": ([remove("a"), quiet(remove("b")), quiet(add("n"))], Removal.LOST),
    "an update beside a compaction of unknown rows": (
        [remove("a"), add("n"), quiet(remove("u")), quiet(add("m"))], Removal.REPLACED,
    ),
    "an empty file": ([remove("z")], Removal.NONE),
    "an empty file, quietly": ([quiet(remove("z"))], Removal.REARRANGED),
    "rows that lie nowhere": ([quiet(remove("u"))], Removal.LOST),
    "rows that lie nowhere, beside new ones": ([quiet(remove("u")), add("n")], Removal.LOST),
    "others in place of rows that are said to be the same": ([quiet(remove("a")), add("n")], Removal.REPLACED),
    "fewer quiet rows than went quietly": ([quiet(remove("a")), quiet(add("n", rows=9)), add("m")], Removal.REPLACED),
    "a vector's file": ([quiet(remove(f"a1/{VECTOR_FILE}"))], Removal.REARRANGED),
    "a vector's file that held rows": ([remove(VECTOR_FILE)], Removal.LOST),
    "changed rows alone": (
        [{"cdc": {"path": "c", "partitionValues": {}, "size": 1, "dataChange": False}}], Removal.NONE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REMOVALS)
@pytest.mark.parametrize("order", [1, -1])
def test_what_becomes_of_rows_is_told_by_the_actions(writer: LogWriter, commits: Any, case: str, order: int):
    actions, expected = REMOVALS[case]
    writer.create(add("a"), add("b"), add("u", rows=None), add("z", rows=0))
    writer.commit(1, *actions[::order])
    assert commits()[1].removal is expected
