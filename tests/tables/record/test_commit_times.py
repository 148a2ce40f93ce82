"""Stored times of commits, told anew when in-commit timestamps are switched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from console.audit.actor import Actor
from tables.catalog.adding import additions
from tables.models import Commit, Root, Table, TableDay
from tables.record.live_files import files_path
from tables.sync import table as syncing
from tests.tables.deltalog.writing import PROTOCOL, LogWriter, info, metadata

FILES = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
OWN = datetime(2020, 9, 13, 12, 26, 40, tzinfo=UTC)
ON = {"delta__enableInCommitTimestamps": "true"}


@pytest.fixture
def writer(lake: Path) -> LogWriter:
    return LogWriter(lake / "timed")


@pytest.fixture
def timed(writer: LogWriter, admin: Actor, root: Root) -> Table:
    """Three commits that tell their own times."""
    for version, actions in enumerate(([PROTOCOL, metadata(**ON)], [], [])):
        commit(writer, version, *actions)
    return additions.add_table(admin, str(writer.table)).table


def commit(writer: LogWriter, version: int, *actions: dict[str, Any]) -> None:
    own = int(OWN.timestamp() * 1000) + 1000 * version
    writer.commit(version, info(inCommitTimestamp=own), *actions)


def times(table: Table) -> list[datetime | None]:
    rows = Commit.objects.filter(table=table).order_by("version")
    return [row.committed_at for row in rows]


def days(table: Table) -> dict[str, int]:
    return {f"{row.day}": row.commits for row in TableDay.objects.filter(table=table)}


def by_file(*versions: int) -> list[datetime]:
    return [FILES + timedelta(seconds=version) for version in versions]


def by_itself(*versions: int) -> list[datetime]:
    return [OWN + timedelta(seconds=version) for version in versions]


def test_stored_times_become_those_of_the_files_when_the_feature_is_switched_off(
    writer: LogWriter, timed: Table
) -> None:
    assert times(timed) == by_itself(0, 1, 2)
    commit(writer, 3, metadata())
    table = syncing.sync(timed.pk)
    assert times(timed) == by_file(0, 1, 2, 3)
    assert table.last_commit_at == by_file(3)[0]
    assert days(timed) == {"2023-11-14": 4}


def test_switched_on_again_they_are_their_own_from_then_on(writer: LogWriter, timed: Table) -> None:
    commit(writer, 3, metadata())
    syncing.sync(timed.pk)
    again = {"delta__inCommitTimestampEnablementVersion": "4", "delta__inCommitTimestampEnablementTimestamp": "0"}
    commit(writer, 4, metadata(**ON, **again))
    commit(writer, 5)
    syncing.sync(timed.pk)
    assert times(timed) == by_file(0, 1, 2, 3) + by_itself(4, 5)
    assert days(timed) == {"2020-09-13": 2, "2023-11-14": 4}


def test_a_table_first_seen_after_the_switches_is_told_alike(writer: LogWriter, admin: Actor, root: Root) -> None:
    again = {"delta__inCommitTimestampEnablementVersion": "3", "delta__inCommitTimestampEnablementTimestamp": "0"}
    for version, actions in enumerate(([PROTOCOL, metadata(**ON)], [], [metadata()], [metadata(**ON, **again)])):
        commit(writer, version, *actions)
    table = additions.add_table(admin, str(writer.table)).table
    assert times(table) == by_file(0, 1, 2) + by_itself(3)
    assert days(table) == {"2020-09-13": 1, "2023-11-14": 3}


def test_without_its_saved_files_stored_times_are_told_anew_too(writer: LogWriter, timed: Table) -> None:
    files_path(timed.pk).unlink()
    commit(writer, 3, metadata())
    syncing.sync(timed.pk)
    assert times(timed) == by_file(0, 1, 2, 3)


def test_commits_that_have_left_the_log_keep_their_times(writer: LogWriter, timed: Table) -> None:
    writer.checkpoint(2, PROTOCOL, metadata(**ON))
    writer.file(0).unlink()
    commit(writer, 3, metadata())
    syncing.sync(timed.pk)
    assert times(timed) == by_itself(0) + by_file(1, 2, 3)


def test_nothing_is_told_anew_while_the_setting_stays(
    writer: LogWriter, timed: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tables.record.commit_times._write", None)
    commit(writer, 3, metadata(**ON, comment="the same"))
    syncing.sync(timed.pk)
    assert times(timed) == by_itself(0, 1, 2, 3)
