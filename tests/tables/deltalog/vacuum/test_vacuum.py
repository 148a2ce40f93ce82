"""What a vacuum needs of a log: keys of files, tombstones, hidden names, and the versions that lose files."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

from tables.deltalog.replay.log import open_log
from tables.deltalog.vacuum.hidden import has_iceberg, is_hidden
from tables.deltalog.vacuum.keys import KEY, below, key, keys_of, with_parents
from tables.deltalog.vacuum.removals import FileChanges, read_changes, vector_of
from tables.deltalog.vacuum.versions import dying, joined, within
from tables.storage.store import StorageError

VECTOR = "ab" + "0" * 20


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("p=1/a.parquet", "p=1/a.parquet"), ("a%20b.parquet", "a b.parquet"), ("p=a%253Ab/x", "p=a%3Ab/x"),
        ("./a", "a"), ("a//b", "a/b"), ("/lake/t/a", "a"), ("file:/lake/t/a", "a"), ("file:///lake/t/p=1/a", "p=1/a"),
        ("/lake/other/a", None), ("file:///lake/tt/a", None), ("s3://b/t/a", None), ("hdfs://n/lake/t/a", None),
    ],
)  # fmt: skip
def test_a_path_of_the_log_as_the_file_system_has_it(path, found):
    assert below(path, "/lake/t") == found


@pytest.mark.parametrize("path", ["s3://b/t/a", "s3a://b/t/a", "s3a://b/t/./a"])
def test_the_spellings_of_a_bucket_are_one(path):
    assert below(path, "s3://b/t") == "a"


def test_keys_of_a_million_paths_would_differ():
    paths = [f"p={n % 7}/part-{n}.parquet" for n in range(20_000)]
    assert len(set(keys_of(paths).to_pylist())) == len(paths)
    assert keys_of(["a"]).to_pylist() == [key("a")]
    assert len(keys_of([])) == 0


def test_directories_with_those_above_them():
    assert list(with_parents("a/b/c")) == ["a", "a/b", "a/b/c"]
    assert list(with_parents("")) == []


@pytest.mark.parametrize(
    ("name", "columns", "hidden"),
    [
        ("_delta_log", [], True), (".hidden", [], True), ("_x", [], True), ("_change_data", [], False),
        ("_delta_index", [], False), ("_p=1", ["_p"], False), ("_p=1", ["p"], True), ("_p", ["_p"], True), (".p=1", [".p"], False),
        ("part-0.parquet", [], False), ("metadata", [], False),
    ],
)  # fmt: skip
def test_hidden_names_stay(name, columns, hidden):
    assert is_hidden(name, columns) is hidden


def test_icebergs_metadata_stays_where_the_table_keeps_it():
    assert has_iceberg({"delta.universalFormat.enabledFormats": "hudi, iceberg"})
    assert not has_iceberg({})
    assert is_hidden("metadata", [], iceberg=True)


@pytest.mark.parametrize(
    "vector",
    [None, "u", {}, {"storageType": "i", "pathOrInlineDv": VECTOR}, {"storageType": "u", "pathOrInlineDv": "x"}],
)
def test_a_vector_without_a_file_of_its_own_has_none(vector):
    assert vector_of(vector) is None


def test_a_vectors_file_lies_beside_the_data():
    path, size = vector_of({"storageType": "u", "pathOrInlineDv": VECTOR, "sizeInBytes": 34}) or ("", 0)
    assert path.startswith("ab/deletion_vector_")
    assert size == 34


# Versions


def history(seed: int) -> tuple[list[set[str]], FileChanges, set[str]]:
    """A table's versions as sets of files, the changes after version 0, and some files that the newest version doesn't need."""
    chance = random.Random(seed)
    live, versions, changes = {"a", "b"}, [], FileChanges(-1)
    versions.append(set(live))
    for version in range(1, chance.randint(2, 9)):
        for name in "abcdef":
            if name in live and chance.random() < 0.3:
                live.discard(name)
                changes.removed.add(name, 0, 1, version)
                if chance.random() < 0.3:  # rewritten in its place, as by a deletion vector
                    live.add(name)
                    changes.added.add(name, 0, 1, version)
            elif name not in live and chance.random() < 0.3:
                live.add(name)
                changes.added.add(name, 0, 1, version)
        versions.append(set(live))
    gone = {name for name in "abcdef" if name not in live and chance.random() < 0.7}
    return versions, changes, gone


@pytest.mark.parametrize("seed", range(300))
def test_versions_die_that_need_a_file_that_goes(seed):
    versions, changes, gone = history(seed)
    head = len(versions) - 1
    spans = dying(changes, keys_of(sorted(gone)), 0, head)
    found = {version for first, last in spans for version in range(first, last + 1)}
    assert found == {version for version, files in enumerate(versions[:head]) if files & gone}


def test_spans_are_joined_and_cut():
    assert joined([(1, 2), (3, 4), (6, 6)]) == [(1, 4), (6, 6)]
    assert within([(0, 10)], [(2, 3), (9, 12)]) == [(2, 3), (9, 10)]
    assert within([(0, 1)], [(2, 3)]) == []


def test_without_files_that_go_nothing_dies():
    assert dying(history(1)[1], pa.array([], KEY), 0, 5) == []


# Tombstones


def written(path: Path, commits: list[list[dict]]) -> Path:
    (path / "_delta_log").mkdir(parents=True)
    for version, actions in enumerate(commits):
        text = "\n".join(map(json.dumps, actions))
        (path / "_delta_log" / f"{version:020d}.json").write_text(text)
    return path


def read(path: Path, **more) -> FileChanges:
    log = open_log(str(path))
    listing = log.listing()
    return read_changes(log.storage, listing, str(path), until=listing.head or 0, additions_after=more.get("after"))


def test_tombstones_of_commits_are_read_with_their_vectors(tmp_path):
    vector = {"storageType": "u", "pathOrInlineDv": VECTOR, "sizeInBytes": 34}
    path = written(
        tmp_path / "t",
        [
            [{"add": {"path": "a", "size": 5}}, {"add": {"path": "b%20c", "size": 6}}],
            [{"remove": {"path": "b%20c", "deletionTimestamp": 7, "size": 6, "deletionVector": vector}}],
            [{"cdc": {"path": "_change_data/x", "size": 1}}, {"remove": {"path": "/elsewhere/x"}}],
        ],
    )
    changes = read(path, after=-1)
    rows = changes.removed.table().to_pylist()
    assert [(row["key"] == key("b c"), row["time"], row["size"], row["version"]) for row in rows] == [
        (True, 7, 6, 1),
        (False, 7, 34, 1),
    ]
    assert len(changes.added.keys) == 2
    assert changes.feed.keys.tolist() == [key("_change_data/x")]
    assert read(path).added.keys.tolist() == []


def test_a_log_that_cannot_be_read_whole_is_no_basis(tmp_path):
    path = written(tmp_path / "t", [[], [{"remove": {"path": "a"}}], []])
    (path / "_delta_log" / f"{1:020d}.json").write_text('{"remove": {"path"')
    with pytest.raises(StorageError, match="not JSON"):
        read(path)
    (path / "_delta_log" / f"{1:020d}.json").unlink()
    with pytest.raises(StorageError, match="missing"):
        read(path)
