"""A vacuum by real Delta whose JVM is killed while it deletes: what its job then says is what another reader finds on the disk."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import uuid
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.factories import lakes
from tests.jobs.commands.vacuum.aged import DAY_MS, now_ms
from tests.jobs.commands.vacuum.generated import PLAIN
from tests.jobs.instance import Instance, opened
from tests.jobs.test_real_delta import SPARK_S, TIMING
from tests.patience import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(600)]
HOURS = 48
# Of the files that go. The kill needs only a part of the time that Delta takes for them, but a busy machine may be late with it.
SIZES = (4_000, 16_000, 60_000)
START = 3


@pytest.fixture
def instance():
    folder = Path(tempfile.mkdtemp(prefix="levee-vacuum-"))
    try:
        with opened(folder, TIMING, engine="spark") as made:
            made.add_worker()
            made.add_dispatcher()
            made.wait_ready(quiet_s=SPARK_S)
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class OldTable:
    """Version 0 has many files, of which each of the next two removes a half. They are one file under many names, which tells at any
    moment how many of them are left."""

    def __init__(self, path: Path, files: int) -> None:
        self.path = path
        self.one = lakes.parquet(path.parent.parent / f"{path.name}.parquet", {"id": [1, 2, 3]})
        self.doomed = [f"part-{number:05}.parquet" for number in range(files)]
        (path / "_delta_log").mkdir(parents=True)
        for name in self.doomed:
            os.link(self.one, path / name)
        os.utime(self.one, (self._at(5), self._at(5)))
        half = files // 2
        self._commit(0, 5, [*_PROTOCOL, *map(self._add, self.doomed)])
        self._commit(1, 4, [self._own("a"), *map(self._remove(4), self.doomed[:half])])
        self._commit(2, 3, [self._own("b"), *map(self._remove(3), self.doomed[half:])])

    def _at(self, days: float) -> float:
        return (now_ms() - days * DAY_MS) / 1000

    def _own(self, name: str) -> dict[str, Any]:
        """A file that stays."""
        lakes.parquet(self.path / f"{name}.parquet", {"id": [4, 5]})
        return self._add(f"{name}.parquet")

    def _add(self, name: str) -> dict[str, Any]:
        file: dict[str, Any] = {"path": name, "size": (self.path / name).stat().st_size, "partitionValues": {}}
        return {"add": file | {"modificationTime": 1, "dataChange": True}}

    def _remove(self, days: float) -> Any:
        at = int(self._at(days) * 1000)
        size = self.one.stat().st_size
        return lambda name: {"remove": {"path": name, "deletionTimestamp": at, "dataChange": True, "size": size}}

    def _commit(self, version: int, days: float, actions: list[dict[str, Any]]) -> None:
        at = self._at(days)
        told = {"commitInfo": {"timestamp": int(at * 1000), "operation": "WRITE", "operationParameters": {}}}
        file = self.path / "_delta_log" / f"{version:020d}.json"
        file.write_text("\n".join(map(json.dumps, [told, *actions])))
        os.utime(file, (at, at))

    def left(self) -> list[str]:
        there = {entry.name for entry in os.scandir(self.path)}
        return [name for name in self.doomed if name in there]

    def is_being_deleted(self) -> bool:
        """Whether the first of the files is gone."""
        return self.one.stat().st_nlink <= len(self.doomed)

    def operations(self) -> list[str]:
        """Of the vacuums' commits."""
        commits = sorted((self.path / "_delta_log").glob(f"{'[0-9]' * 20}.json"))[START:]
        lines = [json.loads(line) for commit in commits for line in commit.read_text().splitlines()]
        return [line["commitInfo"]["operation"] for line in lines if "commitInfo" in line]

    def lost(self) -> list[int]:
        """The versions that another reader finds without one of their files."""
        return [version for version in range(START) if not self._is_whole(version)]

    def _is_whole(self, version: int) -> bool:
        there = {entry.name for entry in os.scandir(self.path)}
        return {Path(uri).name for uri in DeltaTable(str(self.path), version=version).file_uris()} <= there


_SCHEMA = {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]}
_METADATA: dict[str, Any] = {
    "id": str(uuid.uuid4()),
    "format": {"provider": "parquet", "options": {}},
    "schemaString": json.dumps(_SCHEMA),
    "partitionColumns": [],
    "configuration": {},
    "createdTime": 0,
}
_PROTOCOL = (PLAIN, {"metaData": _METADATA})


def seen_of(instance: Instance, job: str) -> object:
    return instance.story(job), instance.error(job), instance.tail()


def killed_half_way(instance: Instance) -> tuple[OldTable, str]:
    """A table of which a vacuum has deleted some files, and its job, which has ended."""
    for files in SIZES:
        table = OldTable(instance.lake / f"files_{files}", files)
        instance.wait_ready(quiet_s=SPARK_S)
        jvm = instance.victims()["jvm"]
        job = instance.ask("vacuum", path=str(table.path), hours=HOURS)["job"]
        told = partial(seen_of, instance, job)
        wait_for(table.is_being_deleted, "the vacuum deletes files", SPARK_S, told, every_s=0.0005)
        os.kill(jvm, signal.SIGKILL)
        instance.wait_state(job, quiet_s=SPARK_S)
        if table.left() and table.operations() == ["VACUUM START"]:
            return table, job
    raise AssertionError(f"no kill came before the end of a vacuum of {SIZES} files")


def result_of(instance: Instance, job: str) -> dict[str, Any]:
    ((result,),) = instance.rows("select result from jobs_job where id = %s", job)
    return dict(result)


def test_a_jvm_killed_between_start_and_end_leaves_a_job_that_says_what_is_gone_and_left(instance):
    table, job = killed_half_way(instance)
    left = len(table.left())
    gone = len(table.doomed) - left
    ended, details, error = instance.job(job), result_of(instance, job)["details"], instance.error(job)
    assert (ended["state"], ended["version"], ended["attempt"], error["code"]) == ("failed", START, 1, "incomplete")
    assert (details["files"], details["remaining"], details["proven"]) == (gone, left, False)
    assert details["bytes"] == gone * table.one.stat().st_size
    lost = [version for first, last in details["versions_lost"] for version in range(first, last + 1)]
    assert lost == table.lost()
    assert 0 in lost
    assert 2 not in lost
    text = (
        f"of the {gone + left:,} files that it was to delete, {gone:,} {'is' if gone == 1 else 'are'} gone and {left:,}"
    )
    assert text in error["message"]
    assert error["table_state"].startswith("The newest version is whole. You can no longer read version")
    assert sorted(DeltaTable(str(table.path), version=2).to_pyarrow_table()["id"].to_pylist()) == [4, 4, 5, 5]
    finish(instance, table, left)


def finish(instance: Instance, table: OldTable, left: int) -> None:
    """A second vacuum deletes what is left."""
    instance.wait_ready(quiet_s=SPARK_S)
    job = instance.ask("vacuum", path=str(table.path), hours=HOURS)["job"]
    wait_for(
        lambda: instance.job(job)["finished_at"],
        "the job has ended",
        SPARK_S,
        lambda: (instance.story(job), instance.tail()),
    )
    details = result_of(instance, job)["details"]
    assert (instance.job(job)["state"], details["files"], details["remaining"]) == ("succeeded", left, 0)
    assert table.left() == []
    assert table.operations() == ["VACUUM START", "VACUUM START", "VACUUM END"]
    assert table.lost() == [0, 1]
    assert sorted(DeltaTable(str(table.path)).to_pyarrow_table()["id"].to_pylist()) == [4, 4, 5, 5]
