"""The same log through obstore: nothing above the storage knows the difference."""

import pytest

from tables.deltalog import DeltaLog, LocalStorage, NoTable, StorageError, open_log
from tables.deltalog.object_storage import ObjectStorage
from tests.tables.deltalog.conftest import paths
from tests.tables.deltalog.writing import PROTOCOL, add, info, metadata, remove


@pytest.fixture
def remote(writer) -> DeltaLog:
    return DeltaLog(ObjectStorage(writer.table.as_uri()))


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
    log = DeltaLog(ObjectStorage((tmp_path / "empty").as_uri()))
    assert not log.exists()
    with pytest.raises(NoTable):
        log.sync(target)


def test_a_missing_object_is_told_from_an_unreadable_one(writer):
    for storage in (ObjectStorage(writer.table.as_uri()), LocalStorage(str(writer.table))):
        with pytest.raises(StorageError) as raised:
            list(storage.chunks("_delta_log/nothing.json", 1))
        assert raised.value.missing
        with pytest.raises(StorageError):
            storage.open("_delta_log/nothing.parquet")
        assert storage.entry("_delta_log/nothing.json") is None


def test_long_files_come_in_pieces(writer):
    content = bytes(range(256)) * 10_000
    writer.raw(0, content)
    for storage in (ObjectStorage(writer.table.as_uri()), LocalStorage(str(writer.table))):
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
