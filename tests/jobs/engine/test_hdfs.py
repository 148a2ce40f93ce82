"""Commands, reads and a stream's round on tables on HDFS, by real Spark and Hadoop's own client; and its listing in tasks."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import uuid
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark import cloudpickle

from jobs.commands.convert.spark.inspect import table_refusals
from jobs.commands.delete.rules import Delete
from jobs.commands.restore.rules import Restore
from jobs.commands.stream_round.rules import Definition, FileSource, StreamRound
from jobs.domain.engine import UNCHECKED, Marks
from jobs.domain.errors import EngineFailed
from jobs.domain.predicates.stored import to_json
from jobs.engine import survey  # noqa: F401 - it says which modules travel by value
from jobs.engine.walk import WalkOrder, WorkShare, scan
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from jobs.streams import file_listing
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tables.storage.hdfs import client as hdfs
from tables.storage.hdfs.kind import HDFS
from tables.storage.stores import reach_of, tree_at
from tables.storage.trees import DIRECTORY, FILE, Denied, Unreachable
from tables.sync import log_access
from tests.hdfs import Directory
from tests.jobs.engine.test_s3 import parquet
from tests.patience import limit

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
STRUCT = {"type": "struct", "fields": [
    {"name": "id", "type": "long", "nullable": True, "metadata": {}},
    {"name": "name", "type": "string", "nullable": True, "metadata": {}},
]}  # fmt: skip


def fresh() -> Marks:
    return Marks(str(uuid.uuid4()), 1, "d" * 64)


class Table:
    """A table on HDFS, and Levee's commands on it."""

    def __init__(self, engine: Any, report: Any, path: str, tmp_path: Path) -> None:
        self.engine, self.report, self.path, self.tmp_path = engine, report, path, tmp_path

    def delete(self, predicate: str, marks: Marks | None = None) -> Any:
        metadata = open_log(self.path).snapshot(None, self.tmp_path / "files.arrow").metadata
        assert metadata
        tree = to_json(parse(predicate, schema_of(parse_schema(metadata.schema_json))))
        return self.engine.run(Delete("t", predicate, self.path, tree), {}, UNCHECKED, marks or fresh(), self.report)

    def restore(self, version: int) -> Any:
        command, marks = Restore("t", version, self.path), fresh()
        found = self.engine.preview(command, None, marks, self.report)
        seen = {"rows_to": found.rows, "rows_hash_to": found.rows_hash}
        return self.engine.run(command, seen, UNCHECKED, marks, self.report)

    def ids(self, **more: Any) -> list[int]:
        answer = self.engine.read("rows", {"path": self.path, "limit": 100, **more}, fresh(), self.report)
        return sorted(row[0] for row in answer["rows"])


def test_a_directory_is_converted_and_its_rows_are_deleted_restored_and_read(
    on_hdfs: Directory, engine: Any, runtime: Any, report: Any, convert: Any, tmp_path: Path
) -> None:
    for p, ids in ((1, range(10)), (2, range(10, 20))):
        on_hdfs.put(f"shop/orders of [2026]/p={p}/part-0.parquet", parquet(*ids))
    place = f"{on_hdfs.uri}/shop/orders of [2026]"
    result = convert(place, "p int")
    assert (result.version, result.details["files_in_table"]) == (0, 2)
    orders = Table(engine, report, place, tmp_path)
    assert orders.ids() == list(range(20))
    marks = fresh()
    deleted = orders.delete("id < 5", marks)
    assert (deleted.version, deleted.num_affected_rows) == (1, 5)
    found = log_access.find_mark(place, uuid.UUID(marks.job), 0)
    assert found is not None
    assert found.version == 1
    assert log_access.find_mark(place, uuid.uuid4(), 0) is None
    restored = orders.restore(0)
    assert (restored.version, restored.details["proven"], restored.details["rows"]) == (2, True, 20)
    assert (orders.ids(), orders.ids(version=1)) == (list(range(20)), list(range(5, 20)))
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):  # two writers of one version: one is told
        _commit(runtime.session, place, 2)
    (refusal,) = table_refusals(f"{place}/p=1/more")
    assert (refusal.code, refusal.place) == ("inside_table", place)


def _commit(session: Any, place: str, version: int) -> None:
    """Writes a version as Delta's own log store does, which it chooses by the place."""
    jvm = session._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, jvm.org.apache.hadoop.fs.Path(place))
    lines = jvm.org.apache.spark.api.python.PythonUtils.toSeq(jvm.java.util.ArrayList()).iterator()
    path = jvm.org.apache.hadoop.fs.Path(f"{place}/_delta_log/{version:020}.json")
    log.store().write(path, lines, False, log.newDeltaHadoopConf())


def test_a_stream_loads_files_of_hdfs_into_a_table_there(
    on_hdfs: Directory, engine: Any, runtime: Any, report: Any, tmp_path: Path
) -> None:
    for number in range(3):
        on_hdfs.put(f"in box/{number}.json", json.dumps({"id": number, "name": f"r{number}"}).encode())
    source = FileSource(f"{on_hdfs.uri}/in box", "json", STRUCT, {})
    target = f"{on_hdfs.uri}/loaded"
    definition = Definition(source, target, str(tmp_path / "checkpoint")).as_json()

    def waiting() -> int:
        found = file_listing.waiting_files(source, str(tmp_path / "checkpoint"))
        assert found is not None
        return found.files

    assert waiting() == 3
    first = engine.run(StreamRound("s", "s", definition), {}, UNCHECKED, fresh(), report)
    assert (first.version, first.details["batches"][0]["input_rows"], waiting()) == (0, 3, 0)
    on_hdfs.put("in box/3.json", json.dumps({"id": 3, "name": "r3"}).encode())
    assert waiting() == 1
    command = StreamRound("s", "s", definition, query_id=first.details["query_id"])
    assert engine.run(command, {}, UNCHECKED, fresh(), report).version == 1
    assert Table(engine, report, target, tmp_path).ids() == [0, 1, 2, 3]
    told = runtime.session.sparkContext._jsc.hadoopConfiguration()
    assert {key: told.get(key) for key in HDFS.hadoop} == HDFS.hadoop


def test_what_levee_may_not_write_fails_by_name_and_leaves_the_table_as_it_was(
    on_hdfs: Directory, engine: Any, report: Any, convert: Any, tmp_path: Path
) -> None:
    on_hdfs.put("pay/a.parquet", parquet(1, 2))
    place = f"{on_hdfs.uri}/pay"
    convert(place)
    on_hdfs.allow(0o755, "pay", owner="ines")
    on_hdfs.allow(0o755, "pay/_delta_log", owner="ines")
    with pytest.raises(EngineFailed) as failed:
        Table(engine, report, place, tmp_path).delete("id = 1")
    assert failed.value.failure.message.startswith("Levee's user may not read or write a file there")
    assert open_log(place).head_version() == 0


def test_directories_and_files_are_told_as_on_a_disk(on_hdfs: Directory) -> None:
    on_hdfs.put("a/p=x%2Fy z/é.json", b"1\n2\n3")
    on_hdfs.put("a/x.parquet", b"12345")
    place = tree_at(f"{on_hdfs.uri}/a")
    found = sorted((name, kind) for name, kind, _ in place.entries(""))
    assert found == [("p=x%2Fy z", DIRECTORY), ("x.parquet", FILE)]
    assert list(place.lines("p=x%2Fy z/é.json")) == [b"1\n", b"2\n", b"3"]
    assert (place.tail("x.parquet", 2), place.tail("x.parquet", 100)) == (b"45", b"12345")
    (size, changed) = next(place.stat(handle) for _, kind, handle in place.entries("") if kind == FILE)
    assert (size, changed > 10**18) == (5, True)
    asked = [f"{on_hdfs.uri}/a/{name}" for name in ("gone", "x.parquet", "p=x%2Fy z")] + ["hdfs://other:1/a/x.parquet"]
    assert place.missing(asked) == [asked[0], asked[2], asked[3]]
    for ask in (lambda: list(place.entries("none")), lambda: place.tail("none", 1), lambda: list(place.lines("none"))):
        with pytest.raises(FileNotFoundError):
            ask()
    with pytest.raises(NotADirectoryError):
        list(place.entries("x.parquet"))


def test_a_task_without_a_copy_of_levee_is_told_whom_it_is(on_hdfs: Directory, tmp_path: Path) -> None:
    on_hdfs.put("t/p=1/a.parquet", parquet(1, 2))
    on_hdfs.put("t/stray.txt", b"no parquet")
    uri = f"{on_hdfs.uri}/t"
    task = partial(scan, [WorkShare(tree="")], WalkOrder(uri, True, (("p", "int"),), reach=reach_of(uri)))
    told = "found = pickle.load(sys.stdin.buffer)(); print(*(found.total(n) for n in ('files', 'rows', 'stray')))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import pickle, sys; {told}; print('tables' in sys.modules)"],
        input=cloudpickle.dumps(task),
        capture_output=True,
        cwd=tmp_path,
    )
    assert done.stdout.split() == [b"2", b"2", b"1", b"False"], done.stderr.decode()[-2000:]


def test_what_is_closed_or_silent_is_no_missing_file(on_hdfs: Directory) -> None:
    on_hdfs.put("shut/a.parquet", b"x")
    on_hdfs.allow(0o700, "shut", owner="ines")
    place = tree_at(f"{on_hdfs.uri}/shut")
    with pytest.raises(Denied, match="HDFS refuses this to the user") as refused:
        list(place.entries(""))
    assert refused.value.__cause__ is None
    assert table_refusals(f"{on_hdfs.uri}/shut/day=1/more") == []
    with on_hdfs.cluster.silent():
        with pytest.raises(Unreachable, match="the name node doesn’t answer"):
            tree_at(f"{on_hdfs.uri}/shut").missing([f"{on_hdfs.uri}/shut/a.parquet"])
        with pytest.raises(Unreachable, match="a moment ago"):
            tree_at(on_hdfs.uri)


class Hung:
    """hdfs-native's clients in turn: the first ones answer nothing until `wakes`, the others at once."""

    def __init__(self, silent: int) -> None:
        self.silent, self.made, self.wakes = silent, 0, threading.Event()

    def __call__(self, *_: Any) -> Any:
        self.made += 1
        wakes = self.wakes if self.made <= self.silent else None

        def told(path: str) -> str:
            assert wakes is None or wakes.wait(limit(15))
            return path

        return SimpleNamespace(get_file_info=told)


def hung(monkeypatch: pytest.MonkeyPatch, silent: int) -> tuple[Hung, hdfs.NameNode]:
    clients = Hung(silent)
    monkeypatch.setattr("hdfs_native.Client", clients)
    monkeypatch.setattr(hdfs, "MOST_ASKED", 1)
    return clients, hdfs.NameNode("nn:8020", "levee", 0.2)


def test_questions_that_hang_keep_no_slot_of_the_next_client(monkeypatch: pytest.MonkeyPatch) -> None:
    clients, node = hung(monkeypatch, 1)
    with pytest.raises(hdfs.HdfsRefused, match="the name node doesn’t answer"):
        node.status("/")
    node.answer_s = 60
    assert [node.status("/lake") for _ in range(5)] == ["/lake"] * 5
    assert clients.made == 2
    clients.wakes.set()


def test_no_more_clients_are_given_up_than_threads_may_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    clients, node = hung(monkeypatch, 99)
    monkeypatch.setattr(hdfs, "MOST_LEFT", 3)
    before = threading.active_count()
    for _ in range(6):
        with pytest.raises(hdfs.HdfsRefused, match="doesn’t answer"):
            node.status("/")
    assert clients.made == 3
    assert threading.active_count() - before <= 3
    clients.wakes.set()
    node.answer_s = 60
    assert node.status("/lake") == "/lake"


def test_a_thread_that_doesn_t_start_keeps_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    _, node = hung(monkeypatch, 0)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", full)
        patch.setattr(hdfs.NameNode, "_give_up", lambda *_: None)  # its next client would have slots of its own
        for _ in range(3):
            with pytest.raises(hdfs.HdfsRefused):
                node.status("/")
    node.answer_s = 60
    assert node.status("/lake") == "/lake"


def full(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_names_of_directories_are_no_words_of_kerberos() -> None:
    denied = 'RPCError("org.apache.hadoop.security.AccessControlException", "{}")'
    for text in (denied.format('inode="/SASL_x"'), 'IsADirectoryError("/SASL/GSSAPI")'):
        assert "Kerberos" not in str(hdfs.refusal(RuntimeError(text), "levee"))
    for text in (denied.format("SIMPLE authentication is not enabled."), 'SASLError("no")', "NoSASLMechanism"):
        refused = hdfs.refusal(RuntimeError(text), "levee")
        assert ("Kerberos" in str(refused), refused.everywhere) == (True, True)
