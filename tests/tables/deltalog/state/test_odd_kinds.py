"""Commits whose values are of other kinds than Delta's schema has: Levee reads them, Spark can't open the table, and that is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tables.deltalog.read.problems import ProblemCode
from tables.deltalog.replay.log import DeltaLog
from tables.deltalog.replay.obstacles import obstacles
from tables.deltalog.state.snapshot import Snapshot, load
from tests.tables.deltalog.odd_kinds import STOPPING, TAKEN, actions
from tests.tables.deltalog.writing import PROTOCOL, LogWriter, add, info, metadata

BAD = actions(("commitInfo", "job"), "job-7")


def cases(table: dict[tuple[str, str], list[Any]]) -> list[Any]:
    return [
        pytest.param(odd, value, id=f"{odd[0]}.{odd[1]}={value}") for odd, values in table.items() for value in values
    ]


def stopping(snapshot: Snapshot) -> list[str]:
    return [problem.file for problem in snapshot.problems if problem.code is ProblemCode.STOPS_SPARK]


@pytest.mark.parametrize(("odd", "value"), cases(STOPPING))
def test_what_spark_cant_parse_stops_it_and_not_levee(
    writer: LogWriter, log: DeltaLog, target: Path, odd: tuple[str, str], value: Any
) -> None:
    writer.create(add("old.parquet"))
    writer.commit(1, *actions(odd, value))
    snapshot = log.sync(target).snapshot()
    assert (snapshot.complete, snapshot.num_files) == (True, 1)
    assert stopping(snapshot) == [f"{1:020d}.json"]
    [found] = obstacles(str(writer.table), snapshot, None)
    assert ".".join(odd) in found.reason


@pytest.mark.parametrize(("odd", "value"), cases(TAKEN))
def test_what_spark_takes_stops_nobody(
    writer: LogWriter, log: DeltaLog, target: Path, odd: tuple[str, str], value: Any
) -> None:
    writer.create(add("old.parquet"))
    writer.commit(1, *actions(odd, value))
    snapshot = log.sync(target).snapshot()
    assert (snapshot.complete, snapshot.num_files, stopping(snapshot)) == (True, 1, [])
    assert obstacles(str(writer.table), snapshot, None) == ()


def test_a_checkpoint_mends_it_at_once_and_at_the_next_sync(writer: LogWriter, log: DeltaLog, target: Path) -> None:
    writer.create(add("old.parquet"))
    writer.commit(1, *BAD)
    before = log.sync(target).snapshot()
    assert stopping(before) == [f"{1:020d}.json"]
    writer.checkpoint(1, PROTOCOL, metadata(), add("new.parquet"))
    assert obstacles(str(writer.table), before, 1) == ()
    assert stopping(log.sync(target.with_name("fresh.arrow")).snapshot()) == []
    writer.commit(2, info(), add("more.parquet"))
    assert stopping(log.sync(target, load(target)).snapshot()) == []


def test_a_commit_after_the_newest_checkpoint_stops_spark_at_later_syncs_too(
    writer: LogWriter, log: DeltaLog, target: Path
) -> None:
    writer.create(add("old.parquet"))
    writer.checkpoint(0, PROTOCOL, metadata(), add("old.parquet"))
    writer.commit(1, *BAD)
    assert stopping(log.sync(target).snapshot()) == [f"{1:020d}.json"]
    writer.commit(2, info())
    later = log.sync(target, load(target)).snapshot()
    assert stopping(later) == [f"{1:020d}.json"]
    assert [found.file for found in obstacles(str(writer.table), later, 0)] == [f"{1:020d}.json"]
    run = log.sync(target.with_name("all.arrow"))
    assert [list(commit.problems) != [] for commit in run.commits()] == [False, True, False]
