import json

import pytest

from tables.deltalog.read.problems import ProblemCode
from tests.tables.deltalog.conftest import paths
from tests.tables.deltalog.writing import PROTOCOL, add, info, metadata, remove, vector


def compact(writer, start: int, end: int, *actions) -> None:
    text = "".join(json.dumps(action) + "\n" for action in actions)
    (writer.log / f"{start:020d}.{end:020d}.compacted.json").write_text(text)


@pytest.fixture
def gapped(writer):
    """Versions 2 and 3 are gone; a compaction of 1 to 3 knows what they did."""
    writer.create(add("a"), add("b"))
    writer.commit(1, info(), add("c"))
    writer.commit(4, info(), remove("d"), add("e"))
    compact(writer, 1, 3, add("c"), remove("a"), add("d"))
    return writer


@pytest.fixture(params=["sync", "snapshot"])
def read(request, log, target):
    return (lambda: log.sync(target).snapshot()) if request.param == "sync" else (lambda: log.snapshot(target=target))


def test_a_compaction_stands_in_for_missing_commits(gapped, read):
    snapshot = read()
    assert paths(snapshot) == ["b", "c", "e"]
    assert snapshot.complete
    assert snapshot.problems == ()


def test_the_history_has_only_the_commits_that_are_there(gapped, log, target):
    assert [commit.version for commit in log.sync(target).commits()] == [0, 1, 4]


def test_a_compaction_at_the_very_end_counts_too(writer, read):
    writer.create(add("a"))
    compact(writer, 1, 2, add("b"))
    writer.checkpoint(3, PROTOCOL, metadata(), add("z"))
    assert paths(read()) == ["z"]
    (writer.log / f"{3:020d}.checkpoint.parquet").unlink()
    writer.commit(3, info())
    assert paths(read()) == ["a", "b"]


def test_a_compaction_that_is_not_needed_is_not_read(gapped, read):
    gapped.commit(2, info(), remove("a"))
    gapped.commit(3, info(), add("d"))
    compact(gapped, 1, 3, add("nonsense"))
    assert paths(read()) == ["b", "c", "e"]


def test_a_compaction_of_too_little_helps_only_there(gapped, read):
    gapped.commit(7, info())
    snapshot = read()
    assert not snapshot.complete
    assert [problem.file for problem in snapshot.problems] == [gapped.file(5).name]
    assert "2 commits from this one to version 6" in snapshot.problems[0].reason


def test_a_gap_of_any_length_is_filled_as_far_as_compactions_reach(writer, read):
    writer.create(add("a"))
    compact(writer, 1, 1200, add("b"))
    compact(writer, 1201, 1300, remove("a"), add("c"))
    writer.commit(1400, info(), add("d"))
    snapshot = read()
    assert paths(snapshot) == ["b", "c", "d"]
    assert not snapshot.complete
    assert [(problem.file, problem.code) for problem in snapshot.problems] == [
        (writer.file(1301).name, ProblemCode.MISSING)
    ]
    assert "99 commits from this one to version 1399" in snapshot.problems[0].reason


def test_of_compactions_that_overlap_the_one_that_reaches_further_is_taken(writer, read):
    writer.create(add("a"))
    compact(writer, 1, 3, add("b"))
    compact(writer, 2, 4, add("nonsense"))
    compact(writer, 1, 6, add("b"), add("c"))
    compact(writer, 8, 9, add("d"))
    writer.commit(10, info(), add("e"))
    snapshot = read()
    assert paths(snapshot) == ["a", "b", "c", "d", "e"]
    assert [problem.file for problem in snapshot.problems] == [writer.file(7).name]
    assert "the commit is missing" in snapshot.problems[0].reason


def test_a_broken_compaction_is_said(gapped, read):
    compact(gapped, 1, 3, add("c"))
    with open(gapped.log / f"{1:020d}.{3:020d}.compacted.json", "a") as file:
        file.write("rubbish\n")
    snapshot = read()
    assert not snapshot.complete
    assert [problem.code for problem in snapshot.problems] == [ProblemCode.CORRUPT]


@pytest.mark.parametrize(
    "twice",
    [
        (add("d"), add("d")),
        (add("d"), remove("d")),
        (add("d"), add("d", deletionVector=vector("ab^-aqEH.-t@S}K{vb[*k^", 4))),
        (remove("d"), remove("d")),
    ],
    ids=["added", "added and removed", "with a vector", "removed"],
)
def test_a_compaction_that_names_a_file_twice_is_said(gapped, read, twice):
    compact(gapped, 1, 3, add("c"), remove("a"), *twice)
    snapshot = read()
    assert not snapshot.complete
    assert "names a file twice" in snapshot.problems[0].reason


def test_a_new_vector_of_a_file_names_it_once(gapped, read):
    old, new = vector("ab^-aqEH.-t@S}K{vb[*k^", 4), vector("cd^-aqEH.-t@S}K{vb[*k^", 5)
    compact(gapped, 1, 3, add("c"), remove("a", deletionVector=old), add("a", deletionVector=new), remove("a"))
    snapshot = read()
    assert snapshot.complete
    assert paths(snapshot).count("a") == 1
