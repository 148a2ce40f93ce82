"""A directory in an object store, as the driver and Spark's Python workers list and read it."""

import io
import pickle

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle

from jobs.commands.convert.spark.inspect import table_refusals
from jobs.engine import survey  # noqa: F401 - it says which modules travel by value
from jobs.engine.commits.metadata_log import metadata_log_files
from jobs.engine.walk import DELTA_LOG, WalkOrder, WorkShare, holds_table, scan
from tables.storage.objects import buckets as object_stores
from tables.storage.stores import reach_of, tree_at
from tables.storage.trees import DIRECTORY, FILE, Denied, Unreachable
from tests.jobs.engine.object_store import ObjectStore


@pytest.fixture(scope="module")
def made():
    return ObjectStore()


@pytest.fixture
def store(made, monkeypatch):
    monkeypatch.setattr(object_stores, "_lookup", made.lookup)
    return made


def parquet(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def names(place, relative=""):
    return sorted((name, kind) for name, kind, _ in place.entries(relative))


def test_directories_are_parts_of_keys_and_their_markers_are_no_files(store):
    for key in ("a/", "a/b/", "a/b/x.parquet", "a/empty/", "a/p=x%2Fy z/é.json", "ab/other"):
        store.put(key, b"" if key.endswith("/") else b"1\n2\n3")
    place = tree_at("s3://lake/a")
    assert names(place) == [("b", DIRECTORY), ("empty", DIRECTORY), ("p=x%2Fy z", DIRECTORY)]
    assert names(place, "b") == [("x.parquet", FILE)]
    assert names(place, "p=x%2Fy z") == [("é.json", FILE)]
    assert list(place.lines("p=x%2Fy z/é.json")) == [b"1\n", b"2\n", b"3"]
    assert (place.tail("b/x.parquet", 2), place.tail("b/x.parquet", 100)) == (b"\n3", b"1\n2\n3")
    with pytest.raises(FileNotFoundError):
        list(place.entries("nothing"))
    with pytest.raises(FileNotFoundError):
        place.tail("nothing", 8)
    with pytest.raises(FileNotFoundError):
        list(place.lines("nothing"))


def test_markers_of_the_first_hadoop_client_are_no_files_as_spark_lists_none(store):
    for key in ("old_$folder$", "old/p=1_$folder$", "old/p=1/", "old/p=2_$folder$", "old/p=1/deep_$folder$"):
        store.put(key, b"")
    for number in (1, 2):
        store.put(f"old/p={number}/a.parquet", parquet(id=[number]))
    store.put("old/p=2/a_$folder$.parquet", parquet(id=[3]))
    place = tree_at("s3://lake/old")
    assert names(place) == [("p=1", DIRECTORY), ("p=2", DIRECTORY)]
    assert names(place, "p=1") == [("a.parquet", FILE)]
    assert names(place, "p=2") == [("a.parquet", FILE), ("a_$folder$.parquet", FILE)]
    found = scan([WorkShare(tree="")], WalkOrder("s3://lake/old", True, (), reach=reach_of("s3://lake/old")))
    assert (found.total("files"), found.total("rows"), found.total("stray")) == (3, 3, 0)
    assert found.layouts.keys() == {("p",)}


def test_missing_objects_are_told_in_order_and_none_outside_counts_as_there(store):
    store.put("m/here", b"x")
    asked = ["s3://lake/m/gone", "s3://lake/m/here", "s3://lake/a/b/x.parquet", "s3://lake/m/here/below"]
    assert tree_at("s3://lake/m").missing(asked) == [asked[0], asked[2], asked[3]]


def test_a_task_on_another_machine_is_told_how_to_reach_the_bucket_and_shows_no_key(store):
    store.put("t/p=1/a.parquet", parquet(id=[1, 2]))
    store.put("t/p=2/b.parquet", parquet(id=[3]))
    store.put("t/stray.txt", b"no parquet")
    order = WalkOrder("s3://lake/t", True, (("p", "int"),), reach=reach_of("s3://lake/t"))
    assert store.key not in repr(order)
    object_stores.use(lambda _bucket: None)
    travelled = pickle.loads(cloudpickle.dumps(order))
    found = scan([WorkShare(tree="")], travelled)
    assert (found.total("files"), found.total("rows"), found.total("stray")) == (3, 3, 1)
    assert found.layouts.keys() == {("p",), ()}


def test_tasks_open_a_local_directory_by_its_path_alone(tmp_path):
    (tmp_path / "a").touch()
    assert names(reach_of(str(tmp_path)).opened(str(tmp_path)), "") == [("a", FILE)]


@pytest.mark.parametrize(("log", "is_table"), [("00000000000000000000.json", True), ("_last_checkpoint", False)])
def test_a_log_with_a_commit_makes_a_table(store, log, is_table):
    place = f"log-{is_table}"
    store.put(f"{place}/_delta_log/{log}", b"{}")
    assert holds_table(tree_at(f"s3://lake/{place}"), DELTA_LOG) is is_table


def test_a_directory_below_a_table_of_the_bucket_is_refused(store):
    store.put("up/_delta_log/00000000000000000000.json", b"{}")
    (refusal,) = table_refusals("s3://lake/up/day=1/more")
    assert (refusal.code, refusal.place) == ("inside_table", "s3://lake/up")
    assert table_refusals("s3://lake/beside/day=1") == []


def test_a_stream_s_own_list_may_name_its_files_by_either_scheme(store):
    entry = (
        '{"path":"%s","size":1,"isDir":false,"modificationTime":2,"blockReplication":1,"blockSize":1,"action":"add"}'
    )
    lines = [entry % f"{scheme}://lake/out/{scheme}.parquet" for scheme in ("s3", "s3a")]
    store.put("out/_spark_metadata/0", "\n".join(["v1", *lines]).encode())
    assert metadata_log_files(tree_at("s3://lake/out")) == (
        ("s3.parquet", 1, 2_000_000),
        ("s3a.parquet", 1, 2_000_000),
    )


def test_a_store_that_refuses_the_key_isn_t_one_without_the_file(store):
    store.put("refused/b/x.parquet", b"x")
    place = tree_at("s3://lake/refused")
    store.rotate("key-2")
    try:
        with pytest.raises(Denied, match="doesn’t know the key") as caught:
            list(place.entries(""))
        assert caught.value.__suppress_context__, "the answer's text would be printed with the failure"
        assert caught.value.__cause__ is None
        assert names(tree_at("s3://lake/refused"), "b") == [("x.parquet", FILE)]
    finally:
        store.rotate("key-1")


def test_a_store_that_is_away_is_unreachable(store):
    place = tree_at("s3://lake/m")
    store.shut()
    try:
        for ask in (lambda: list(place.entries("")), lambda: place.missing(["s3://lake/m/here"])):
            with pytest.raises(Unreachable, match="s3://lake/m can't be read"):
                ask()
    finally:
        store.open()


def test_a_bucket_that_no_root_describes_is_unreachable(store):
    for ask in (tree_at, reach_of):
        with pytest.raises(Unreachable, match="no root says how to reach the bucket other"):
            ask("s3://other/x")


def test_a_request_that_obstore_gives_up_by_a_panic_leaves_the_store_unreachable(store, monkeypatch):
    class PanicException(BaseException):
        __module__ = "pyo3_runtime"

    def panics(*_given):
        raise PanicException

    monkeypatch.setattr(obstore, "head", panics)
    with pytest.raises(Unreachable, match="as it is described"):
        tree_at("s3://lake/m").tail("x", 8)
