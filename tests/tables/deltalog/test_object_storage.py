"""The same log through obstore: nothing above the storage knows the difference."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import obstore
import pytest
from obstore.exceptions import GenericError
from obstore.store import MemoryStore, from_url

from tables.deltalog.read.problems import ProblemCode
from tables.deltalog.read.readahead import LARGEST, reading_ahead
from tables.deltalog.replay.log import DeltaLog, NoTable, open_log
from tables.deltalog.state.snapshot import load
from tables.storage.local.files import LocalStorage
from tables.storage.objects.files import ObjectStorage
from tables.storage.store import Entry, StorageError
from tests.tables.deltalog.conftest import paths
from tests.tables.deltalog.writing import PROTOCOL, LogWriter, add, info, metadata, remove


@pytest.fixture
def remote(writer) -> DeltaLog:
    return DeltaLog(ObjectStorage.of(from_url(writer.table.as_uri())))


def test_both_storages_give_the_same_table(writer, log, remote, tmp_path):
    writer.create(add("a", partition={"day": "1"}), partition=["day"])
    for version in range(1, 6):
        writer.commit(version, info(), add(f"f{version}", partition={"day": "2"}))
    writer.checkpoint(
        5, PROTOCOL, metadata(partition=["day"]), *(add(f"g{n}", partition={"day": "3"}) for n in range(7))
    )
    writer.commit(6, info(), remove("g0"), add("h", partition={"day": "4"}))
    local, other = log.sync(tmp_path / "local.arrow"), remote.sync(tmp_path / "remote.arrow")
    assert list(local.commits()) == list(other.commits())
    assert local.snapshot().files().equals(other.snapshot().files())
    assert paths(other.snapshot()) == [*(f"g{n}" for n in range(1, 7)), "h"]


def test_sidecars_are_found_remotely(writer, remote, target):
    writer.v2(3, PROTOCOL, metadata(), writer.sidecar("one.parquet", add("a"), add("b")))
    assert paths(remote.snapshot(target=target)) == ["a", "b"]


def test_only_names_from_a_version_on_are_asked_for(writer, remote):
    for version in range(5):
        writer.commit(version, info())
    assert remote.head_version() == 4
    assert remote.head_version(since=3) == 4
    assert list(remote.listing(since=3).commits) == [3, 4]


def test_a_table_that_is_not_there_is_no_table(tmp_path, target):
    (tmp_path / "empty").mkdir()
    log = DeltaLog(ObjectStorage.of(from_url((tmp_path / "empty").as_uri())))
    assert not log.exists()
    with pytest.raises(NoTable):
        log.sync(target)


def test_a_missing_object_is_told_from_an_unreadable_one(writer):
    for storage in (ObjectStorage.of(from_url(writer.table.as_uri())), LocalStorage(str(writer.table))):
        with pytest.raises(StorageError) as raised:
            list(storage.chunks("_delta_log/nothing.json", 1))
        assert raised.value.missing
        with pytest.raises(StorageError):
            storage.open("_delta_log/nothing.parquet")
        assert storage.entry("_delta_log/nothing.json") is None


def test_long_files_come_in_pieces(writer):
    content = bytes(range(256)) * 10_000
    writer.raw(0, content)
    for storage in (ObjectStorage.of(from_url(writer.table.as_uri())), LocalStorage(str(writer.table))):
        pieces = list(storage.chunks(f"_delta_log/{writer.file(0).name}", 10))
        assert b"".join(pieces) == content
        assert max(map(len, pieces)) <= 1 << 20


@pytest.mark.parametrize("location", ["file:{}", "file://{}", "{}", "{}/"])
def test_a_location_is_a_path_or_a_uri(writer, location):
    writer.create()
    assert open_log(location.format(writer.table)).exists()


def test_a_relative_location_is_refused():
    with pytest.raises(ValueError, match="neither an absolute path nor a URI"):
        open_log("lake/orders")


def test_percent_signs_in_a_path_are_literal(tmp_path):
    from tests.tables.deltalog.writing import LogWriter

    LogWriter(tmp_path / "50% off%20x").create()
    assert open_log(str(tmp_path / "50% off%20x")).exists()


KEY = "lake/a table"


@pytest.fixture
def store() -> MemoryStore:
    """An object store without a file system; `upload` brings what the writer has written."""
    return MemoryStore()


def upload(store: MemoryStore, writer: LogWriter) -> None:
    for file in sorted(writer.log.rglob("*")):
        if file.is_file():
            obstore.put(store, f"{KEY}/{file.relative_to(writer.table)}", file.read_bytes())


class Watched(ObjectStorage):
    """Notes what is listed and read, and how many reads run at once."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.read: list[str] = []
        self.most = self.now = 0
        self._lock = threading.Lock()

    def entries(self, folder: str, after: str = "") -> Iterator[Entry]:
        self.asked.append(after)
        return super().entries(folder, after)

    def chunks(self, path: str, size: int) -> Iterator[bytes]:
        self.read.append(path.rsplit("/", 1)[-1])
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.002)
        yield from super().chunks(path, size)
        with self._lock:
            self.now -= 1


def watched(store: MemoryStore) -> Watched:
    found = Watched()
    found._store, found._prefix = store, f"{KEY}/"
    return found


def test_a_table_in_a_store_of_keys_is_synced_and_only_what_is_new_is_read(writer, store, target):
    writer.create(add("a"), add("b"))
    for version in range(1, 4):
        writer.commit(version, info(), add(f"c{version}"))
    upload(store, writer)
    base = DeltaLog(ObjectStorage.of(store, KEY)).sync(target).snapshot()
    assert paths(base) == ["a", "b", "c1", "c2", "c3"]
    writer.commit(4, info(), remove("a"))
    obstore.put(store, f"{KEY}/_delta_log/{writer.file(4).name}", writer.file(4).read_bytes())
    storage = watched(store)
    run = open_log("", storage).sync(target, load(target))
    assert [commit.version for commit in run.commits()] == [4]
    assert paths(run.snapshot()) == ["b", "c1", "c2", "c3"]
    assert storage.read == [writer.file(4).name]
    assert storage.asked == [f"{3:020d}"]


def test_a_prefix_is_a_folder_and_not_the_beginning_of_a_name(writer, store, target):
    writer.create(add("a"))
    upload(store, writer)
    obstore.put(store, f"{KEY} two/_delta_log/{1:020d}.json", b"{}")
    log = DeltaLog(ObjectStorage.of(store, f"/{KEY}/"))
    assert log.head_version() == 0
    assert not DeltaLog(ObjectStorage.of(store, "lake/a")).exists()
    assert not DeltaLog(ObjectStorage.of(store)).exists()


@pytest.mark.parametrize("kind", ["classic", "V2"])
def test_checkpoints_are_read_from_a_store_of_keys(writer, store, target, kind):
    state = (PROTOCOL, metadata())
    if kind == "classic":
        writer.checkpoint(3, *state, add("a"), add("b"))
    else:
        writer.v2(3, *state, writer.sidecar("one.parquet", add("a"), add("b")))
    writer.commit(4, info(), remove("a"))
    upload(store, writer)
    snapshot = DeltaLog(ObjectStorage.of(store, KEY)).sync(target).snapshot()
    assert paths(snapshot) == ["b"]
    assert snapshot.problems == ()


def test_a_key_that_went_after_the_listing_is_said(writer, store, target):
    writer.create(add("a"))
    writer.commit(1, info(), add("b"))
    upload(store, writer)
    run = DeltaLog(ObjectStorage.of(store, KEY)).sync(target)
    obstore.delete(store, f"{KEY}/_delta_log/{writer.file(1).name}")
    assert paths(run.snapshot()) == ["a"]
    assert [(problem.file, problem.code) for problem in run.snapshot().problems] == [
        (writer.file(1).name, ProblemCode.MISSING)
    ]


def test_a_store_that_fails_in_the_middle_of_a_checkpoint_leads_to_the_commits(writer, store, target, monkeypatch):
    writer.create(add("a"))
    writer.commit(1, info(), *(add(f"b{n}") for n in range(200)))
    writer.checkpoint(1, PROTOCOL, metadata(), add("a"), *(add(f"b{n}") for n in range(200)))
    upload(store, writer)
    real = obstore.open_reader

    class Failing:
        """A reader whose connection breaks at the third read."""

        def __init__(self, *asked: Any) -> None:
            self._reader = real(*asked)
            self._reads = 0

        def read(self, size: int) -> Any:
            self._reads += 1
            if self._reads > 2:
                raise GenericError("the connection was reset")
            return self._reader.read(min(size, 2000))

        def __getattr__(self, name: str) -> Any:
            return getattr(self._reader, name)

    monkeypatch.setattr(obstore, "open_reader", Failing)
    snapshot = DeltaLog(ObjectStorage.of(store, KEY)).sync(target).snapshot()
    assert snapshot.num_files == 201
    assert [problem.code for problem in snapshot.problems] == [ProblemCode.UNREADABLE]


def test_commits_are_fetched_ahead_and_come_in_order(writer, store, target):
    writer.create(add("a"))
    for version in range(1, 60):
        writer.commit(version, info(f"OP {version}"), add(f"f{version}"))
    upload(store, writer)
    storage = watched(store)
    commits = list(DeltaLog(storage).sync(target).commits())
    assert [commit.operation for commit in commits[1:]] == [f"OP {version}" for version in range(1, 60)]
    assert sorted(storage.read) == [writer.file(version).name for version in range(60)]
    assert 1 < storage.most <= storage.ahead


def test_a_large_commit_is_not_held_whole(writer, store, target):
    writer.create(add("a"))
    writer.commit(1, info(userMetadata="x" * LARGEST), add("b"))
    writer.commit(2, info(), add("c"))
    upload(store, writer)
    ahead: list[bytes] = []
    storage = ObjectStorage.of(store, KEY)
    listing = DeltaLog(storage).listing()
    with reading_ahead(storage, listing.commits.values()) as fetched:
        for entry in listing.commits.values():
            ahead += fetched.chunks(f"_delta_log/{entry.name}", entry.size)
    assert max(map(len, ahead)) <= LARGEST
    assert b"".join(ahead) == b"".join(writer.file(version).read_bytes() for version in range(3))


def test_reading_that_ends_early_ends_its_fetches(writer, store, target):
    writer.create()
    for version in range(1, 40):
        writer.commit(version, info())
    upload(store, writer)
    storage = watched(store)
    commits = DeltaLog(storage).sync(target).commits()
    next(commits)
    del commits
    assert len(storage.read) <= storage.ahead + 2
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("read-ahead")]
