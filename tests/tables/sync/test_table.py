from __future__ import annotations

import errno
import importlib
import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from django.db import connection, transaction
from django.utils import timezone

from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from tables.catalog import entries, light_turns, requested_syncs
from tables.catalog.adding import additions
from tables.deltalog.read.filenames import LOG
from tables.deltalog.replay.log import open_log
from tables.models import Commit, Explanation, Root, Schema, SyncTimes, Table
from tables.record import live_files, table_fields
from tables.rules import discovery
from tables.storage.store import StorageError
from tables.sync import table as syncing
from tests.factories import lakes

Write = Callable[..., Path]


@pytest.fixture
def orders(admin: Actor, root: Root, write: Write) -> Table:
    return additions.add_table(admin, str(write())).table


def test_a_new_table_is_read_whole(orders: Table, lake: Path) -> None:
    witness = DeltaTable(str(lake / "orders"))
    assert (orders.format, orders.version, orders.table_id) == ("delta", 0, str(witness.metadata().id))
    assert (orders.num_files, orders.num_records) == (1, 3)
    assert orders.size_bytes == sum(pa.table(witness.get_add_actions())["size_bytes"].to_pylist())
    assert orders.schema is not None
    assert orders.schema.columns == ["id", "country"]
    assert orders.synced_at is not None
    assert orders.sync_error == ""
    assert orders.name == "orders"


def test_history_equals_what_another_reader_says(orders: Table, lake: Path, write: Write) -> None:
    for mode in ("append", "overwrite", "append"):
        write(mode=mode)
    syncing.sync(orders.pk)
    witness = {row["version"]: row for row in DeltaTable(str(lake / "orders")).history()}
    rows = list(Commit.objects.filter(table=orders))
    assert [row.version for row in rows] == [3, 2, 1, 0]
    for row in rows:
        assert row.operation == witness[row.version]["operation"]
        assert row.operation_parameters["mode"] == witness[row.version]["operationParameters"]["mode"]


reader = importlib.import_module("tables.deltalog.replay.sync")


def test_only_what_is_new_is_read(orders: Table, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = reader.read_commit

    def watched(storage, version, *rest):
        read.append(version)
        return real(storage, version, *rest)

    write(mode="append")
    monkeypatch.setattr(reader, "read_commit", watched)
    assert syncing.sync(orders.pk).version == 1
    assert read == [1]
    syncing.sync(orders.pk)
    assert read == [1]


def test_rows_come_from_the_metrics_where_files_do_not_tell_them(orders: Table, lake: Path) -> None:
    DeltaTable(str(lake / "orders")).delete("id = 1")
    syncing.sync(orders.pk)
    changed = dict(Commit.objects.filter(table=orders).values_list("version", "rows_changed"))
    assert changed == {0: 3, 1: -1}


def test_syncing_twice_changes_nothing(orders: Table) -> None:
    before = Table.objects.filter(pk=orders.pk).values("version", "num_files", "layout", "health", "grams").get()
    syncing.sync(orders.pk)
    assert (
        Table.objects.filter(pk=orders.pk).values("version", "num_files", "layout", "health", "grams").get() == before
    )
    assert Commit.objects.filter(table=orders).count() == 1


def test_without_its_saved_files_a_table_is_read_anew(orders: Table, write: Write) -> None:
    live_files.files_path(orders.pk).unlink()
    write(mode="append")
    table = syncing.sync(orders.pk)
    assert (table.version, table.num_files, table.incarnation) == (1, 2, 0)
    assert Commit.objects.filter(table=orders).count() == 2


def test_commits_stay_after_the_log_was_cleaned(orders: Table, lake: Path, write: Write) -> None:
    for _ in range(3):
        write(mode="append")
    DeltaTable(str(lake / "orders")).create_checkpoint()
    syncing.sync(orders.pk)
    for version in range(3):
        (lake / "orders" / "_delta_log" / f"{version:020}.json").unlink()
    write(mode="append")
    table = syncing.sync(orders.pk)
    assert table.sync_error == ""
    assert (table.version, table.first_version, table.first_readable, table.checkpoint_version) == (4, 3, 3, 3)
    assert Commit.objects.filter(table=orders).count() == 5
    assert table.num_files == 5


def test_a_recreated_table_keeps_its_histories_apart(orders: Table, lake: Path, write: Write) -> None:
    first_id = orders.table_id
    write(mode="append")
    syncing.sync(orders.pk)
    shutil.rmtree(lake / "orders")
    write(rows=7)
    table = syncing.sync(orders.pk)
    assert (table.incarnation, table.version, table.num_records) == (1, 0, 7)
    assert table.table_id != first_id
    earlier = table.earlier.get()
    assert (earlier.delta_id, earlier.version) == (first_id, 1)
    assert list(Commit.objects.filter(table=orders).values_list("incarnation", "version")) == [(1, 0), (0, 1), (0, 0)]
    assert "recreated" in table.health_codes


def test_a_recreated_table_is_seen_at_the_same_version_too(orders: Table, lake: Path, write: Write) -> None:
    shutil.rmtree(lake / "orders")
    write(rows=5)
    assert syncing.sync(orders.pk).incarnation == 1


def test_a_copied_back_table_is_the_same_one(orders: Table, lake: Path) -> None:
    shutil.copytree(lake / "orders", lake / "backup", copy_function=shutil.copyfile)
    shutil.rmtree(lake / "orders")
    (lake / "backup").rename(lake / "orders")
    table = syncing.sync(orders.pk)
    assert (table.incarnation, table.version) == (0, 0)


def test_a_vanished_directory_is_said_and_comes_back(orders: Table, lake: Path) -> None:
    (lake / "orders").rename(lake / "elsewhere")
    table = syncing.sync(orders.pk)
    assert table.missing_since is not None
    assert table.health_codes == ["missing"]
    assert (table.version, table.num_files) == (0, 1)
    (lake / "elsewhere").rename(lake / "orders")
    table = syncing.sync(orders.pk)
    assert table.missing_since is None
    assert table.health_codes == []


def test_a_table_behind_a_link_is_not_read(orders: Table, lake: Path, tmp_path: Path) -> None:
    (lake / "orders").rename(tmp_path / "orders")
    (lake / "orders").symlink_to(tmp_path / "orders")
    assert "link" in syncing.sync(orders.pk).sync_error


def test_a_parent_that_is_a_link_by_now_is_not_followed(orders: Table, lake: Path, tmp_path: Path) -> None:
    """Neither by the entry's check nor by the readers behind it, which the check would be too early for."""
    lake.rename(tmp_path / "elsewhere")
    lake.symlink_to(tmp_path / "elsewhere")
    assert "link" in syncing.sync(orders.pk).sync_error
    log = open_log(orders.path)
    for look in (
        log.exists,
        log.listing,
        lambda: log.storage.entry(f"{LOG}/{0:020d}.json"),
        lambda: list(log.actions(0)),
    ):
        with pytest.raises(StorageError, match="link"):
            look()
    assert not discovery.measure(orders.path).files
    assert not discovery.is_delta(orders.path)
    assert discovery.scan(str(lake)).found == ()


def test_a_log_behind_a_link_is_not_read(orders: Table, lake: Path, tmp_path: Path) -> None:
    (lake / "orders" / "_delta_log").rename(tmp_path / "log")
    (lake / "orders" / "_delta_log").symlink_to(tmp_path / "log")
    assert "link" in syncing.sync(orders.pk).sync_error


def test_a_parquet_directory_becomes_a_table_and_back(admin: Actor, root: Root, lake: Path, write: Write) -> None:
    lakes.parquet(lake / "orders" / "x.parquet", {"id": [1, 2]})
    table = additions.add_table(admin, str(lake / "orders")).table
    assert (table.format, table.version, table.num_files, table.num_records) == ("parquet", None, 1, None)
    assert table.size_bytes == (lake / "orders" / "x.parquet").stat().st_size
    write()
    assert syncing.sync(table.pk).format == "delta"
    shutil.rmtree(lake / "orders" / "_delta_log")
    table = syncing.sync(table.pk)
    assert (table.format, table.version, table.incarnation, table.num_files) == ("parquet", None, 1, 2)
    assert table.earlier.get().why == "its Delta log was removed"


def test_a_corrupt_commit_is_named_and_the_rest_is_shown(orders: Table, lake: Path, write: Write) -> None:
    write(mode="append")
    (lake / "orders" / "_delta_log" / f"{2:020}.json").write_bytes(b'{"commitInfo": {"operation": "WRI')
    table = syncing.sync(orders.pk)
    assert (table.version, table.num_files) == (2, 2)
    assert "corrupt_log" in table.health_codes
    assert table.problems[0]["file"] == f"{2:020}.json"
    assert Commit.objects.get(table=orders, version=2).problems


def test_a_mended_commit_is_told_as_it_is_now(orders: Table, lake: Path, write: Write) -> None:
    write(mode="append")
    file = lake / "orders" / "_delta_log" / f"{1:020d}.json"
    whole = file.read_bytes()
    write(mode="append")
    file.write_bytes(whole[: len(whole) // 2])
    table = syncing.sync(orders.pk)
    assert table.health_codes == ["corrupt_log"]
    assert table.num_records is None
    file.write_bytes(whole)
    table = syncing.sync(orders.pk)
    assert (table.problems, table.health_codes, table.num_records) == ([], [], 9)
    row = Commit.objects.get(table=orders, version=1)
    assert (row.problems, row.files_added, row.operation) == ([], 1, "WRITE")


def broken_delete(lake: Path, write: Write, left: bytes = b'{"commitInfo": {"operation": "DEL') -> tuple[Path, bytes]:
    """A delete as version 1 of which only `left` can be read, with a commit after it: its file, and what was in it."""
    DeltaTable(str(lake / "orders")).delete("id = 1")
    file = lake / "orders" / "_delta_log" / f"{1:020d}.json"
    whole = file.read_bytes()
    write(mode="append")
    file.write_bytes(left)
    return file, whole


def test_a_mended_commit_that_takes_rows_away_asks_who_did_it(orders: Table, lake: Path, write: Write) -> None:
    file, whole = broken_delete(lake, write)
    assert syncing.sync(orders.pk).problems
    assert not Explanation.objects.exists()
    file.write_bytes(whole)
    assert syncing.sync(orders.pk).problems == []
    assert [(e.version, e.effects) for e in Explanation.objects.all()] == [(1, ["delete"])]


def test_a_mended_commit_from_before_the_table_was_known_asks_nobody(
    admin: Actor, root: Root, lake: Path, write: Write
) -> None:
    write()
    file, whole = broken_delete(lake, write)
    table = additions.add_table(admin, str(lake / "orders")).table
    assert table.problems
    file.write_bytes(whole)
    assert syncing.sync(table.pk).problems == []
    assert Commit.objects.get(table=table, version=1).operation == "DELETE"
    assert not Explanation.objects.exists()


def test_what_a_mended_commit_does_besides_is_asked_anew(orders: Table, lake: Path, write: Write) -> None:
    left = b'{"commitInfo": {"operation": "MERGE", "operationParameters": {}}}\n{"remo'
    file, whole = broken_delete(lake, write, left)
    assert syncing.sync(orders.pk).problems
    Explanation.objects.update(verdict=Explanation.Verdict.NOBODY)
    assert [(e.version, e.effects) for e in Explanation.objects.all()] == [(1, ["merge"])]
    file.write_bytes(whole)
    syncing.sync(orders.pk)
    assert [(e.effects, e.verdict) for e in Explanation.objects.all()] == [(["delete"], "waiting")]


def test_a_mended_commit_that_takes_nothing_away_is_asked_about_no_more(
    orders: Table, lake: Path, write: Write
) -> None:
    write(mode="append")
    file = lake / "orders" / "_delta_log" / f"{1:020d}.json"
    whole = file.read_bytes()
    write(mode="append")
    file.write_bytes(b'{"commitInfo": {"operation": "MERGE", "operationParameters": {}}}\n{"add')
    assert syncing.sync(orders.pk).problems
    assert Explanation.objects.get().effects == ["merge"]
    file.write_bytes(whole)
    assert syncing.sync(orders.pk).problems == []
    assert not Explanation.objects.exists()


def test_a_sync_by_hand_doubts_what_was_broken(admin: Actor, orders: Table, lake: Path, write: Write) -> None:
    write(mode="append")
    file = lake / "orders" / "_delta_log" / f"{1:020d}.json"
    whole, stamp = file.read_bytes(), file.stat().st_mtime_ns
    file.write_bytes(whole[:-20] + b"\n" * 20)
    os.utime(file, ns=(stamp, stamp))
    assert syncing.sync(orders.pk).problems
    file.write_bytes(whole)
    os.utime(file, ns=(stamp, stamp))  # as some object stores and copies keep it
    assert syncing.sync(orders.pk).problems
    table = requested_syncs.sync_table(admin, orders).table
    assert (table.problems, table.num_records) == ([], 6)
    assert Commit.objects.get(table=orders, version=1).problems == []


def test_hostile_texts_are_kept_as_text(orders: Table, lake: Path) -> None:
    info = '{"commitInfo":{"operation":"a\\u0000b\\ud800<b>","operationParameters":{"x\\u0000":"\\u0000"},"userMetadata":"{\\"job\\":7}"}}'
    (lake / "orders" / "_delta_log" / f"{1:020}.json").write_text(info)
    syncing.sync(orders.pk)
    commit = Commit.objects.get(table=orders, version=1)
    assert commit.operation == "a\N{REPLACEMENT CHARACTER}b?<b>"
    assert commit.job is None


def test_the_job_of_a_commit_is_kept(orders: Table, lake: Path) -> None:
    job = "a81f03c7-4e0d-4f3a-9c55-2b8d61f7a930"
    info = f'{{"commitInfo":{{"operation":"DELETE","userMetadata":"{{\\"job\\":\\"{job}\\",\\"attempt\\":1}}"}}}}'
    (lake / "orders" / "_delta_log" / f"{1:020}.json").write_text(info)
    syncing.sync(orders.pk)
    assert str(Commit.objects.get(table=orders, version=1).job) == job


def test_one_schema_is_one_row(admin: Actor, root: Root, write: Write) -> None:
    for name in ("a", "b", "c"):
        additions.add_table(admin, str(write(name)))
    assert Schema.objects.count() == 1


def test_a_quiet_table_is_read_ever_less_often(orders: Table, root: Root, write: Write) -> None:
    now = timezone.now()
    pauses = [syncing.next_sync(root.sync_seconds, quiet, now) for quiet in (0, 1, 2, 30)]
    assert [(at - now).total_seconds() for at in pauses if at] == [300, 600, 1200, 86400]
    assert syncing.sync(orders.pk).times.quiet_syncs == 1
    write(mode="append")
    assert syncing.sync(orders.pk).times.quiet_syncs == 0
    assert syncing.next_sync(None, 0, now) is None


def test_due_tables_are_synced_once_each(orders: Table, write: Write) -> None:
    write(mode="append")
    assert light_turns.do_next() is False
    SyncTimes.objects.filter(pk=orders.pk).update(next_sync_at=timezone.now() - timedelta(seconds=1))
    assert light_turns.do_next() is True
    orders.refresh_from_db()
    assert orders.version == 1
    assert light_turns.do_next() is False


@pytest.mark.django_db(transaction=True)
def test_what_people_say_while_a_log_is_read_is_found(
    admin: Actor, root: Root, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = additions.add_table(admin, str(write())).table
    real = table_fields.take

    def slow(*given) -> None:
        real(*given)
        with ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(describe).result()

    def describe() -> None:
        entries.update_table(admin, Table.objects.get(pk=table.pk), owner="finance", tags=["gold"])
        connection.close()

    monkeypatch.setattr(table_fields, "take", slow)
    write(mode="append")
    syncing.sync(table.pk)
    table.refresh_from_db()
    assert (table.version, table.owner, table.tags) == (1, "finance", ["gold"])
    assert "finance" in table.words
    assert "gold" in table.words


@pytest.mark.django_db(transaction=True)
def test_syncs_at_once_agree(admin: Actor, root: Root, write: Write) -> None:
    table = additions.add_table(admin, str(write())).table
    for _ in range(5):
        write(mode="append")
    errors: list[BaseException] = []

    def run() -> None:
        try:
            syncing.sync(table.pk)
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    table.refresh_from_db()
    assert (table.version, table.num_files) == (5, 6)
    assert Commit.objects.filter(table=table).count() == 6


def test_a_table_whose_place_does_not_answer_is_not_told_as_missing(
    orders: Table, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def failing(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == orders.path.rpartition("/")[2]:
            raise OSError(errno.ESTALE, "Stale file handle", path)
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", failing)
    table = syncing.sync(orders.pk)
    assert table.missing_since is None
    assert "Stale file handle" in table.sync_error


@pytest.mark.django_db(transaction=True)
def test_a_sync_by_hand_does_not_wait_for_ever_for_another_one(
    orders: Table, admin: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requested_syncs, "TURN_SECONDS", 0.3)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            syncing.wait_for_turn(orders.pk)
            held.set()
            done.wait(20)
        connection.close()

    other = threading.Thread(target=hold)
    other.start()
    assert held.wait(20)
    with pytest.raises(Problem) as refused:
        requested_syncs.sync_table(admin, orders)
    done.set()
    other.join()
    assert (refused.value.status, refused.value.code) == (409, "sync_running")
    assert not Event.objects.filter(action="table.sync").exists()
    assert requested_syncs.sync_table(admin, orders).table.sync_error == ""


@pytest.mark.django_db(transaction=True)
def test_a_sync_by_hand_is_on_record_before_the_log_is_read(
    orders: Table, admin: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def look() -> None:
        seen.append(Event.objects.filter(action="table.sync").exists())
        connection.close()

    def read(table_id: object, **how: bool) -> Table:
        other = threading.Thread(target=look)
        other.start()
        other.join()
        return orders

    monkeypatch.setattr(syncing, "sync", read)
    requested_syncs.sync_table(admin, orders)
    assert seen == [True]


def test_what_a_killed_sync_left_is_cleared_away(orders: Table, write: Write) -> None:
    kept = live_files.files_path(orders.pk)
    for name in ("live.arrow.4711.new", "live.arrow.tail"):
        (kept.parent / name).write_bytes(b"half")
    write(mode="append")
    assert syncing.sync(orders.pk).version == 1
    assert [path.name for path in kept.parent.iterdir()] == ["live.arrow"]


def test_a_full_disk_is_not_told_as_an_unreadable_place(
    orders: Table, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = pa.OSFile

    def full(path: str, mode: str) -> Any:
        return opened("/dev/full" if mode == "wb" else path, mode)

    write(mode="append")
    with monkeypatch.context() as patched:
        patched.setattr(pa, "OSFile", full)
        table = syncing.sync(orders.pk)
    assert "own files is full" in table.sync_error
    assert table.version == 0
    assert syncing.sync(orders.pk).version == 1
