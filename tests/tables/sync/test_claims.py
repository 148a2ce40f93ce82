"""What is due is shared among workers: each table is claimed by one, and the longest overdue first."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.supervisor.home import Home
from console.supervisor.servers import postgres
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


BELIEFS = {  # what the database takes each table for, in pages and rows
    "never looked at": (0, -1),
    "seen empty": (0, 0),
    "seen full of what is deleted": (50, 0),
    "small": (1, 1),
    "large": (5_000, 100_000),
}
DEAR = ("seen empty", "small", "large")  # between the other two


@pytest.fixture
def believed(levee_home: Home, transactional_db: None) -> Iterator[Callable[[str], None]]:
    """Has the database believe something of the tables that claims read, as after an ANALYZE of another state of them."""
    set_it = "update pg_class set relpages = %s, reltuples = %s where relname = any(%s)"

    def believe(name: str) -> None:
        with postgres.connect(levee_home) as superuser:
            superuser.execute(set_it, [*BELIEFS[name], [model._meta.db_table for model in (Table, Root, SyncTimes)]])

    yield believe
    believe("never looked at")


@pytest.mark.parametrize("ask", [claims.claim, claims.claim_unread])
@pytest.mark.parametrize("belief", [pytest.param(b, marks=pytest.mark.dear if b in DEAR else ()) for b in BELIEFS])
def test_a_claim_of_a_lake_that_has_just_come_in_does_not_read_all_of_it(
    believed: Callable[[str], None],
    tmp_path: Path,
    ask: Callable[[], object],
    belief: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the statistics say: they are those of another catalog."""
    monkeypatch.setattr(claims, "WINDOW", claims.NEAR)  # few among many, as with a lake of many thousands
    root, many = factories.root_at(tmp_path), 2_000
    Table.objects.bulk_create(factories.TableFactory.build(root=root, format=Table.Format.DELTA) for _ in range(many))
    overdue = timezone.now() - timedelta(seconds=9)
    SyncTimes.objects.update(next_sync_at=overdue, fingerprint="known")
    first = SyncTimes.objects.values("pk")[: claims.NEAR // 2]
    SyncTimes.objects.filter(pk__in=first).update(next_sync_at=overdue - timedelta(seconds=1), fingerprint="")
    believed(belief)
    with transaction.atomic(), CaptureQueriesContext(connection) as asked:
        assert ask()
        transaction.set_rollback(True)
    plans = list(_plans(each["sql"] for each in asked.captured_queries))
    assert any("ModifyTable" in dict(plan) for plan in plans)
    for plan in plans:
        assert sum(rows for _, rows in plan) < many / 2, plan


def _plans(statements: Iterable[str]) -> Iterator[list[tuple[str, float]]]:
    """How each of a claim's statements is carried out, in their order, nothing of it kept."""
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in statements:
            if statement.lstrip().startswith(("with", "select", "update")):
                cursor.execute(f"explain (analyze, format json) {statement}")
                ((plan,),) = cursor.fetchall()
                assert "JIT" not in plan[0]
                yield list(rows_read(plan[0]["Plan"]))
            elif statement.startswith("set local"):
                cursor.execute(statement)
        transaction.set_rollback(True)


def rows_read(step: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """How many rows each step of a plan has read, those that it left out as well. Not blocks: what earlier tests have left dead in a
    table or an index is read, too, and says nothing of the plan."""
    left_out = sum(rows for name, rows in step.items() if name.startswith("Rows Removed by"))
    yield step["Node Type"], (step["Actual Rows"] + left_out) * step["Actual Loops"]
    for below in step.get("Plans", []):
        yield from rows_read(below)


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
    paths = {table.pk: table.path for table in tables}
    assert [claims.claim_unread() for _ in range(3)] == [(first, paths[first]), (second, paths[second]), None]
    assert claimed() == {table.pk for table in tables[3:]}


def test_hidden_tables_keep_no_other_from_being_looked_for(
    tables: list[Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "NEAR", 2)
    *hidden, wanted = due(tables[:4])
    Table.objects.filter(pk__in=hidden).update(hidden_at=timezone.now())
    assert claims.claim_unread() == (wanted, tables[3].path)


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
