"""Syncs of unchanged tables: one look tells that nothing has happened, and whatever has happened goes the full way."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from deltalake import DeltaTable
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.audit.actor import Actor
from tables.catalog.adding import additions
from tables.models import Baseline, Commit, Root, SyncTimes, Table
from tables.record import history_gaps, log_extent
from tables.record.live_files import files_path
from tables.sync import claims, fingerprint, log_access, unchanged
from tables.sync import table as syncing
from tests.factories import lakes

Write = Callable[..., Path]


def log_of(table: Table) -> Path:
    return Path(table.path) / "_delta_log"


def commit_file(table: Table, version: int) -> Path:
    return log_of(table) / f"{version:020d}.json"


def make_due(*tables: Table) -> None:
    overdue = timezone.now() - timedelta(seconds=1)
    chosen = SyncTimes.objects.filter(pk__in=[table.pk for table in tables]) if tables else SyncTimes.objects
    chosen.update(next_sync_at=overdue)


def times(table: Table) -> SyncTimes:
    return SyncTimes.objects.get(pk=table.pk)


def sync_all() -> int:
    """Syncs until nothing is due; how many claims it took."""
    taken = 0
    while unchanged.sync_claimed():
        taken += 1
    return taken


@pytest.fixture
def orders(admin: Actor, root: Root, write: Write) -> Table:
    """A table of two commits, read in full."""
    write()
    write(mode="append")
    return additions.add_table(admin, str(write(mode="append"))).table


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """The tables that are read in full, as they are."""
    real, tables = syncing.sync, []

    def sync(table_id: UUID, **how: bool) -> Table:
        tables.append(table_id)
        return real(table_id, **how)

    monkeypatch.setattr(syncing, "sync", sync)
    return tables


def test_tables_without_a_change_are_looked_at_and_not_read(
    admin: Actor, root: Root, write: Write, read: list[UUID]
) -> None:
    tables = [additions.add_table(admin, str(write(name))).table for name in "abc"]
    before = [times(table) for table in tables]
    stored = list(Table.objects.order_by("pk").values())
    read.clear()
    make_due()
    assert sync_all() == 1
    assert read == []
    assert list(Table.objects.order_by("pk").values()) == stored
    for table, was in zip(tables, before, strict=True):
        now = times(table)
        assert (now.quiet_syncs, now.fingerprint) == (was.quiet_syncs + 1, was.fingerprint)
        assert now.synced_at is not None
        assert was.synced_at is not None
        assert now.next_sync_at is not None
        assert now.synced_at > was.synced_at
        pause = (now.next_sync_at - timezone.now()).total_seconds()
        assert pause == pytest.approx(300 * 2**now.quiet_syncs, abs=60)


def test_more_tables_take_no_more_queries(admin: Actor, root: Root, write: Write) -> None:
    counts = []
    for names in ("a", "bcdef"):
        for name in names:
            additions.add_table(admin, str(write(name)))
        make_due()
        with CaptureQueriesContext(connection) as queries:
            assert unchanged.sync_claimed()
        counts.append(len(queries))
    assert counts[0] == counts[1]


def append(table: Table) -> None:
    lakes.delta(table.path, {"id": [9], "country": ["FR"]}, mode="append")


def rewrite_head(table: Table) -> None:
    commit_file(table, 2).write_bytes(commit_file(table, 2).read_bytes() + b"\n")


def recreate(table: Table) -> None:
    shutil.rmtree(table.path)
    for mode in ("error", "append", "append"):
        lakes.delta(table.path, {"id": [1, 2], "country": ["X", "Y"]}, mode=mode)


def add_checkpoint(table: Table) -> None:
    DeltaTable(table.path).create_checkpoint()


def clean(table: Table) -> None:
    commit_file(table, 0).unlink()


def cut(table: Table) -> None:
    commit_file(table, 2).unlink()


def swap_head_for_directory(table: Table) -> None:
    commit_file(table, 2).unlink()
    commit_file(table, 2).mkdir()


def remove_log(table: Table) -> None:
    shutil.rmtree(log_of(table))


def remove_directory(table: Table) -> None:
    shutil.rmtree(table.path)


def link_log(table: Table) -> None:
    moved = log_of(table).rename(Path(table.path) / "elsewhere")
    log_of(table).symlink_to(moved)


def link_table(table: Table) -> None:
    moved = Path(table.path).rename(f"{table.path}-elsewhere")
    Path(table.path).symlink_to(moved)


def lose_live_files(table: Table) -> None:
    files_path(table.pk).unlink()


def swap_live_files(table: Table) -> None:
    shutil.copy(files_path(table.pk), files_path(table.pk).with_name("other"))
    files_path(table.pk).with_name("other").replace(files_path(table.pk))


def leave_half_a_sync(table: Table) -> None:
    files_path(table.pk).with_name("live.arrow.4711.new").write_bytes(b"half")


def leave_the_root(table: Table) -> None:
    Root.objects.update(uri="/elsewhere")


CHANGES = (
    append, rewrite_head, recreate, add_checkpoint, clean, cut, swap_head_for_directory, remove_log, remove_directory, link_log,
    link_table, lose_live_files, swap_live_files, leave_half_a_sync, leave_the_root,
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_changed_table_is_read_in_full(orders: Table, read: list[UUID], change: Callable[[Table], None]) -> None:
    make_due()
    change(orders)
    assert sync_all() == 1
    assert read == [orders.pk]


def test_what_a_look_notices_is_in_the_entry_after_one_claim(orders: Table) -> None:
    append(orders)
    make_due()
    assert unchanged.sync_claimed()
    assert Table.objects.get().version == 3
    remove_directory(orders)
    make_due()
    assert unchanged.sync_claimed()
    assert Table.objects.get().missing_since is not None
    assert times(orders).fingerprint == ""


def test_another_release_reads_each_table_in_full_once(
    orders: Table, read: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprint, "code", lambda: "another release")
    for _ in range(2):
        make_due()
        sync_all()
    assert read == [orders.pk]


def test_the_code_that_reads_logs_is_in_the_fingerprint() -> None:
    sources = {path.relative_to(fingerprint.APP).as_posix() for path in fingerprint.sources()}
    assert {"rules/health.py", "deltalog/replay/sync.py", "record/log_extent.py", "sync/table.py"} <= sources
    assert len(fingerprint.code()) == 32


@pytest.mark.parametrize("change", [swap_live_files, append], ids=lambda change: change.__name__)
def test_a_table_that_was_read_in_full_is_known_again(
    orders: Table, read: list[UUID], change: Callable[[Table], None]
) -> None:
    change(orders)
    for _ in range(2):
        make_due()
        sync_all()
    assert read == [orders.pk]


def test_a_commit_that_comes_while_a_log_is_read_is_noticed(orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    real = log_extent.measure

    def measure(*given: Any) -> None:
        monkeypatch.setattr(log_extent, "measure", real)
        append(orders)
        real(*given)

    monkeypatch.setattr(log_extent, "measure", measure)
    append(orders)
    make_due()
    sync_all()
    assert Table.objects.get().version == 3
    make_due()
    sync_all()
    assert Table.objects.get().version == 4


def test_a_log_with_something_broken_in_it_is_read_each_time(orders: Table, read: list[UUID]) -> None:
    """A file that is mended keeps its name, and may keep its size and time."""
    append(orders)
    append(orders)
    whole = commit_file(orders, 3).read_bytes()
    commit_file(orders, 3).write_bytes(whole[:40])
    syncing.sync(orders.pk)
    assert Table.objects.get().problems
    assert times(orders).fingerprint == ""
    commit_file(orders, 3).write_bytes(whole)
    make_due()
    sync_all()
    assert Table.objects.get().problems == []


def test_a_directory_without_a_log_is_measured_each_time(
    admin: Actor, root: Root, lake: Path, read: list[UUID]
) -> None:
    lakes.parquet(lake / "plain" / "x.parquet", {"id": [1, 2]})
    table = additions.add_table(admin, str(lake / "plain")).table
    lakes.parquet(lake / "plain" / "y.parquet", {"id": [1, 2]})
    make_due()
    sync_all()
    table.refresh_from_db()
    assert (table.num_files, times(table).fingerprint) == (2, "")


def test_a_sync_that_failed_leaves_no_fingerprint(orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("hostile")

    with monkeypatch.context() as patched:
        patched.setattr(log_extent, "measure", fail)
        assert syncing.sync(orders.pk).sync_error
    assert times(orders).fingerprint == ""
    make_due()
    sync_all()
    assert Table.objects.get().sync_error == ""


def test_a_history_whose_beginning_is_not_told_is_tried_again(orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a checkpoint that can't be read now; it has its name already when it can."""
    add_checkpoint(orders)
    Commit.objects.filter(table=orders, version=0).delete()
    with monkeypatch.context() as patched:
        patched.setattr(history_gaps, "TRIED", 0)
        syncing.sync(orders.pk)
    assert times(orders).fingerprint == ""
    make_due()
    sync_all()
    assert Baseline.objects.get().unknown_from == 0
    assert times(orders).fingerprint


def test_what_a_person_declared_of_a_table_before_its_conversion_is_emptied(orders: Table) -> None:
    Table.objects.update(catalog_entry={"schema": None, "partition_columns": []})
    make_due()
    sync_all()
    assert Table.objects.get().catalog_entry is None


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Has `act` happen right after the look at a table."""
    real = unchanged.is_unchanged

    def look(claimed: claims.Claimed) -> bool:
        same = real(claimed)
        act()
        return same

    monkeypatch.setattr(unchanged, "is_unchanged", look)


def test_what_another_sync_wrote_meanwhile_stays(orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def change() -> None:
        append(orders)
        syncing.sync(orders.pk)

    make_due()
    meanwhile(monkeypatch, change)
    unchanged.sync_claimed()
    assert times(orders).quiet_syncs == 0


def test_what_another_sync_wrote_meanwhile_is_not_given_back(orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    append(orders)
    make_due()
    claimed = claims.claim()
    syncing.sync(orders.pk)
    claims.release(claimed)
    assert times(orders).fingerprint
    assert not claims.claim()


def test_a_table_that_a_job_wants_read_meanwhile_stays_due(orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    make_due()
    meanwhile(monkeypatch, lambda: log_access.sync_soon(orders.pk))
    unchanged.sync_claimed()
    assert [each.table_id for each in claims.claim()] == [orders.pk]


@pytest.mark.parametrize(
    "setting",
    [{"sync_seconds": 600}, {"sync_seconds": None}, {"paused_at": datetime(2026, 1, 1, tzinfo=UTC)}],
    ids=["shorter", "by hand", "paused"],
)
def test_a_pause_that_is_changed_meanwhile_is_heeded(
    orders: Table, monkeypatch: pytest.MonkeyPatch, setting: dict[str, Any]
) -> None:
    """Of the root's tables those get other times that are due later than the new pause: a claimed one isn't."""
    SyncTimes.objects.update(quiet_syncs=8)
    make_due()
    meanwhile(monkeypatch, lambda: Root.objects.update(**setting))
    unchanged.sync_claimed()
    assert times(orders).quiet_syncs == 8
    due_at = times(orders).next_sync_at
    assert due_at is not None
    assert due_at < timezone.now() + syncing.CLAIM


def test_the_time_of_a_look_is_before_it(orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that ended after it may have committed after it."""
    seen = []
    make_due()
    meanwhile(monkeypatch, lambda: seen.append(timezone.now()))
    unchanged.sync_claimed()
    synced = times(orders).synced_at
    assert synced is not None
    assert synced < seen[0]


def test_changed_tables_are_shared_out_again(admin: Actor, root: Root, write: Write, read: list[UUID]) -> None:
    tables = [additions.add_table(admin, str(write(name))).table for name in "abcd"]
    for table in tables[:3]:
        append(table)
    make_due()
    read.clear()
    assert unchanged.sync_claimed()
    assert len(read) == 1
    waiting = SyncTimes.objects.filter(next_sync_at__lt=timezone.now())
    assert [each.fingerprint for each in waiting] == ["", ""]
    assert times(tables[3]).quiet_syncs == 1
    assert sync_all() == 2
    assert set(Table.objects.values_list("name", "version")) == {("a", 1), ("b", 1), ("c", 1), ("d", 0)}


@pytest.mark.django_db(transaction=True)
def test_a_row_that_another_transaction_holds_is_not_waited_for(orders: Table) -> None:
    make_due()
    (claimed,) = claims.claim()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            SyncTimes.objects.select_for_update().get(pk=orders.pk)
            held.set()
            done.wait(20)
        connection.close()

    other = threading.Thread(target=hold)
    other.start()
    assert held.wait(20)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("set local lock_timeout = '2s'")
            unchanged.stamp([claimed], timezone.now())
            claims.release([claimed])
    finally:
        done.set()
        other.join()
    assert times(orders).next_sync_at == claimed.until


def test_object_stores_are_asked_about_several_tables_at_once(
    admin: Actor, root: Root, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        additions.add_table(admin, str(write(name)))
    make_due()
    for table in Table.objects.all():
        Table.objects.filter(pk=table.pk).update(path=f"s3://bucket/{table.name}")
    both = threading.Barrier(2)

    def look(_claimed: claims.Claimed, _log: object) -> bool:
        both.wait(60)
        return True

    monkeypatch.setattr(unchanged, "_is_as_it_was", look)
    assert unchanged.sync_claimed()
    assert SyncTimes.objects.filter(next_sync_at__gt=timezone.now() + syncing.CLAIM).count() == 2


class Together:
    """Syncs that end once as many as expected run at once, or nobody has come for so long."""

    def __init__(self, expected: int, seconds: float) -> None:
        self.running = self.most = 0
        self._lock, self._expected, self._seconds = threading.Condition(), expected, seconds

    def sync(self, table_id: UUID) -> None:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
            self._lock.notify_all()
            self._lock.wait_for(lambda: self.most >= self._expected, timeout=self._seconds)
            self.running -= 1


@pytest.mark.parametrize(
    ("place", "patience", "at_once"),
    [("/lake/t", 60.0, 1), ("s3://lake/t", 60.0, 3), ("/lake/t", 0.0, 3)],
    ids=["of a disk, one", "of a store, all", "nobody waits long for another's"],
)
def test_a_lake_that_comes_in_leaves_a_processor_to_the_pages(
    monkeypatch: pytest.MonkeyPatch, place: str, patience: float, at_once: int
) -> None:
    syncs = Together(3, 0.2 if at_once == 1 else 60)
    monkeypatch.setattr(unchanged, "_readers", unchanged.Readers(1))
    monkeypatch.setattr(unchanged, "PATIENCE_S", patience)
    monkeypatch.setattr(syncing, "sync", syncs.sync)
    threads = [threading.Thread(target=unchanged._read, args=(UUID(int=n), place)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert syncs.most == at_once


def test_a_table_that_takes_long_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    readers, asked = unchanged.Readers(1), []
    acquire = readers._permits.acquire

    def noted(timeout: float) -> bool:
        asked.append(timeout)
        return acquire(timeout=0)

    monkeypatch.setattr(readers._permits, "acquire", noted)
    with readers.turn():  # the long one
        for _ in range(3):
            with readers.turn():
                pass
    with readers.turn():
        pass
    with readers.turn():
        pass
    assert asked == [unchanged.PATIENCE_S, unchanged.PATIENCE_S, 0, 0, 0, unchanged.PATIENCE_S]
