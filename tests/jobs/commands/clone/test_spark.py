"""Clones on real Delta: what the log predicts is what the commit records, and another engine reads the rows of a deep one."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from delta.tables import DeltaTable, IdentityGenerator
from deltalake import DeltaTable as Witness
from deltalake import QueryBuilder
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from jobs.commands.clone import cleanup
from jobs.commands.clone.comparison import compare
from jobs.commands.clone.log import from_log
from jobs.commands.clone.rules import Clone, Depth
from jobs.commands.clone.spark import commit as committing
from jobs.commands.clone.spark import copies, run
from jobs.domain.comparison import Verdict
from jobs.domain.engine import UNCHECKED, Marks
from jobs.domain.errors import CommandRefused, EngineCancelled, EngineFailed
from jobs.domain.measures import Restorable
from jobs.engine.table_files import copying
from jobs.predicates.table_schema import schema_of
from jobs.targets.subject import Subject
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tables.models import Table
from tests.jobs.engine.lake import actions, commits, names

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

ODD = "sàles 100%25 of [a+b]"
P = "CASE id % 4 WHEN 0 THEN 'a b/ä%41' WHEN 1 THEN NULL ELSE concat('p', id % 4) END AS p"
PROPERTIES = {
    "delta.enableDeletionVectors": "true",
    "delta.columnMapping.mode": "name",
    "delta.enableRowTracking": "true",
}


def made(runtime: Any, path: Path, properties: dict[str, str]) -> Path:
    """Version 0: 20 rows in four partitions, one without a value and one with an odd one; version 1 deletes three of them."""
    session = runtime.new_session()
    rows = session.range(0, 20, 1, 1).selectExpr("id", "concat('r', id) AS name", P)
    rows.write.format("delta").partitionBy("p").options(**properties).save(str(path))
    session.sql(f"DELETE FROM delta.`{path}` WHERE id IN (3, 8, 13)")
    return path


def claim_of(marks: Marks) -> cleanup.CloneClaim:
    return cleanup.CloneClaim(marks.job, marks.token)


@pytest.fixture(scope="module")
def mapped(runtime, tmp_path_factory) -> Path:
    """With deletion vectors, column mapping and row tracking."""
    return made(runtime, tmp_path_factory.mktemp("lake") / ODD, PROPERTIES)


@pytest.fixture(scope="module")
def plain(runtime, tmp_path_factory) -> Path:
    """The plainest protocol, files in directories by partition; version 1 has rewritten three of the four."""
    return made(runtime, tmp_path_factory.mktemp("lake") / ODD, {"delta.enableDeletionVectors": "false"})


@pytest.fixture(scope="module")
def featured(runtime, tmp_path_factory) -> Path:
    """Clustered, with a generated and an identity column, a wider type, a constraint, in-commit times, a change feed, tracked rows, and
    a checkpoint before its newest version, which deletes five of its 20 rows by a deletion vector."""
    path: Path = tmp_path_factory.mktemp("lake") / "featured"
    session = runtime.new_session()
    create = DeltaTable.create(session).location(str(path)).addColumn("id", "LONG").addColumn("n", "INT")
    create = create.addColumn("twice", "LONG", generatedAlwaysAs="id * 2")
    create = create.addColumn("key", "LONG", generatedByDefaultAs=IdentityGenerator(start=100, step=10)).clusterBy("id")
    for name in ("InCommitTimestamps", "RowTracking", "DeletionVectors", "ChangeDataFeed", "TypeWidening"):
        create = create.property(f"delta.enable{name}", "true")
    create.property("delta.checkpointPolicy", "v2").property("delta.checkpointInterval", "3").execute()
    table = f"delta.`{path}`"
    session.sql(f"INSERT INTO {table} (id, n) SELECT id, int(id) FROM range(0, 20, 1, 1)")
    session.sql(f"ALTER TABLE {table} ADD CONSTRAINT small CHECK (id < 1000)")
    session.sql(f"ALTER TABLE {table} ALTER COLUMN n TYPE LONG")
    session.sql(f"DELETE FROM {table} WHERE id >= 15")
    return path


def subject_at(path: Path, folder: Path) -> Subject:
    """The table as the catalog would hand it over."""
    snapshot = open_log(str(path)).snapshot(None, folder / "files.arrow")
    assert snapshot.metadata
    struct = parse_schema(snapshot.metadata.schema_json)
    return Subject(Table(path=str(path), name=path.name), snapshot, snapshot.metadata, struct, schema_of(struct))


def command_for(source: Path, target: Path, depth: Depth, version: int = 1) -> Clone:
    target.mkdir(exist_ok=True)
    return Clone("t", str(target), depth, version, str(source), str(target), source.name)


@pytest.fixture
def clone(engine, marks, report, tmp_path):
    """Previews by the log and runs; answers prediction and result."""

    def do(source: Path, target: Path, depth: Depth, version: int = 1) -> Any:
        command = command_for(source, target, depth, version)
        preview = from_log(subject_at(source, tmp_path), command)
        return preview, engine.run(command, preview, UNCHECKED, marks, report)

    return do


def differing(preview: Any, result: Any) -> list[str]:
    return [each.name for each in compare(preview, result) if each.verdict is not Verdict.SAME]


def expected(*, version: int) -> list[dict[str, Any]]:
    """The rows of the tables above."""
    odd = {0: "a b/ä%41", 1: None}
    every = [{"id": n, "name": f"r{n}", "p": odd.get(n % 4, f"p{n % 4}")} for n in range(20)]
    return [row for row in every if version == 0 or row["id"] not in {3, 8, 13}]


def rows(path: Path) -> list[dict[str, Any]]:
    """As delta-rs reads them: deletion vectors, column mapping and partition values included."""
    question = QueryBuilder().register("t", Witness(str(path)))
    return list(pa.table(question.execute("SELECT id, name, p FROM t ORDER BY id").read_all()).to_pylist())


def live(path: Path) -> dict[str, Any]:
    """The files of a clone's one commit, without what a copy may change."""
    renamed = {"path", "baseRowId", "defaultRowCommitVersion", "deletionVector"}
    return {
        add["path"]: {key: value for key, value in add.items() if key not in renamed} for add in actions(path, "add")
    }


def bytes_of(path: Path, suffix: str) -> list[bytes]:
    return sorted(file.read_bytes() for file in path.rglob(f"*{suffix}") if "_delta_log" not in str(file))


def test_a_deep_clone_holds_copies_alone_and_another_engine_reads_the_same_rows(mapped, tmp_path, clone, marks):
    target = tmp_path / "copy of ü 50%"
    preview, result = clone(mapped, target, "deep")
    assert (result.operation, result.version, result.details["vector_files_copied"]) == ("CLONE", 0, 1)
    assert differing(preview, result) == []
    assert (preview["files"], preview["deletion_vectors"], preview["rows"]) == (4, 3, 17)
    assert rows(target) == expected(version=1)
    assert bytes_of(target, ".parquet") == bytes_of(mapped, ".parquet")
    assert bytes_of(target, ".bin") == bytes_of(mapped, ".bin")
    assert all(claim_of(marks).file_mark in path and ":" not in path for path in live(target))
    vectors = [add["deletionVector"]["pathOrInlineDv"] for add in actions(target, "add") if "deletionVector" in add]
    assert all(name.startswith(claim_of(marks).vector_directory) for name in vectors)
    clone(mapped, tmp_path / "shallow", "shallow")
    assert_same_commit(target, tmp_path / "shallow")


def assert_same_commit(deep: Path, shallow: Path) -> None:
    """The deep clone's commit is Delta's own, but for the names of the files and what is drawn at random."""
    assert sorted(map(str, live(deep).values())) == sorted(map(str, live(shallow).values()))
    assert actions(deep, "protocol") == actions(shallow, "protocol")
    assert by_domain(deep) == by_domain(shallow)
    own, delta = (actions(path, "metaData")[0] for path in (deep, shallow))
    assert own["id"] != delta["id"]
    assert own["configuration"].keys() == delta["configuration"].keys()
    left_out: dict[str, Any] = {"id": "", "configuration": {}, "createdTime": 0}
    assert own | left_out == delta | left_out
    [one], [other] = (actions(path, "commitInfo") for path in (deep, shallow))
    assert one["operationParameters"] == other["operationParameters"]
    assert ("inCommitTimestamp" in one) == ("inCommitTimestamp" in other)
    for path in (deep, shallow):
        ids = [add.get("baseRowId") for add in actions(path, "add")]
        assert len(set(ids)) == len(ids)


def by_domain(path: Path) -> list[dict[str, Any]]:
    return sorted(actions(path, "domainMetadata"), key=lambda each: each["domain"])


def test_every_feature_comes_along_as_in_delta_s_own_clone_and_the_clone_goes_on(runtime, featured, tmp_path, clone):
    deep, shallow = tmp_path / "deep", tmp_path / "shallow"
    preview, result = clone(featured, deep, "deep", 4)
    clone(featured, shallow, "shallow", 4)
    assert differing(preview, result) == []
    assert preview["constraints"] == ["small"]
    assert_same_commit(deep, shallow)
    session, table = runtime.new_session(), f"delta.`{deep}`"
    assert [each["domain"] for each in by_domain(deep)] == ["delta.clustering", "delta.rowTracking"]
    by_spark = [session.read.format("delta").load(str(path)).orderBy("id").collect() for path in (featured, deep)]
    assert by_spark[0] == by_spark[1]
    assert [row.key for row in by_spark[1]] == list(range(100, 250, 10))
    session.sql(f"INSERT INTO {table} (id, n) VALUES (500, 5000000000)")
    with pytest.raises((PySparkException, Py4JJavaError), match="CHECK constraint small"):
        session.sql(f"INSERT INTO {table} (id, n) VALUES (5000, 1)")
    read = session.read.format("delta").load(str(deep)).selectExpr("*", "_metadata.row_id AS row").collect()
    [new] = [row for row in read if row.id == 500]
    assert (new.n, new.twice, new.key > 290, len({row.row for row in read})) == (5_000_000_000, 1000, True, 16)
    times = [info["inCommitTimestamp"] for info in actions(deep, "commitInfo")]
    assert len(times) == 2
    assert times[0] < times[1]


def test_directories_by_partition_stay_with_their_odd_names(plain, tmp_path, clone):
    target = tmp_path / "copy"
    preview, result = clone(plain, target, "deep", 0)
    assert differing(preview, result) == []
    assert rows(target) == expected(version=0)
    folders = {path.rpartition("/")[0] for path in live(target)}
    assert folders == {add["path"].rpartition("/")[0] for add in actions(plain, "add")}


def test_a_shallow_clone_of_a_version_names_the_source_s_files(runtime, plain, tmp_path, clone):
    target = tmp_path / "named"
    preview, result = clone(plain, target, "shallow", 0)
    assert differing(preview, result) == []
    assert (preview["files_to_copy"], result.details["text"]) == (
        0,
        f"Names 4 files of version 0 of {ODD}, and copied none.",
    )
    assert not bytes_of(target, ".parquet")
    assert all(path.startswith("file:/") for path in live(target))
    session = runtime.new_session()
    read = session.read.format("delta").load(str(target)).orderBy("id").collect()
    assert [row.asDict() for row in read] == expected(version=0)


def test_a_target_that_is_not_empty_is_left_alone(plain, tmp_path, engine, marks, report):
    command = command_for(plain, tmp_path / "used", "deep")
    (tmp_path / "used" / "note.txt").write_text("mine")
    with pytest.raises(CommandRefused) as refused:
        engine.run(command, {}, UNCHECKED, marks, report)
    [refusal] = refused.value.refusals
    assert refusal.engine
    assert (refusal.code, refusal.engine.condition) == ("not_empty", "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION")
    assert names(tmp_path / "used") == {"note.txt"}


def test_a_worker_that_died_before_the_commit_leaves_nothing_and_the_next_attempt_succeeds(
    mapped, tmp_path, engine, marks, report, monkeypatch
):
    command = command_for(mapped, tmp_path / "copy", "deep")

    def die() -> None:
        raise KeyboardInterrupt

    report.at["files copied"] = die
    with monkeypatch.context() as dying:
        dying.setattr(run, "_clean", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            engine.run(command, {}, UNCHECKED, marks, report)
    left = names(tmp_path / "copy")
    assert any(name.endswith(".parquet") for name in left)
    (tmp_path / "copy" / "other.parquet").write_text("not the job's")
    cleanup.remove(command.path, claim_of(marks))
    assert names(tmp_path / "copy") == {"other.parquet"}
    (tmp_path / "copy" / "other.parquet").unlink()
    assert engine.run(command, {}, UNCHECKED, marks, report).version == 0
    assert rows(tmp_path / "copy") == expected(version=1)


@contextlib.contextmanager
def cancelling(engine: Any, tag: str, begin: Callable[[], bool]) -> Iterator[None]:
    """From when `begin` says so, asks Spark to stop the job over and over, as a worker does: a cancel between two jobs is lost."""
    over = threading.Event()

    def ask() -> None:
        while not over.wait(0.2):
            if begin():
                engine.cancel(tag)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_cancel_while_files_are_copied_leaves_the_target_empty(plain, tmp_path, engine, marks, report, monkeypatch):
    command, copied = command_for(plain, tmp_path / "copy", "deep"), copying._copied

    def slowly(rows: Any, order: Any) -> Iterator[Any]:
        given = list(rows)
        yield from copied(given, order)
        time.sleep(60 if given else 0)

    monkeypatch.setattr(copying, "_copied", slowly)
    seen: list[bytes] = []

    def has_copies() -> bool:
        seen.extend(bytes_of(tmp_path / "copy", ".parquet"))
        return bool(seen)

    with cancelling(engine, marks.tag, has_copies), pytest.raises(EngineCancelled):
        engine.run(command, {}, UNCHECKED, marks, report)
    assert seen
    assert not names(tmp_path / "copy")


@pytest.mark.parametrize("depth", ["shallow", "deep"])
def test_a_source_that_is_swapped_meanwhile_is_not_cloned(runtime, tmp_path, engine, marks, report, depth):
    source = tmp_path / "t"
    runtime.new_session().range(0, 4, 1, 1).write.format("delta").save(str(source))
    command = command_for(source, tmp_path / "copy", depth, 0)

    def swap() -> None:
        source.rename(tmp_path / "elsewhere")
        source.symlink_to(tmp_path / "elsewhere")

    report.at["committing"] = swap
    with pytest.raises(CommandRefused, match="is a link") as refused:
        engine.run(command, {}, UNCHECKED, marks, report)
    assert refused.value.refusals[0].code == "outside_roots"
    assert not names(tmp_path / "copy")


def test_a_copy_that_fails_leaves_the_target_as_it_was(plain, tmp_path, engine, marks, report, monkeypatch):
    command = command_for(plain, tmp_path / "copy", "deep")
    gone = next(plain.glob("p=p2/*.parquet"))
    content = gone.read_bytes()
    gone.unlink()
    try:
        with pytest.raises(CommandRefused, match="is gone") as missing:
            engine.run(command, {}, UNCHECKED, marks, report)
        gone.write_bytes(content[:-1])
        with pytest.raises(CommandRefused, match="bytes were read") as short:
            engine.run(command, {}, UNCHECKED, marks, report)
    finally:
        gone.write_bytes(content)
    assert [error.value.refusals[0].code for error in (missing, short)] == ["version_gone", "copy_failed"]
    assert not names(tmp_path / "copy")
    monkeypatch.setattr(copies, "room_for", lambda *_: SimpleNamespace(free=10, needed=1 << 40, is_enough=False))
    with pytest.raises(CommandRefused, match="has 10 left"):
        engine.run(command, {}, UNCHECKED, marks, report)


def test_spark_tells_the_missing_files_of_an_older_version(runtime, tmp_path, engine, marks, report):
    path = tmp_path / "t"
    for mode in ("append", "overwrite"):
        runtime.new_session().range(0, 4, 1, 1).write.format("delta").mode(mode).save(str(path))
    [first] = [add["path"] for add in actions(path, "add")][:1]
    command = command_for(path, tmp_path / "copy", "shallow", 0)
    there = cast("Restorable", engine.preview(command, None, marks, report))
    (path / first).unlink()
    found = cast("Restorable", engine.preview(command, None, marks, report))
    assert (there.missing_count, found.missing_count, found.missing_files) == (0, 1, (f"{path}/{first}",))
    with pytest.raises(CommandRefused, match="no longer holds 1 file") as refused:
        engine.run(command, {}, UNCHECKED, marks, report)
    assert refused.value.refusals[0].code == "version_gone"


def test_a_delta_without_the_private_methods_fails_loudly_before_it_commits(
    plain, tmp_path, engine, marks, report, monkeypatch
):
    command = command_for(plain, tmp_path / "copy", "deep")
    monkeypatch.setattr(committing, "METADATA", "determineSomethingElse")
    with pytest.raises((RuntimeError, EngineFailed), match="determineSomethingElse"):
        engine.run(command, {}, UNCHECKED, marks, report)
    assert not commits(tmp_path / "copy")
    assert not names(tmp_path / "copy")
