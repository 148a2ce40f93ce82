"""A command is rehearsed on a clone: its real result before its run, and nothing of the table is written."""

import io
import json
import os
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.commands.delete.rules import Delete
from jobs.commands.optimize.rules import Optimize
from jobs.commands.restore.rules import Restore
from jobs.domain.engine import Checked
from jobs.domain.errors import CommandRefused, EngineFailed
from jobs.domain.predicates.stored import to_json
from jobs.engine.directory import judged
from jobs.engine.inside import OwnClone, allowing, clone_at
from jobs.engine.runs import rehearsal
from jobs.engine.session import job_session
from jobs.engine.versions import table_at
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tables.storage.objects import buckets as object_stores
from tests.jobs.engine.deltas import FEED, NAMES, VECTORS, deletion, make, restoration
from tests.jobs.engine.object_store import ObjectStore

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


SHAPE = {"operation_metrics", "rows_after", "seconds"}


@pytest.fixture
def spark(runtime):
    return runtime.new_session()


def bytes_of(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in files}


def left(engine: Any) -> list[Path]:
    return list((engine.runtime.scratch / rehearsal.FOLDER).glob("*"))


def test_delete_optimize_and_restore_show_their_results_and_leave_the_table_as_it_is(
    spark, tmp_path, engine, marks, report
):
    path = make(spark, tmp_path / "it's a `table` ü", VECTORS, files=2)
    spark.sql(f"DELETE FROM delta.`{str(path).replace('`', '``')}` WHERE id < 3")
    before = bytes_of(path)
    found = {
        command.kind: engine.rehearse(command, {}, 1, marks, report)
        for command in (deletion(path, "id >= 30"), Optimize("t", path=str(path)), restoration(path, 0))
    }
    assert bytes_of(path) == before
    assert left(engine) == []
    assert {kind: answer["rows_after"] for kind, answer in found.items()} == {
        "delete": 27,
        "optimize": 37,
        "restore": 40,
    }
    assert found["delete"]["operation_metrics"]["numDeletedRows"] == "10"
    assert found["optimize"]["operation_metrics"]["numRemovedFiles"] == "4"
    assert found["optimize"]["operation_metrics"]["numDeletionVectorsRemoved"] == "2"
    assert found["optimize"]["operation_metrics"]["numAddedFiles"] == "2"
    assert found["restore"]["operation_metrics"]["numRestoredFiles"] == "2"
    assert {frozenset(answer) for answer in found.values()} == {frozenset(SHAPE)}
    assert all(answer["seconds"] > 0 for answer in found.values())
    real = engine.run(deletion(path, "id >= 30"), {}, Checked(1), marks, report)
    times = {"executionTimeMs", "scanTimeMs", "rewriteTimeMs", "numAddedBytes"}
    assert {k: v for k, v in real.operation_metrics.items() if k not in times} == {
        k: v for k, v in found["delete"]["operation_metrics"].items() if k not in times
    }


def test_a_rehearsal_that_fails_says_why_and_leaves_nothing(spark, tmp_path, engine, marks, report, monkeypatch):
    path = make(spark, tmp_path / "t", {"delta.dataSkippingNumIndexedCols": "1"}, files=1)
    before = bytes_of(path)
    with pytest.raises(EngineFailed) as failed:
        engine.rehearse(Optimize("t", zorder_by=["name"], path=str(path)), {}, 0, marks, report)
    assert failed.value.failure.condition == "DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS"
    monkeypatch.setattr("shutil.disk_usage", lambda place: type("Usage", (), {"free": 1 << 20}))
    with pytest.raises(CommandRefused, match="GiB are free"):
        engine.rehearse(deletion(path, "id = 1"), {"bytes_to_rewrite": 5 << 30}, 0, marks, report)
    assert (left(engine), bytes_of(path), clone_at(str(path))) == ([], before, None)


def test_its_clone_is_of_the_very_version_that_was_measured(spark, tmp_path, engine, marks, report):
    """Whatever newer commits say of their times: the clone names its source's version itself."""
    path = make(spark, tmp_path / "t", files=1)
    for condition in ("id < 3", "id < 5"):
        spark.sql(f"DELETE FROM delta.`{path}` WHERE {condition}")
    now = time.time()
    for commit in (path / "_delta_log").glob("*.json"):
        os.utime(commit, (now, now - 60 * int(commit.stem)))
    told: list[str] = []

    def look() -> None:
        [first] = (engine.runtime.scratch / rehearsal.FOLDER).glob(f"*/newest/_delta_log/{0:020d}.json")
        infos = [json.loads(line).get("commitInfo") for line in first.read_text().splitlines()]
        told.extend(str(info["operationParameters"]["sourceVersion"]) for info in infos if info)

    report.at["rehearsing: reading rows"] = look
    answer = engine.rehearse(deletion(path, "id = 30"), {}, 1, marks, report)
    assert (told, answer["rows_after"]) == (["1"], 36)


FEATURES = VECTORS | NAMES | {"delta.enableRowTracking": "true", "delta.enableInCommitTimestamps": "true"}


@pytest.mark.parametrize("properties", [FEATURES, FEED], ids=["features", "change feed"])
def test_a_table_with_features_is_rehearsed_as_it_would_run(spark, tmp_path, engine, marks, report, properties):
    path = make(spark, tmp_path / "t", properties, files=2)
    for change in (
        "DELETE FROM {} WHERE id < 3",
        "ALTER TABLE {} ADD COLUMN more STRING",
        "DELETE FROM {} WHERE id = 20",
    ):
        spark.sql(change.format(f"delta.`{path}`"))
    before = bytes_of(path)
    commands = deletion(path, "id >= 30"), Optimize("t", path=str(path)), restoration(path, 0)
    found = [engine.rehearse(command, {}, 3, marks, report) for command in commands]
    assert [answer["rows_after"] for answer in found] == [26, 36, 40]
    assert (bytes_of(path), left(engine)) == (before, [])
    names = ["numRestoredFiles", "numRemovedFiles", "restoredFilesSize", "removedFilesSize", "tableSizeAfterRestore"]
    real = engine.run(commands[2], {}, Checked(3), marks, report).operation_metrics
    assert {name: real[name] for name in names} == {name: found[2]["operation_metrics"][name] for name in names}


@pytest.mark.parametrize("stage", ["rehearsing: restoring", "rehearsing: reading rows"])
def test_a_table_that_is_swapped_meanwhile_is_not_followed(spark, tmp_path, engine, marks, report, stage):
    """The clone's log names its files: what lies at its path by then may lie outside the roots."""
    path = make(spark, tmp_path / "t", files=1)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id < 3")

    def swap() -> None:
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")

    report.at[stage] = swap
    with pytest.raises(CommandRefused, match="is a link") as refused:
        engine.rehearse(restoration(path, 0), {}, 1, marks, report)
    assert (refused.value.refusals[0].code, left(engine)) == ("outside_roots", [])


def test_a_clone_is_a_table_of_another_place_to_everything_else(runtime, tmp_path, marks):
    """Only while it is rehearsed, and by that very path, may a log name files of its source."""
    with job_session(runtime, marks) as spark:
        path = make(spark, tmp_path / "t", files=1)
        spark.sql(f"CREATE TABLE delta.`{tmp_path}/clone` SHALLOW CLONE delta.`{path}`").collect()
        directory = judged(f"{tmp_path}/clone")
        with allowing(OwnClone(directory.path, str(path), f"file:{path}", directory.check_place)):
            assert table_at(spark, directory, None)
        with pytest.raises(CommandRefused, match="outside its directory"):
            table_at(spark, directory, None)
        for other in (
            OwnClone(directory.path, str(path), f"file:{path}x", directory.check_place),
            OwnClone(f"{path}x", str(path), f"file:{path}", directory.check_place),
        ):
            with allowing(other), pytest.raises(CommandRefused, match="outside its directory"):
                table_at(spark, directory, None)


def test_a_table_of_an_object_store_is_rehearsed_on_a_clone_on_disk(
    engine, marks, report, convert, monkeypatch, tmp_path
):
    store, path = ObjectStore(), "s3://lake/rehearsed/orders of [2026]"
    monkeypatch.setattr(object_stores, "_lookup", store.lookup)
    for number in range(2):
        rows = io.BytesIO()
        pq.write_table(pa.table({"id": list(range(10 * number, 10 * number + 10))}), rows)
        store.put(f"rehearsed/orders of [2026]/part-{number}.parquet", rows.getvalue())
    assert convert(path).version == 0
    metadata = open_log(path).snapshot(None, tmp_path / "files.arrow").metadata
    assert metadata
    tree = to_json(parse("id < 5", schema_of(parse_schema(metadata.schema_json))))
    engine.run(Delete("t", "id < 5", path, tree), {}, Checked(0), marks, report)
    before = store.names("rehearsed/")
    commands = (Optimize("t", path=path), Restore("t", 0, path))
    found = [engine.rehearse(command, {}, 1, marks, report) for command in commands]
    assert [answer["rows_after"] for answer in found] == [15, 20]
    assert found[0]["operation_metrics"]["numAddedFiles"] == "1"
    assert (store.names("rehearsed/"), left(engine)) == (before, [])
    store.remove("rehearsed/orders of [2026]/part-0.parquet")
    with pytest.raises(CommandRefused, match=r"no longer holds 1 file .*/part-0\.parquet"):
        engine.rehearse(Restore("t", 0, path), {}, 1, marks, report)
    assert left(engine) == []
    store.shut()


def test_what_earlier_rehearsals_left_is_swept_before_the_next_and_at_the_next_start(tmp_path):
    left = tmp_path / rehearsal.FOLDER / "levee-x-0-00000000"
    (left / "newest").mkdir(parents=True)
    with rehearsal.fresh_place(tmp_path, "levee-x-0") as place:
        assert place != left
        assert not left.exists()
        assert place.stat().st_mode & 0o777 == 0o700
    assert not place.exists()
    (left / "newest").mkdir(parents=True)
    rehearsal.sweep(tmp_path)
    assert not (tmp_path / rehearsal.FOLDER).exists()
    rehearsal.sweep(tmp_path)


def test_what_other_threads_of_the_worker_rehearse_meanwhile_stays(tmp_path):
    with rehearsal.fresh_place(tmp_path, "levee-x-0") as first:
        (first / "newest").mkdir()
        with rehearsal.fresh_place(tmp_path, "levee-y-0") as second:
            assert first != second
            rehearsal.sweep(tmp_path)
            assert (first / "newest").is_dir()
            assert second.is_dir()
        assert (first / "newest").is_dir()
    assert not first.exists()
