"""Commands, reads and a stream's round on tables in an object store, by real Spark."""

import io
import itertools
import json
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.commands.clone import cleanup
from jobs.commands.clone.rules import Clone
from jobs.commands.delete.rules import Delete
from jobs.commands.restore.rules import Restore
from jobs.commands.stream_round.rules import Definition, FileSource, StreamRound
from jobs.domain.engine import UNCHECKED, Marks
from jobs.domain.errors import EngineFailed
from jobs.domain.predicates.stored import to_json
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tables.storage.objects import buckets as object_stores
from tables.storage.store import StorageError
from tables.sync import log_access
from tests.jobs.engine.object_store import ObjectStore

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

ORDERS = "s3://lake/shop/orders of [2026]"


@pytest.fixture(scope="module")
def made():
    return ObjectStore()


@pytest.fixture
def store(made, monkeypatch):
    monkeypatch.setattr(object_stores, "_lookup", made.lookup)
    return made


def parquet(*ids):
    out = io.BytesIO()
    pq.write_table(pa.table({"id": list(ids), "name": [f"r{n}" for n in ids]}), out)
    return out.getvalue()


def fresh() -> Marks:
    return Marks(str(uuid.uuid4()), 1, "d" * 64)


class Table:
    """A table of the store, and Levee's commands on it."""

    def __init__(self, engine, report, path, tmp_path):
        self.engine, self.report, self.path, self.tmp_path = engine, report, path, tmp_path

    def delete(self, predicate, marks=None):
        metadata = open_log(self.path).snapshot(None, self.tmp_path / "files.arrow").metadata
        assert metadata
        tree = to_json(parse(predicate, schema_of(parse_schema(metadata.schema_json))))
        return self.engine.run(Delete("t", predicate, self.path, tree), {}, UNCHECKED, marks or fresh(), self.report)

    def restore(self, version):
        command, marks = Restore("t", version, self.path), fresh()
        found = self.engine.preview(command, None, marks, self.report)
        return self.engine.run(
            command, {"rows_to": found.rows, "rows_hash_to": found.rows_hash}, UNCHECKED, marks, self.report
        )

    def ids(self, **more):
        answer = self.engine.read("rows", {"path": self.path, "limit": 100, **more}, fresh(), self.report)
        return sorted(row[0] for row in answer["rows"])


@pytest.fixture
def orders(store, engine, report, convert, tmp_path):
    """Converted from two partitions at each first use."""
    if not store.names("shop/"):
        for p, ids in ((1, range(10)), (2, range(10, 20))):
            store.put(f"shop/orders of [2026]/p={p}/part-0.parquet", parquet(*ids))
        result = convert(ORDERS, "p int")
        assert (result.version, result.details["files_in_table"]) == (0, 2)
    return Table(engine, report, ORDERS, tmp_path)


def test_a_directory_is_converted_and_its_rows_are_deleted_restored_and_read(orders, store, runtime):
    assert orders.ids() == list(range(20))
    marks = fresh()
    deleted = orders.delete("id < 5", marks)
    assert (deleted.version, deleted.num_affected_rows) == (1, 5)
    found = log_access.find_mark(ORDERS, uuid.UUID(marks.job), 0)
    assert found is not None
    assert found.version == 1
    assert log_access.find_mark(ORDERS, uuid.uuid4(), 0) is None
    assert orders.ids() == list(range(5, 20))
    restored = orders.restore(0)
    assert (restored.version, restored.details["proven"], restored.details["rows"]) == (2, True, 20)
    assert orders.ids() == list(range(20))
    assert orders.ids(version=1) == list(range(5, 20))
    history = runtime.session.sql(f"DESCRIBE HISTORY delta.`{ORDERS}`").collect()
    assert [row.operation for row in history] == ["RESTORE", "DELETE", "CONVERT"]
    live = orders.engine.read("deltatable", {"path": ORDERS}, fresh(), orders.report)
    assert (live["version"], live["name"]) == (2, f"delta.`{ORDERS}`")


def test_directory_markers_of_old_clients_neither_stop_a_convert_nor_are_vacuumed(store, runtime, convert, inspect):
    for key in ("old_$folder$", "old/p=1_$folder$", "old/p=1/", "old/p=1/x_$folder$"):
        store.put(key, b"")
    for p in (1, 2):
        store.put(f"old/p={p}/part-0.parquet", parquet(p))
    assert inspect("s3://lake/old")["refusals"] == []
    result = convert("s3://lake/old", "p int")
    assert (result.version, result.details["files_in_table"]) == (0, 2)
    assert sorted(row.id for row in runtime.session.read.format("delta").load("s3://lake/old").collect()) == [1, 2]
    runtime.session.sql("VACUUM delta.`s3://lake/old`")
    assert {"old/p=1_$folder$", "old/p=1/x_$folder$"} <= set(store.names("old/"))


def test_a_table_of_the_store_is_cloned_within_it_and_onto_a_disk_and_back(
    orders, store, runtime, engine, report, tmp_path
):
    head = open_log(ORDERS).head_version()
    (tmp_path / "disk").mkdir()
    chain = [ORDERS, "s3://lake/shop3/copy of [orders]", str(tmp_path / "disk"), "s3://lake/shop3/back"]
    for source, target in itertools.pairwise(chain):
        marks = fresh()
        command = Clone("t", target, "deep", head, source, target, "orders")
        result = engine.run(command, {}, UNCHECKED, marks, report)
        assert (result.version, result.details["files_copied"]) == (0, 2)
        assert Table(engine, report, target, tmp_path).ids() == orders.ids()
        head = 0
    command = Clone("t", "s3://lake/shop3/named", "shallow", 0, chain[-1], "s3://lake/shop3/named", "back")
    assert engine.run(command, {}, UNCHECKED, fresh(), report).operation_metrics["numCopiedFiles"] == "0"
    named = runtime.session.sql("SELECT id FROM delta.`s3://lake/shop3/named` ORDER BY id").collect()
    assert [row.id for row in named] == orders.ids()
    assert all(name.startswith("shop3/named/_delta_log/") for name in store.names("shop3/named/"))
    store.put(f"shop4/p=1/part-0-{marks.job}-0-c000.parquet", b"x")
    store.put("shop4/p=1/part-1.parquet", b"x")
    cleanup.remove("s3://lake/shop4", cleanup.CloneClaim(marks.job, marks.token))
    assert store.names("shop4/") == ["shop4/p=1/part-1.parquet"]


def test_a_stream_loads_files_of_the_store_into_a_table_there(store, engine, report, tmp_path):
    for number in range(3):
        store.put(f"inbox/{number}.json", json.dumps({"id": number, "name": f"r{number}"}).encode())
    struct = {"type": "struct", "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "name", "type": "string", "nullable": True, "metadata": {}},
    ]}  # fmt: skip
    source, target = FileSource("s3://lake/inbox", "json", struct, {}), "s3://lake/shop2/loaded"
    definition = Definition(source, target, str(tmp_path / "checkpoint")).as_json()

    def round_of(**more):
        return engine.run(StreamRound("s", "s", definition, **more), {}, UNCHECKED, fresh(), report)

    first = round_of()
    assert (first.version, first.details["batches"][0]["input_rows"]) == (0, 3)
    store.put("inbox/3.json", json.dumps({"id": 3, "name": "r3"}).encode())
    assert round_of(query_id=first.details["query_id"]).version == 1
    assert Table(engine, report, target, tmp_path).ids() == [0, 1, 2, 3]


def test_a_new_key_counts_for_the_next_attempt_and_no_program_lists_it(orders, store, runtime):
    before = orders.ids()
    store.rotate("key-2")
    store.door.keys_seen.clear()
    assert orders.ids() == before
    assert store.door.keys_seen == {"key-2"}
    with open(f"/proc/{runtime.identity().pid}/cmdline", "rb") as arguments:
        assert b"key-2" not in arguments.read()
    settings = runtime.session.sql("SET -v").collect() + runtime.session.sparkContext.getConf().getAll()
    assert not [setting for setting in settings if "key-2" in str(setting)]


def test_a_store_that_goes_away_ends_the_attempt_and_its_log_says_afterwards_what_became_of_it(orders, store):
    version, marks = open_log(ORDERS).head_version(), fresh()
    assert version is not None
    orders.report.at["Spark started"] = store.shut
    try:
        with pytest.raises(EngineFailed) as failed:
            orders.delete("id = 7", marks)
        assert failed.value.failure.message.startswith("The storage didn't answer")
        with pytest.raises(StorageError):
            log_access.find_mark(ORDERS, uuid.UUID(marks.job), version)
    finally:
        store.open()
        object_stores.ask_again("s3://lake")  # by itself it would be asked half a minute later
    assert log_access.find_mark(ORDERS, uuid.UUID(marks.job), version) is None
    assert orders.delete("id = 7", marks).version == version + 1
    assert 7 not in orders.ids()
