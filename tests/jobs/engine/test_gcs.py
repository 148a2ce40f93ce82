"""Commands and reads on tables in Google Cloud Storage, by real Spark with Google's connector, beside an emulator of the store."""

import io
import uuid
from types import SimpleNamespace

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.commands.delete.rules import Delete
from jobs.commands.optimize.rules import Optimize
from jobs.commands.restore.rules import Restore
from jobs.domain.engine import UNCHECKED, Marks
from jobs.domain.errors import EngineFailed
from jobs.domain.predicates.stored import to_json
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tables.storage.description import Description
from tables.storage.gcs.options import GcsOptions, completed
from tables.storage.objects import buckets as object_stores
from tables.sync import log_access
from tests import gcs

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.fixture(scope="module")
def google():
    with gcs.serving() as (address, door), gcs.a_bucket(address, door) as bucket:
        yield bucket


@pytest.fixture
def described(google, monkeypatch):
    """How the bucket is reached; `key_id` may be changed."""
    known = SimpleNamespace(key_id=next(iter(google.door.key_ids)))

    def lookup(prefix):
        given = completed(Description(google.endpoint, secret=google.account(known.key_id)))
        return GcsOptions.of(google.bucket, given) if prefix == google.uri else None

    monkeypatch.setattr(object_stores, "_lookup", lookup)
    return known


def fresh() -> Marks:
    return Marks(str(uuid.uuid4()), 1, "d" * 64)


@pytest.fixture
def orders(google, described, convert):
    """Converted from two partitions at first use."""
    path = f"{google.uri}/shop/orders of [2026]"
    if not google.listed(described.key_id):
        for p, ids in ((1, range(10)), (2, range(10, 20))):
            out = io.BytesIO()
            pq.write_table(pa.table({"id": list(ids)}), out)
            google.put(f"shop/orders of [2026]/p={p}/part-0.parquet", out.getvalue())
        result = convert(path, "p int")
        assert (result.version, result.details["files_in_table"]) == (0, 2)
    return path


def delete(engine, report, tmp_path, path, predicate, marks=None):
    metadata = open_log(path).snapshot(None, tmp_path / "files.arrow").metadata
    assert metadata
    tree = to_json(parse(predicate, schema_of(parse_schema(metadata.schema_json))))
    return engine.run(Delete("t", predicate, path, tree), {}, UNCHECKED, marks or fresh(), report)


def ids(engine, report, path):
    answer = engine.read("rows", {"path": path, "limit": 100}, fresh(), report)
    return sorted(row[0] for row in answer["rows"])


def test_a_directory_is_converted_deleted_from_optimized_restored_and_read(orders, engine, report, runtime, tmp_path):
    assert ids(engine, report, orders) == list(range(20))
    marks = fresh()
    deleted = delete(engine, report, tmp_path, orders, "id < 5", marks)
    assert (deleted.version, deleted.num_affected_rows) == (1, 5)
    found = log_access.find_mark(orders, uuid.UUID(marks.job), 0)
    assert found is not None
    assert found.version == 1
    delete(engine, report, tmp_path, orders, "id = 15")
    optimized = engine.run(Optimize("t", path=orders), {}, UNCHECKED, fresh(), report)
    assert ids(engine, report, orders) == [*range(5, 15), *range(16, 20)], optimized
    command, marks = Restore("t", 0, orders), fresh()
    before = engine.preview(command, None, marks, report)
    restored = engine.run(command, {"rows_to": before.rows, "rows_hash_to": before.rows_hash}, UNCHECKED, marks, report)
    assert (restored.details["proven"], restored.details["rows"]) == (True, 20)
    history = runtime.session.sql(f"DESCRIBE HISTORY delta.`{orders}`").collect()
    assert {row.operation for row in history} >= {"RESTORE", "DELETE", "CONVERT"}


def test_of_two_that_write_one_commit_the_second_is_told(orders, google, described, engine, report, runtime):
    """By Hadoop's connector itself, as Delta's log store asks it: neither looked before the other wrote."""
    ids(engine, report, orders)  # the JVM knows the bucket
    jvm = runtime.session._jvm
    files = jvm.org.apache.hadoop.fs.FileSystem.get(
        jvm.java.net.URI.create(f"{google.uri}/"), runtime.session.sparkContext._jsc.hadoopConfiguration()
    )
    path = jvm.org.apache.hadoop.fs.Path(f"{google.uri}/race/{0:020d}.json")
    first, second = files.create(path, False), files.create(path, False)
    first.write(bytearray(b"first"))
    second.write(bytearray(b"second"))
    first.close()
    with pytest.raises(Exception, match="412 Precondition Failed"):
        second.close()
    assert bytes(obstore.get(google.opened(described.key_id), f"race/{0:020d}.json").bytes()) == b"first"


def test_a_new_key_counts_for_the_next_attempt_and_no_program_lists_it(
    orders, google, described, engine, report, runtime
):
    before = ids(engine, report, orders)
    google.door.key_ids = {"key-of-the-tests-0002"}
    google.door.tokens.clear()
    described.key_id = "key-of-the-tests-0002"
    object_stores.ask_again(google.uri)
    assert ids(engine, report, orders) == before
    settings = runtime.session.sql("SET -v").collect() + runtime.session.sparkContext.getConf().getAll()
    assert not [setting for setting in settings if "PRIVATE KEY" in str(setting)]
    with open(f"/proc/{runtime.identity().pid}/cmdline", "rb") as arguments:
        assert b"PRIVATE" not in arguments.read()


def test_a_store_that_refuses_ends_the_attempt_in_words(orders, google, described, engine, report, tmp_path):
    version = open_log(orders).head_version()
    report.at["Spark started"] = lambda: setattr(google.door, "refuses", (403, "InsufficientRights"))
    try:
        with pytest.raises(EngineFailed) as failed:
            delete(engine, report, tmp_path, orders, "id = 7")
        assert failed.value.failure.message.startswith("Levee's user may not read or write a file there")
    finally:
        google.door.refuses = None
        object_stores.ask_again(google.uri)
    assert open_log(orders).head_version() == version
    assert delete(engine, report, tmp_path, orders, "id = 7").version == (version or 0) + 1
