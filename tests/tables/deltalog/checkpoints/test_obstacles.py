"""What keeps Spark from opening a table that Levee can read: looked for in few bytes, and said by the sync that meets it."""

import pyarrow.parquet as pq
import pytest

from tables.deltalog.checkpoints import newest
from tables.deltalog.read.parsing import MISMATCH
from tables.deltalog.read.problems import ProblemCode
from tables.deltalog.replay.obstacles import obstacles
from tables.deltalog.state.snapshot import load
from tests.tables.deltalog.conftest import paths
from tests.tables.deltalog.writing import PROTOCOL, add, info, metadata

STATE = (PROTOCOL, metadata())


def cut(path):
    path.write_bytes(path.read_bytes()[:100])


def overwritten(path):
    path.write_bytes(b"x" * 100)


def pages_lost(path):
    """The footer stays as it is."""
    content = bytearray(path.read_bytes())
    content[4 : len(content) // 2] = bytes(b"\xff" * (len(content) // 2 - 4))
    path.write_bytes(content)


@pytest.fixture
def logged(writer):
    """Two versions with a checkpoint at the newer one; answers the checkpoint's file."""
    writer.create(add("a"))
    writer.commit(1, info(), add("b"))
    return writer.checkpoint(1, *STATE, add("a"), add("b"))


def stopping(snapshot):
    return [(problem.file, problem.code) for problem in snapshot.problems if problem.code is ProblemCode.STOPS_SPARK]


@pytest.mark.parametrize("harm", [cut, overwritten, pages_lost])
def test_a_damaged_newest_checkpoint_stops_spark_and_not_levee(writer, log, target, logged, harm):
    harm(logged)
    snapshot = log.sync(target).snapshot()
    assert paths(snapshot) == ["a", "b"]
    assert snapshot.complete
    assert stopping(snapshot) == [(logged.name, ProblemCode.STOPS_SPARK)]
    assert [problem.file for problem in obstacles(str(writer.table), snapshot, 1)] == [logged.name]


@pytest.mark.parametrize("harm", [cut, overwritten, pages_lost])
def test_a_checkpoint_damaged_after_it_was_read_is_found_at_the_next_look(writer, log, target, logged, harm):
    snapshot = log.sync(target).snapshot()
    assert obstacles(str(writer.table), snapshot, 1) == ()
    harm(logged)
    (found,) = obstacles(str(writer.table), snapshot, 1)
    assert (found.file, found.code) == (logged.name, ProblemCode.STOPS_SPARK)
    logged.unlink()
    assert obstacles(str(writer.table), snapshot, None) == ()


def test_a_sync_looks_at_a_checkpoint_that_has_come_since(writer, log, target):
    writer.create(add("a"))
    log.sync(target).snapshot()
    writer.commit(1, info(), add("b"))
    damaged = writer.checkpoint(1, *STATE, add("a"), add("b"))
    cut(damaged)
    assert stopping(log.sync(target, load(target)).snapshot()) == [(damaged.name, ProblemCode.STOPS_SPARK)]
    writer.commit(2, info())
    assert stopping(log.sync(target, load(target)).snapshot()) == [(damaged.name, ProblemCode.STOPS_SPARK)]
    writer.checkpoint(3, *STATE, add("a"), add("b"))
    writer.commit(3, info())
    assert stopping(log.sync(target, load(target)).snapshot()) == []


def test_an_older_damaged_checkpoint_and_an_empty_newer_one_stop_nobody(writer, log, target, logged):
    cut(logged)
    writer.commit(2, info())
    writer.checkpoint(2, *STATE, add("a"), add("b"))
    (writer.log / f"{3:020d}.checkpoint.parquet").write_bytes(b"")
    writer.commit(3, info())
    snapshot = log.sync(target).snapshot()
    assert stopping(snapshot) == []
    assert obstacles(str(writer.table), snapshot, 3) == ()


@pytest.mark.parametrize(("later", "stops"), [((), True), ((PROTOCOL,), True), ((PROTOCOL, metadata()), False)])
def test_a_checkpoint_without_protocol_or_metadata_stops_spark_unless_a_later_commit_brings_them(
    writer, log, target, later, stops
):
    writer.create(add("a"))
    writer.commit(1, info())
    point = writer.checkpoint(1, add("a"))
    writer.commit(2, info(), *later)
    assert stopping(log.sync(target).snapshot()) == ([(point.name, ProblemCode.STOPS_SPARK)] if stops else [])


def test_one_part_of_several_is_enough(writer, log, target):
    writer.create(add("a"))
    parts = writer.multipart(0, STATE, [add("a")])
    cut(parts[1])
    snapshot = log.sync(target).snapshot()
    assert stopping(snapshot) == [(parts[0].name, ProblemCode.STOPS_SPARK)]


def adds_lost(path):
    """Only pages of files are harmed: protocol, metadata and the footer can be read."""
    content = bytearray(path.read_bytes())
    footer = pq.read_metadata(path)
    columns = [
        footer.row_group(group).column(n) for group in range(footer.num_row_groups) for n in range(footer.num_columns)
    ]
    for column in (each for each in columns if each.path_in_schema == "add.path"):
        start = column.dictionary_page_offset or column.data_page_offset
        content[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(content)


def gone(path):
    path.unlink()


@pytest.mark.parametrize("suffix", ["parquet", "json"])
@pytest.mark.parametrize("harm", [gone, cut, overwritten, pages_lost, adds_lost])
def test_a_sidecar_that_is_gone_or_damaged_stops_spark_whenever_it_happened(writer, log, target, suffix, harm):
    writer.create(add("a"))
    log.sync(target).snapshot()
    top = writer.v2(1, *STATE, writer.sidecar("s.parquet", add("a")), suffix=suffix)
    writer.commit(1, info(), add("b"))
    snapshot = log.sync(target, load(target)).snapshot()
    assert stopping(snapshot) == []
    assert obstacles(str(writer.table), snapshot, 1) == ()
    harm(writer.log / "_sidecars" / "s.parquet")
    (found,) = obstacles(str(writer.table), snapshot, 1)
    assert (found.file, found.code) == (top.name, ProblemCode.STOPS_SPARK)
    assert "_sidecars/s.parquet" in found.reason
    assert stopping(log.sync(target).snapshot()) == [(top.name, ProblemCode.STOPS_SPARK)]


def test_a_manifest_that_ends_too_soon_stops_spark(writer, log, target):
    writer.create(add("a"))
    top = writer.v2(0, *STATE, writer.sidecar("s.parquet", add("a")), suffix="json")
    top.write_bytes(top.read_bytes()[:-20])
    assert stopping(log.sync(target).snapshot()) == [(top.name, ProblemCode.STOPS_SPARK)]


def test_a_manifest_that_levee_alone_does_not_read_stops_nobody(writer, log, target):
    writer.create(add("a"))
    top = writer.v2(0, *STATE, writer.sidecar("s.parquet", add("a")), suffix="json")
    top.write_text(top.read_text() + f'{{"add": {"[" * 5_000}{"]" * 5_000}}}\n')
    snapshot = log.sync(target).snapshot()
    assert stopping(snapshot) == []
    assert [problem.code for problem in snapshot.problems if problem.file == top.name]


def test_damaged_pages_of_files_alone_stop_spark(writer, log, target):
    writer.create(add("a"))
    log.sync(target).snapshot()
    point = writer.checkpoint(1, *STATE, add("a"), add("b"))
    writer.commit(1, info(), add("b"))
    adds_lost(point)
    assert stopping(log.sync(target, load(target)).snapshot()) == [(point.name, ProblemCode.STOPS_SPARK)]


def test_what_levee_alone_cannot_read_is_not_said_of_spark(writer, log, target, monkeypatch):
    writer.create(add("a"))
    parts = writer.multipart(0, STATE, [add("a")])
    cut(parts[1])
    monkeypatch.setattr(newest, "MOST_PARTS", 1)
    snapshot = log.sync(target).snapshot()
    assert [(problem.code, problem.file) for problem in snapshot.problems] == [(ProblemCode.UNREADABLE, parts[0].name)]


EMPTY: dict[str, list[str]] = {"readerFeatures": [], "writerFeatures": []}


@pytest.mark.parametrize(
    ("versions", "lists", "said"),
    [
        ((1, 2), EMPTY, ["has a list of reader", "has a list of writer"]),
        ((1, 7), EMPTY, ["has a list of reader"]),
        ((1, 7), {}, ["has no list of writer"]),
        ((3, 7), {"writerFeatures": []}, ["has no list of reader"]),
        ((3, 5), {"readerFeatures": []}, ["has reader version 3"]),
        ((3, 7), EMPTY, []),
        ((1, 2), {"readerFeatures": None, "writerFeatures": None}, []),
    ],
)
def test_lists_of_features_beside_other_versions_stop_spark_until_a_checkpoint_takes_their_place(
    writer, log, target, versions, lists, said
):
    protocol = {"minReaderVersion": versions[0], "minWriterVersion": versions[1], **lists}
    writer.create(add("a"))
    commit = writer.commit(1, info(), {"protocol": protocol})
    writer.commit(2, info(), PROTOCOL)
    snapshot = log.sync(target).snapshot()
    assert stopping(snapshot) == [(commit.name, ProblemCode.STOPS_SPARK)] * len(said)
    found = sorted(problem.reason for problem in obstacles(str(writer.table), snapshot, None))
    assert all(reason.startswith(f"{MISMATCH} {start}") for reason, start in zip(found, said, strict=True))
    writer.checkpoint(2, *STATE, add("a"))
    assert obstacles(str(writer.table), snapshot, 2) == ()
    writer.commit(3, info())
    assert stopping(log.sync(target, load(target)).snapshot()) == []


def test_a_checkpoint_with_lists_of_features_beside_other_versions_stops_spark(writer, log, target):
    writer.create(add("a"))
    point = writer.checkpoint(0, {"protocol": PROTOCOL["protocol"] | EMPTY}, metadata(), add("a"))
    snapshot = log.sync(target).snapshot()
    assert set(stopping(snapshot)) == {(point.name, ProblemCode.STOPS_SPARK)}
    assert {problem.file for problem in obstacles(str(writer.table), snapshot, 0)} == {point.name}
