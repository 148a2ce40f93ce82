"""Logs that were rewritten behind Levee's back: the same table, said so in words, and shown as it is now."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from django.utils import timezone

from console.audit.actor import Actor
from tables.catalog.adding import additions
from tables.history import queries
from tables.models import Commit, Explanation, Root, Table
from tables.sync import table as syncing
from tests.tables.deltalog.writing import PROTOCOL, LogWriter, add, info, metadata, remove


@pytest.fixture
def log(lake: Path) -> LogWriter:
    log = LogWriter(lake / "orders")
    log.create()
    for version in range(1, 5):
        log.commit(version, info(txnId=f"first-{version}"), add(f"f{version}"))
    return log


@pytest.fixture
def table(admin: Actor, root: Root, log: LogWriter) -> Table:
    return additions.add_table(admin, str(log.table)).table


def texts(table: Table) -> list[str]:
    return [finding["text"] for finding in table.health if finding["code"] == "rewritten"]


def operations(table: Table) -> dict[int, str]:
    return dict(Commit.objects.filter(table=table).values_list("version", "operation"))


def test_a_bad_last_commit_removed_by_hand_leaves_the_same_table(table: Table, log: LogWriter) -> None:
    log.file(4).unlink()
    table = syncing.sync(table.pk)
    assert (table.incarnation, table.version, table.num_files) == (0, 3, 3)
    assert not table.earlier.exists()
    (text,) = texts(table)
    assert text.startswith("The log was rewritten from version 4 on, seen on ")
    assert "Levee had read v4 WRITE there." in text
    assert max(operations(table)) == 3


def test_what_is_written_after_that_is_shown_as_it_is(table: Table, log: LogWriter) -> None:
    log.file(4).unlink()
    syncing.sync(table.pk)
    log.commit(4, info("DELETE", txnId="other"), remove("f1"))
    table = syncing.sync(table.pk)
    assert (table.version, table.num_files) == (4, 2)
    assert operations(table)[4] == "DELETE"
    assert Explanation.objects.get(table=table).version == 4
    assert texts(table)


def test_rewritten_versions_show_what_the_log_says_now(table: Table, log: LogWriter) -> None:
    log.commit(3, info("DELETE", txnId="a"), remove("f1"))
    log.commit(4, info("MERGE", txnId="b"), add("g"))
    log.commit(5, info("WRITE", txnId="c"), add("h"))
    table = syncing.sync(table.pk)
    assert (table.incarnation, table.version, table.num_files) == (0, 5, 3)
    assert operations(table) == {0: "CREATE TABLE", 1: "WRITE", 2: "WRITE", 3: "DELETE", 4: "MERGE", 5: "WRITE"}
    assert table.rewritten is not None
    assert table.rewritten["from_version"] == 3
    assert [commit["txn_id"] for commit in table.rewritten["commits"]] == ["first-3", "first-4"]
    assert list(Explanation.objects.values_list("version", flat=True)) == [3]  # the MERGE only inserts
    assert sum(day.commits for day in queries.days_of(table, timezone.now().replace(year=2023, month=12, day=1))) == 6


def test_who_stands_behind_a_rewritten_commit_is_asked_again(table: Table, log: LogWriter) -> None:
    log.commit(5, info("DELETE", txnId="x"), remove("f1"))
    syncing.sync(table.pk)
    Explanation.objects.update(verdict=Explanation.Verdict.APPROVED)
    log.commit(5, info("DELETE", txnId="y"), remove("f2"), remove("f3"))
    syncing.sync(table.pk)
    assert Explanation.objects.get().verdict == Explanation.Verdict.WAITING


def test_a_copied_log_is_not_rewritten(table: Table, log: LogWriter) -> None:
    for version in range(5):
        os.utime(log.file(version))
    table = syncing.sync(table.pk)
    assert (table.incarnation, table.version, texts(table)) == (0, 4, [])
    newest = Commit.objects.get(table=table, version=4)
    assert newest.committed_at is not None
    assert newest.committed_at.year == timezone.now().year


def test_a_shorter_log_of_another_table_is_another_one(table: Table, log: LogWriter) -> None:
    shutil.rmtree(log.table)
    other = LogWriter(log.table)
    other.commit(0, info("CREATE TABLE"), PROTOCOL, metadata("table-2"))
    table = syncing.sync(table.pk)
    assert (table.incarnation, table.version, texts(table)) == (1, 0, [])


def test_a_log_that_says_nothing_of_itself_is_no_other_table(table: Table, log: LogWriter) -> None:
    log.raw(0, b"{}")
    log.file(4).unlink()
    table = syncing.sync(table.pk)
    assert table.incarnation == 0
    assert table.sync_error
    assert queries.commit_at(table, 0).problems
