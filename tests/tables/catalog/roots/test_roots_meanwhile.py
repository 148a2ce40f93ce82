"""What people do with a root while a worker is at it: neither waits for the other for ever, nor writes what no longer holds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from console.accounts.models import Grant, Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from jobs.targets.places import check_place
from tables.catalog import renaming
from tables.catalog.adding import additions
from tables.catalog.adding import bulk as bulk_additions
from tables.catalog.roots import changes as root_changes
from tables.catalog.roots import entries as roots
from tables.catalog.roots import removal as root_removal
from tables.catalog.roots import scans
from tables.models import Addition, Finding, Root, SyncTimes, Table
from tables.rules import discovery
from tables.sync import table as syncing

People = Callable[..., Person]
Write = Callable[..., Path]
pytestmark = pytest.mark.django_db
in_threads = pytest.mark.django_db(transaction=True)


@pytest.fixture
def found(root: Root, lake: Path) -> Root:
    """A root with one find."""
    (lake / "a").mkdir()
    (lake / "a" / "x.parquet").touch()
    scans.scan_root(root.pk)
    return root


def beside(act: Callable[[], object]) -> list[BaseException]:
    """Runs the act in a thread with a connection of its own to its end; what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - shown by the caller's assertion
            raised.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    return raised


@in_threads
def test_a_batch_and_a_removal_of_its_root_take_turns(
    admin: Actor, found: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    bulk_additions.request(admin, found)
    enter_all = bulk_additions._enter_all
    failed: list[BaseException] = []
    threads: list[threading.Thread] = []

    def removed() -> None:
        failed.extend(beside(lambda: root_removal.remove(admin, found)))

    def slowly(*given: Any) -> int:
        threads.append(threading.Thread(target=removed))
        threads[0].start()
        threads[0].join(0.5)  # it waits by now, for this batch
        return enter_all(*given)

    monkeypatch.setattr(bulk_additions, "_enter_all", slowly)
    assert bulk_additions.work_next()
    threads[0].join(30)
    assert not failed
    assert Root.ever.get().removed_at is not None
    assert Table.objects.get().hidden_at is not None
    assert Addition.objects.get().ended_at is not None


@in_threads
@pytest.mark.parametrize("meanwhile", ["paused", "of an inner root"])
def test_a_store_that_hangs_while_a_batch_looks_at_it_holds_up_no_change_of_the_root(
    admin: Actor, found: Root, lake: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    bulk_additions.request(admin, found)
    raised: list[BaseException] = []

    def changed() -> None:
        if meanwhile == "paused":
            root_changes.pause(admin, found)
        else:
            roots.add_root(admin, "inner", f"{lake}/a")

    def looks(*given: Any) -> Any:
        raised.extend(beside(changed))
        return look(*given)

    look = discovery.kind_of
    monkeypatch.setattr(discovery, "kind_of", looks)
    done = bulk_additions.work_next()
    assert not raised
    assert not Table.objects.exists()
    if meanwhile == "paused":
        assert not done
        assert Finding.objects.get().addition is not None, "it waits until the root is resumed"
    else:
        found_there = Finding.objects.get()
        assert (found_there.root.name, found_there.addition) == ("inner", None)


@in_threads
def test_a_store_that_hangs_while_a_table_is_added_by_name_holds_up_no_change_of_its_root(
    admin: Actor, found: Root, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[BaseException] = []

    def looks(*given: Any) -> Any:
        raised.extend(beside(lambda: root_changes.change(admin, found, {"adds_found": True})))
        return look(*given)

    look = discovery.kind_of
    monkeypatch.setattr(discovery, "kind_of", looks)
    assert renaming.add_named(admin, "shop.a", f"{lake}/a", "parquet").is_new
    assert not raised


@in_threads
def test_a_removal_does_not_wait_for_a_long_sync(
    admin: Actor, root: Root, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = additions.add_table(admin, str(write())).table
    monkeypatch.setattr(root_removal, "TURN_SECONDS", 0.2)
    with transaction.atomic():
        Table.objects.select_for_update().get(pk=table.pk)
        (problem,) = beside(lambda: root_removal.remove(admin, root))
    assert isinstance(problem, Problem)
    assert (problem.status, problem.code) == (409, "sync_running")
    assert Root.objects.get() == root
    root_removal.remove(admin, root)
    assert not Root.objects.exists()


@in_threads
@pytest.mark.parametrize("act", ["pause", "resume", "remove", "take over"])
def test_a_sync_that_began_before_leaves_the_table_due_by_its_root_as_it_is(
    admin: Actor, root: Root, write: Write, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    table = additions.add_table(admin, str(write("inside/orders"))).table
    write("inside/orders", mode="append")
    if act in ("resume", "take over"):
        root_changes.pause(admin, root)
    acts: dict[str, Callable[[], object]] = {
        "pause": lambda: root_changes.pause(admin, root),
        "resume": lambda: root_changes.resume(admin, root),
        "remove": lambda: Root.objects.update(removed_at=timezone.now()),
        "take over": lambda: roots.add_root(admin, "inside", f"{root.uri}/inside"),
    }
    failed: list[BaseException] = []
    read = syncing._read

    def meanwhile(*given: Any, **how: Any) -> list[int]:
        failed.extend(beside(acts[act]))
        return read(*given, **how)

    monkeypatch.setattr(syncing, "_read", meanwhile)
    syncing.sync(table.pk)
    assert not failed
    assert (SyncTimes.objects.get().next_sync_at is None) == (act in ("pause", "remove"))


def test_nothing_is_entered_into_a_root_that_was_removed_meanwhile(
    admin: Actor, root: Root, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(write())
    kind_at = additions.kind_at

    def meanwhile(place: str) -> discovery.DirectoryKind:
        root_removal.remove(admin, root)
        return kind_at(place)

    monkeypatch.setattr(additions, "kind_at", meanwhile)
    with pytest.raises(Problem, match="was removed") as refused:
        additions.add_table(admin, path)
    assert (refused.value.status, refused.value.code) == (404, "not_found")
    assert not Table.objects.exists()


def test_a_table_of_a_removed_root_is_read_no_more(admin: Actor, root: Root, write: Write) -> None:
    table = additions.add_table(admin, str(write())).table
    check_place(table)
    root_removal.remove(admin, root)
    with pytest.raises(Problem) as refused:
        check_place(Table.objects.select_related("root").get())
    assert (refused.value.status, refused.value.code) == (403, "outside_roots")


def test_no_addition_is_opened_in_a_removed_root(admin: Actor, found: Root) -> None:
    root_changes.change(admin, found, {"adds_found": True})
    root_removal.remove(admin, found)
    assert bulk_additions.open_automatic(found) is None


def test_a_scans_end_and_its_addition_are_one(admin: Actor, found: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    root_changes.change(admin, found, {"adds_found": True})
    before = Root.objects.get().scanned_at

    def dies(_: Root) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bulk_additions, "open_automatic", dies)
    with pytest.raises(KeyboardInterrupt):
        scans.scan_root(found.pk)
    assert Root.objects.get().scanned_at == before


def test_what_waited_while_the_root_was_paused_is_added_when_it_is_resumed(admin: Actor, found: Root) -> None:
    root_changes.change(admin, found, {"adds_found": True})
    root_changes.pause(admin, found)
    scans.scan_root(found.pk)  # a turn that had begun
    assert not Addition.objects.exists()
    root_changes.resume(admin, found)
    assert bulk_additions.work_next()
    assert Table.objects.count() == 1


@pytest.mark.parametrize("how", ["inactive", "no role"])
def test_automatic_additions_end_with_the_say_of_who_switched_them_on(
    admin: Actor, person: People, found: Root, how: str
) -> None:
    rita = person("rita", Role.ADMIN)
    root_changes.change(Actor.acting_for(rita), found, {"adds_found": True})
    scans.scan_root(found.pk)
    if how == "inactive":
        Person.objects.filter(pk=rita.pk).update(is_active=False)
    else:
        Grant.objects.filter(person=rita).delete()
    assert bulk_additions.work_next()
    assert "rita, who had Levee add what scans find" in Addition.objects.get().stopped
    scans.scan_root(found.pk)
    assert not bulk_additions.work_next()
    assert not Table.objects.exists()


def test_a_first_turn_that_dies_is_on_record_once(
    admin: Actor, root: Root, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root_changes.change(admin, root, {"scan_hours": 2})

    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("tables.catalog.roots.scans._keep", dies)
        with pytest.raises(KeyboardInterrupt):
            scans.scan_next_asked()
    assert scans.under_way(Root.objects.get()) is None
    Root.objects.update(scan_claimed_at=timezone.now() - scans.SCAN_CLAIM - timedelta(seconds=1))
    assert scans.scan_next_asked()
    assert Event.objects.filter(action="root.scan").count() == 1
    assert Root.objects.get().scanned_at is not None


def test_where_more_is_unreadable_than_a_pass_names_nothing_is_judged_gone(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scans, "MOST_NAMED", 2)
    gone = Finding.objects.create(root=root, path=f"{root.uri}/x/t", kind="delta", seen_at=timezone.now())
    places = tuple(f"{root.uri}/{name}" for name in "zyx")
    turn = discovery.Scan((), 3, None, places, (), None, None)
    monkeypatch.setattr("tables.rules.discovery.scan", lambda *_given, **_how: turn)
    scans.scan_root(root.pk)
    fresh = Root.objects.get()
    assert "more than 2 directories" in fresh.scan_stopped
    assert len(fresh.scan_unreadable) == 2
    assert Finding.objects.get(pk=gone.pk).gone_at is None
