from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tables.deltalog.read.problems import ProblemCode
from tables.deltalog.replay.log import NoTable, open_log
from tables.deltalog.state.snapshot import load
from tables.storage.local.files import LocalStorage
from tests.tables.deltalog.conftest import paths
from tests.tables.deltalog.writing import PROTOCOL, SCHEMA, add, info, metadata, remove, vector


def sync(log, target, base=None, since=None):
    run = log.sync(target, base, since)
    return [commit.version for commit in run.commits()], run.snapshot()


def test_a_table_without_a_commit_is_no_table(writer, log, target):
    (writer.log / "_last_checkpoint").write_text("{}")
    assert not log.exists()
    assert log.head_version() is None
    with pytest.raises(NoTable):
        log.sync(target)


def test_a_missing_directory_is_no_table(tmp_path):
    log = open_log(str(tmp_path / "nothing"))
    assert not log.exists()
    with pytest.raises(NoTable):
        log.snapshot()


def test_the_first_sync_reads_everything(writer, log, target):
    writer.create(add("a"), add("b", rows=5, size=50), delta__appendOnly="true")
    writer.commit(1, info(), remove("a"), add("c"))
    versions, snapshot = sync(log, target)
    assert versions == [0, 1]
    assert paths(snapshot) == ["b", "c"]
    assert (snapshot.num_files, snapshot.size_bytes, snapshot.num_records) == (2, 150, 15)
    assert snapshot.metadata.configuration == {"delta.appendOnly": "true"}
    assert snapshot.protocol.min_writer_version == 2
    assert snapshot.features == ("appendOnly", "invariants")
    assert snapshot.complete
    assert snapshot.problems == ()


class Watched(LocalStorage):
    """Notes what is read."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.read: list[str] = []

    def chunks(self, path: str, size: int) -> Iterator[bytes]:
        self.read.append(path)
        return super().chunks(path, size)


def test_the_next_sync_reads_only_what_is_new(writer, target):
    storage = Watched(str(writer.table))
    log = open_log("", storage)
    writer.create(add("a"), add("b"))
    sync(log, target)
    writer.commit(1, info(), remove("a"), add("c"))
    storage.read.clear()
    versions, snapshot = sync(log, target, load(target))
    assert versions == [1]
    assert paths(snapshot) == ["b", "c"]
    assert storage.read == [f"_delta_log/{writer.file(1).name}"]


def test_a_sync_without_news_changes_nothing(writer, log, target):
    writer.create(add("a"))
    sync(log, target)
    before = target.stat().st_mtime_ns
    versions, snapshot = sync(log, target, load(target))
    assert versions == []
    assert snapshot.version == 0
    assert target.stat().st_mtime_ns == before


def test_many_small_syncs_end_where_one_does(writer, log, target, tmp_path):
    writer.create(add("f0", partition={"day": "1"}), partition=["day"])
    _, base = sync(log, target)
    for version in range(1, 30):
        gone = [remove(f"f{version - 3}")] if version > 3 else []
        writer.commit(version, info(), add(f"f{version}", partition={"day": str(version % 3)}), *gone)
        versions, base = sync(log, target, base)
        assert versions == [version]
    _, whole = sync(log, tmp_path / "whole.arrow")
    assert whole.files().sort_by("path").equals(base.files().sort_by("path"))
    assert whole.state == base.state


NO_SCHEMA = metadata(partition=["day"])
del NO_SCHEMA["metaData"]["schemaString"]
LACKING = {
    "no schema": ([PROTOCOL, NO_SCHEMA], [metadata(partition=["day"])], "no schema"),
    "no protocol": ([metadata(partition=["day"])], [PROTOCOL], "no readable protocol"),
    "no metadata": ([PROTOCOL], [metadata(partition=["day"])], "no readable metaData"),
    "only commitInfo": ([], [PROTOCOL, metadata(partition=["day"])], "no readable protocol"),
}


@pytest.mark.parametrize("lacking", LACKING)
def test_two_syncs_say_the_same_as_one_where_a_later_commit_brings_what_the_first_lacks(
    writer, log, target, tmp_path, lacking
):
    first, second, reason = LACKING[lacking]
    writer.commit(0, info(), *first, add("a", partition={"day": "1"}))
    _, base = sync(log, target)
    assert not base.complete
    assert any(reason in problem.reason for problem in base.problems)
    writer.commit(1, info(), *second, add("b", partition={"day": "2"}))
    versions, snapshot = sync(log, target, load(target), since=0)
    _, whole = sync(log, tmp_path / "whole.arrow")
    assert versions == [1]
    assert whole.complete
    assert (snapshot.complete, snapshot.problems, snapshot.state) == (True, whole.problems, whole.state)
    assert snapshot.files().equals(whole.files())


def test_what_is_still_lacking_after_another_sync_has_a_problem_that_says_so(writer, log, target):
    writer.commit(0, info(), metadata(), add("a"))
    _, base = sync(log, target)
    writer.commit(1, info(), add("b"))
    _, snapshot = sync(log, target, base)
    assert not snapshot.complete
    assert [problem.reason for problem in snapshot.problems] == ["the log holds no readable protocol action"]


def test_a_base_without_a_protocol_is_kept_while_nothing_is_new(writer, target):
    storage = Watched(str(writer.table))
    log = open_log("", storage)
    writer.commit(0, info(), metadata(), add("a"))
    sync(log, target)
    storage.read.clear()
    assert not sync(log, target, load(target))[1].complete
    assert storage.read == []


def test_a_deletion_vector_replaces_the_file_it_marks(writer, log, target):
    writer.create(add("a", rows=10))
    writer.commit(1, info(), remove("a"), add("a", rows=10, deletionVector=vector("v1", 4)))
    _, base = sync(log, target)
    assert (base.num_files, base.num_records) == (1, 6)
    old = vector("v1", 4)
    writer.commit(
        2, info(), remove("a", deletionVector=old), add("a", rows=10, deletionVector=vector("v1", 7, offset=50))
    )
    _, snapshot = sync(log, target, base)
    assert (snapshot.num_files, snapshot.num_records) == (1, 3)
    (row,) = snapshot.files().column("deletion_vector").to_pylist()
    assert row["cardinality"] == 7


def test_a_file_can_come_back(writer, log, target):
    writer.create(add("a"))
    writer.commit(1, info(), remove("a"))
    _, base = sync(log, target)
    assert base.num_files == 0
    writer.commit(2, info("RESTORE"), add("a"))
    assert paths(sync(log, target, base)[1]) == ["a"]


@pytest.mark.parametrize(
    ("added", "removed", "live"),
    [
        ("/t/a", "file:/t/a", False),
        ("file:/t/a", "file:///t/a", False),
        ("/t//a", "FILE:/t/x/../a", False),
        ("/t/a%20b", "file:/t/a%20b", False),
        ("/t/%C3%A9", "file:/t/\u00e9", False),
        ("./p=1/a", "p=1/a", False),
        ("caf%c3%a9", "caf%C3%A9", False),
        ("s3://b//a", "s3://b/a", False),
        ("%41", "A", True),
        ("a", "file:/t/a", True),
        ("s3://b/a", "s3://c/a", True),
    ],
)
def test_spellings_of_one_path_are_one_file(writer, log, target, added, removed, live):
    """In one replay, over a saved snapshot, and over a checkpoint."""
    writer.create(add(added))
    _, base = sync(log, target)
    writer.commit(1, info(), remove(removed))
    assert paths(sync(log, target, base)[1]) == ([added] if live else [])
    assert paths(log.snapshot(1, target)) == ([added] if live else [])
    writer.checkpoint(0, PROTOCOL, metadata(), add(added))
    assert paths(log.snapshot(1, target)) == ([added] if live else [])


def test_partition_values_are_columns(writer, log, target):
    texts = ["x", "", None, "__HIVE_DEFAULT_PARTITION__"]
    writer.create(*(add(f"f{at}", partition={"day": text}) for at, text in enumerate(texts)), partition=["day"])
    _, snapshot = sync(log, target)
    assert snapshot.files().sort_by("path").column("partition.day").to_pylist() == texts


def test_partition_values_are_found_by_their_physical_name(writer, log, target):
    schema = SCHEMA.replace(
        '"name": "day", "type": "string", "nullable": true, "metadata": {}',
        '"name": "day", "type": "string", "nullable": true, "metadata": {"delta.columnMapping.physicalName": "col-9"}',
    )
    mapped = metadata(schema=schema, partition=["day"], delta__columnMapping__mode="name")
    writer.commit(0, info(), PROTOCOL, mapped, add("a", partition={"col-9": "x"}))
    _, snapshot = sync(log, target)
    assert snapshot.physical_partition_columns == ("col-9",)
    assert snapshot.files().column("partition.col-9").to_pylist() == ["x"]


def test_a_table_partitioned_anew_keeps_its_later_files(writer, log, target):
    writer.create(add("a", partition={"day": "x"}), partition=["day"])
    _, base = sync(log, target)
    writer.commit(1, info(), metadata(partition=["id"]), remove("a"), add("b", partition={"id": "1"}))
    _, snapshot = sync(log, target, base)
    assert snapshot.files().column("partition.id").to_pylist() == ["1"]


def test_transactions_and_domains_are_kept_and_ended(writer, log, target):
    clustering = {
        "domain": "delta.clustering",
        "configuration": '{"clusteringColumns":[["a","b"],["c"]]}',
        "removed": False,
    }
    writer.create({"txn": {"appId": "app", "version": 1}}, {"domainMetadata": clustering})
    _, base = sync(log, target)
    assert base.set_transactions["app"].version == 1
    assert base.clustering_paths == (("a", "b"), ("c",))
    writer.commit(
        1, info(), {"txn": {"appId": "app", "version": 2}}, {"domainMetadata": clustering | {"removed": True}}
    )
    _, snapshot = sync(log, target, load(target))
    assert snapshot.set_transactions["app"].version == 2
    assert snapshot.clustering_columns == ()


def test_a_log_replaced_by_another_is_read_afresh(writer, log, target):
    writer.create(add("a"))
    _, base = sync(log, target)
    writer.commit(0, info(), PROTOCOL, metadata("table-2"), add("z"), modified_ms=1_800_000_000_000)
    writer.commit(1, info())
    run = log.sync(target, base)
    assert run.fresh
    assert [commit.version for commit in run.commits()] == [0, 1]
    assert run.snapshot().metadata.id == "table-2"
    assert paths(run.snapshot()) == ["z"]


def test_a_shorter_log_is_another_log(writer, log, target):
    writer.create(add("a"))
    writer.commit(1, info(), add("b"))
    _, base = sync(log, target)
    writer.file(1).unlink()
    run = log.sync(target, base)
    assert run.fresh
    assert paths(run.snapshot()) == ["a"]


def test_without_the_saved_files_history_goes_on_where_it_was(writer, log, target):
    writer.create(add("a"))
    writer.commit(1, info(), add("b"))
    versions, snapshot = sync(log, target, None, since=0)
    assert versions == [1]
    assert paths(snapshot) == ["a", "b"]


def test_times_go_on_rising_across_syncs(writer, log, target):
    start = 1_700_000_000_000
    writer.commit(0, info(), PROTOCOL, metadata(), modified_ms=start)
    _, base = sync(log, target)
    writer.commit(1, info(), modified_ms=start - 1000)
    (commit,) = log.sync(target, base).commits()
    assert (commit.committed_at - base.committed_at).total_seconds() == 0.001


def test_what_a_gap_hid_is_found_again_in_a_newer_checkpoint(writer, log, target):
    writer.create(add("a"))
    writer.commit(2, info(), add("c"))
    _, base = sync(log, target)
    assert not base.complete
    assert [problem.code for problem in base.problems] == [ProblemCode.MISSING]
    writer.commit(3, info())
    writer.checkpoint(3, PROTOCOL, metadata(), add("a"), add("b"), add("c"))
    versions, snapshot = sync(log, target, base)
    assert versions == [3]
    assert snapshot.complete
    assert paths(snapshot) == ["a", "b", "c"]


def test_a_mended_commit_is_read_again(writer, log, target):
    writer.create(add("a"))
    writer.raw(1, b'{"add":{"path":"b","si')
    writer.commit(2, info(), add("c"))
    _, base = sync(log, target)
    assert not base.complete
    writer.commit(1, info(), add("b"), modified_ms=1_800_000_000_000)
    run = log.sync(target, load(target), 2)
    assert run.fresh
    assert [commit.version for commit in run.commits()] == [1, 2]
    assert paths(run.snapshot()) == ["a", "b", "c"]
    assert run.snapshot().complete
    assert run.snapshot().problems == ()


def test_a_commit_that_appears_where_one_was_missing_is_read(writer, log, target):
    writer.create(add("a"))
    writer.commit(2, info(), add("c"))
    _, base = sync(log, target)
    writer.commit(3, info(), add("d"))
    _, base = sync(log, target, base)
    assert not base.complete
    writer.commit(1, info(), add("b"))
    versions, snapshot = sync(log, target, load(target))
    assert versions == [1, 2, 3]
    assert paths(snapshot) == ["a", "b", "c", "d"]
    assert snapshot.complete


@pytest.mark.parametrize("appears", [1, 5, 99])
def test_any_commit_that_appears_in_a_run_of_missing_ones_is_read(writer, log, target, appears):
    writer.create(add("a"))
    writer.commit(100, info(), add("z"))
    _, base = sync(log, target)
    writer.commit(101, info())
    versions, base = sync(log, target, base)
    assert versions == [101]
    writer.commit(appears, info(), add("b"))
    versions, snapshot = sync(log, target, load(target))
    assert versions == [appears, 100, 101]
    assert paths(snapshot) == ["a", "b", "z"]
    assert not snapshot.complete


def test_what_stays_broken_is_not_read_again(writer, log, target):
    writer.create(add("a"))
    writer.raw(1, b"rubbish")
    sync(log, target)
    writer.commit(2, info(), add("c"))
    run = log.sync(target, load(target))
    assert not run.fresh
    assert [commit.version for commit in run.commits()] == [2]
    assert [problem.file for problem in run.snapshot().problems] == [writer.file(1).name]
    assert not run.snapshot().complete


def test_a_checksum_counts_for_its_own_version_only(writer, log, target):
    writer.create(add("a"))
    (writer.log / f"{0:020d}.crc").write_text('{"numFiles":7}')
    _, base = sync(log, target)
    assert [problem.code for problem in base.problems] == [ProblemCode.DISAGREES]
    writer.commit(1, info(), add("b"))
    (writer.log / f"{1:020d}.crc").write_text('{"numFiles":2}')
    assert sync(log, target, base)[1].problems == ()


def test_the_newest_of_too_many_problems_are_named(writer, log, target):
    writer.create(add("a"))
    for version in range(1, 61):
        writer.raw(version, b"rubbish")
    _, base = sync(log, target)
    assert base.problems[0].file == writer.file(60).name
    assert "11 more" not in base.problems[-1].reason
    assert base.problems[-1].unlisted == 10
    writer.raw(61, b"rubbish")
    _, snapshot = sync(log, target, load(target))
    assert snapshot.problems[0].file == writer.file(61).name
    assert len(snapshot.problems) == 51
    assert snapshot.problems[-1].reason == "11 more problems of this log are not listed"


def test_a_broken_checkpoint_is_passed_over_however_much_else_is_broken(writer, log, target):
    writer.create(add("a"))
    for version in range(1, 61):
        writer.raw(version, b"rubbish")
    sync(log, target)
    writer.v2(60, PROTOCOL, metadata(), add("z"), suffix="json")
    with open(next(writer.log.glob("*.checkpoint.*")), "a") as file:
        file.write("rubbish\n")
    assert paths(sync(log, target)[1]) == ["a"]


@pytest.mark.parametrize("mark", ["x", "ü"])
def test_a_file_with_a_very_long_name_is_told_apart_and_removed(writer, log, target, mark):
    one, two = mark * 5000 + "1", mark * 5000 + "2"
    writer.create(add(one), add(two), add(two, deletionVector=vector("v" * 5000, 1)))
    _, base = sync(log, target)
    assert base.num_files == 3
    writer.commit(1, info(), remove(one), remove(two, deletionVector=vector("v" * 5000, 1)))
    assert paths(sync(log, target, load(target))[1]) == [two]


def test_too_much_text_of_domains_is_said_and_not_kept(writer, log, target, monkeypatch):
    monkeypatch.setattr("tables.deltalog.state.state.MOST_BYTES", 10_000)
    domain = {"domain": "a", "configuration": "x" * 6000, "removed": False}
    writer.create({"domainMetadata": domain})
    writer.commit(1, info(), {"domainMetadata": domain | {"domain": "b"}}, {"txn": {"appId": "app", "version": 1}})
    _, snapshot = sync(log, target)
    assert list(snapshot.domain_metadata) == ["a"]
    assert list(snapshot.set_transactions) == ["app"]
    assert [problem.code for problem in snapshot.problems] == [ProblemCode.MORE]
    writer.commit(
        2, info(), {"domainMetadata": domain | {"removed": True}}, {"domainMetadata": domain | {"domain": "c"}}
    )
    _, snapshot = sync(log, target, load(target))
    assert list(snapshot.domain_metadata) == ["c"]
    assert [problem.code for problem in snapshot.problems] == [ProblemCode.MORE]
    assert snapshot.complete


def test_an_abandoned_sync_leaves_nothing_behind(writer, log, target, monkeypatch):
    monkeypatch.setattr("tables.deltalog.state.tail._BATCH", 1)
    writer.create(add("a"), add("b"))
    writer.commit(1, info())
    commits = log.sync(target).commits()
    next(commits)
    assert [p.name for p in target.parent.glob("files*")] == ["files.arrow.tail"]
    commits.close()
    assert list(target.parent.glob("files*")) == []


def test_a_spilled_tail_gives_the_same_files(writer, log, target, monkeypatch):
    monkeypatch.setattr("tables.deltalog.state.tail._BATCH", 2)
    writer.create(*(add(f"f{n}") for n in range(7)))
    writer.commit(1, info(), remove("f0"), remove("f6"), add("g"))
    assert paths(sync(log, target)[1]) == ["f1", "f2", "f3", "f4", "f5", "g"]


def test_the_state_alone_needs_no_files(writer, log):
    writer.create(add("a"))
    snapshot = log.snapshot()
    assert snapshot.metadata is not None
    assert snapshot.num_files is None
    with pytest.raises(ValueError, match="without its files"):
        snapshot.files()


def test_any_version_can_be_rebuilt(writer, log, target):
    writer.create(add("a"))
    writer.commit(1, info(), remove("a"), add("b"))
    writer.commit(2, info(), add("c"))
    assert paths(log.snapshot(0, target)) == ["a"]
    assert paths(log.snapshot(1, target)) == ["b"]
    with pytest.raises(NoTable):
        log.snapshot(3)


def test_another_file_is_no_saved_snapshot(tmp_path: Path):
    for content in (b"", b"ARROW1\0\0 and then rubbish"):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(ValueError, match="not a saved snapshot"):
            load(tmp_path / "x")
    with pa.OSFile(str(tmp_path / "y"), "wb") as sink, pa.ipc.new_file(sink, pa.schema([("a", pa.int8())])):
        pass
    with pytest.raises(ValueError, match="not a saved snapshot"):
        load(tmp_path / "y")
