"""What is due is shared among workers: each table is claimed by one, and the longest overdue first."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.utils import timezone

from tables.models import Root, SyncTimes, Table
from tables.sync import claims, unchanged
from tables.sync import table as syncing
from tests import factories


def due(tables: Iterable[Table], fingerprint: str = "") -> list[UUID]:
    """Makes tables due, the first of them longest ago."""
    ids = [table.pk for table in tables]
    for place, table_id in enumerate(ids):
        at = timezone.now() - timedelta(seconds=100 - place)
        SyncTimes.objects.filter(pk=table_id).update(next_sync_at=at, fingerprint=fingerprint)
    return ids


def claimed() -> set[UUID]:
    return {each.table_id for each in claims.claim()}


@pytest.fixture
def tables(db: None, tmp_path: Path) -> list[Table]:
    root = factories.root_at(tmp_path)
    return [factories.table_in(root, f"t{n}") for n in range(6)]


def test_tables_that_must_be_read_are_claimed_one_by_one(tables: list[Table]) -> None:
    ids = due(tables[:3])
    assert [claimed() for _ in range(4)] == [{ids[0]}, {ids[1]}, {ids[2]}, set()]


def test_tables_that_may_be_unchanged_are_claimed_with_the_first_of_the_others(tables: list[Table]) -> None:
    first, second = due(tables[:2])
    rest = due(tables[2:], "known")
    assert claimed() == {first, *rest}
    assert claimed() == {second}


def test_only_among_those_that_are_longest_overdue(tables: list[Table], monkeypatch: pytest.MonkeyPatch) -> None:
    """Else tables that come back soon would keep those waiting that must be read."""
    monkeypatch.setattr(claims, "WINDOW", 3)
    ids = due(tables, "known")
    SyncTimes.objects.filter(pk__in=ids[:2]).update(fingerprint="")
    assert claimed() == {ids[0], ids[2]}
    assert claimed() == {ids[1], ids[3], ids[4]}


def test_one_that_must_be_read_is_claimed_by_itself(tables: list[Table]) -> None:
    first, hidden, second = due(tables[:3])
    due(tables[3:], "known")
    Table.objects.filter(pk=hidden).update(hidden_at=timezone.now())
    assert [claims.claim_unread() for _ in range(3)] == [first, second, None]
    assert claimed() == {table.pk for table in tables[3:]}


def test_hidden_tables_keep_no_other_from_being_looked_for(
    tables: list[Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "NEAR", 2)
    *hidden, wanted = due(tables[:4])
    Table.objects.filter(pk__in=hidden).update(hidden_at=timezone.now())
    assert claims.claim_unread() == wanted


def test_it_is_looked_for_among_the_longest_overdue_only(tables: list[Table], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "NEAR", 2)
    due(tables[:2], "known")
    (late,) = due(tables[2:3])
    SyncTimes.objects.filter(pk=late).update(next_sync_at=timezone.now())
    assert claims.claim_unread() is None


def test_none_of_a_paused_root_is_claimed_by_itself(tables: list[Table]) -> None:
    ids = due(tables[:1])
    Root.objects.update(paused_at=timezone.now())
    assert claims.claim_unread() is None
    assert SyncTimes.objects.filter(pk=ids[0], next_sync_at__lt=timezone.now()).exists()


def test_a_turn_reads_on_until_its_time_is_over(tables: list[Table], monkeypatch: pytest.MonkeyPatch) -> None:
    ids, read = due(tables), list[uuid.UUID]()
    monkeypatch.setattr(syncing, "sync", read.append)
    assert unchanged.sync_claimed()
    assert read == ids[:1]
    assert unchanged.sync_claimed(60)
    assert read == ids
    assert not unchanged.sync_claimed(60)


def test_a_claimed_table_is_nobody_elses_until_the_claim_lapses(tables: list[Table]) -> None:
    ids = due(tables[:2], "known")
    assert claimed() == set(ids)
    assert claimed() == set()
    SyncTimes.objects.update(next_sync_at=timezone.now() + syncing.CLAIM - timedelta(minutes=6))
    assert claimed() >= set(ids)


def test_what_is_hidden_is_not_claimed(tables: list[Table]) -> None:
    ids = due(tables[:2])
    Table.objects.filter(pk=ids[0]).update(hidden_at=timezone.now())
    assert claimed() == {ids[1]}


def test_tables_of_a_paused_root_are_due_no_more(tables: list[Table]) -> None:
    ids = due(tables[:1]) + due(tables[1:3], "known")
    Root.objects.update(paused_at=timezone.now())
    assert unchanged.sync_claimed()
    assert not unchanged.sync_claimed()
    assert set(SyncTimes.objects.filter(pk__in=ids).values_list("next_sync_at", "synced_at")) == {(None, None)}


def test_a_table_of_a_removed_root_is_not_judged_by_a_look(tables: list[Table]) -> None:
    due(tables[:2], "known")
    Root.objects.update(removed_at=timezone.now())
    assert [each.settled for each in claims.claim()] == [False]


def test_tables_that_are_given_back_are_due_as_they_were(tables: list[Table]) -> None:
    ids = due(tables[:3], "known")
    before = set(SyncTimes.objects.values_list("pk", "next_sync_at"))
    claims.release(claims.claim())
    assert set(SyncTimes.objects.values_list("pk", "next_sync_at")) == before
    assert not SyncTimes.objects.filter(pk__in=ids, fingerprint="known").exists()


@pytest.mark.django_db(transaction=True)
def test_workers_share_what_is_due(tmp_path: Path) -> None:
    root = factories.root_at(tmp_path)
    ids = due((factories.table_in(root, f"t{n}") for n in range(40)), "known")
    SyncTimes.objects.filter(pk__in=ids[::2]).update(fingerprint="")
    mine: list[list[UUID]] = [[] for _ in range(4)]
    start = threading.Barrier(4)

    def work(taken: list[UUID]) -> None:
        start.wait()
        while found := claims.claim():
            taken += [each.table_id for each in found]
        connection.close()

    threads = [threading.Thread(target=work, args=(taken,)) for taken in mine]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each for taken in mine for each in taken) == sorted(ids)


@pytest.mark.django_db(transaction=True)
def test_a_claim_that_begins_during_another_one_takes_what_is_left(tmp_path: Path) -> None:
    """It waits for it: with the same window before its eyes it would find every table taken, and go to sleep."""
    root = factories.root_at(tmp_path)
    ids = due((factories.table_in(root, f"t{n}") for n in range(4)), "known")
    later: list[set[UUID]] = []

    def claim_there() -> None:
        later.append(claimed())
        connection.close()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(claims, "WINDOW", 2)
        with transaction.atomic():
            assert claimed() == set(ids[:2])
            other = threading.Thread(target=claim_there)
            other.start()
            other.join(0.3)
        other.join()
    assert later == [set(ids[2:])]
