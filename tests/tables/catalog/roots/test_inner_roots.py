"""A root in another one: what it takes over, what it may not take from, and what passes back when it is removed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from tables.catalog.adding import additions
from tables.catalog.adding import bulk as bulk_additions
from tables.catalog.roots import changes as root_changes
from tables.catalog.roots import entries as roots
from tables.catalog.roots import places as root_places
from tables.catalog.roots import removal as root_removal
from tables.catalog.roots import scans
from tables.models import Addition, Finding, Root, SyncTimes, Table
from tables.rules import discovery
from tables.storage.local import mounted
from tests import factories
from tests.clients import Caller

People = Callable[..., Person]
Write = Callable[..., Path]
pytestmark = pytest.mark.django_db


@pytest.fixture
def inside(lake: Path) -> Path:
    """A directory of the root with a find in it."""
    (lake / "inside" / "a").mkdir(parents=True)
    (lake / "inside" / "a" / "x.parquet").touch()
    return lake / "inside"


def test_none_is_added_in_a_root_that_approval_rules_are_on(admin: Actor, root: Root, inside: Path) -> None:
    assert admin.person is not None
    factories.PolicyRuleFactory(scope="root", root=root)
    answer = Caller(admin.person).post("/roots", {"name": "inside", "uri": str(inside)})
    assert (answer.status_code, answer.json()["code"], answer.json()["rules"]) == (409, "in_use", 1)
    assert "1 approval rule is on that root" in answer.json()["detail"]
    told = {check.name: check for check in root_places.examine(admin, str(inside))}["Other roots"]
    assert (told.passed, "1 approval rule is on that root" in told.answer) == (False, True)
    assert Root.ever.count() == 1


def test_a_directory_of_a_root_is_none_by_the_path_of_a_bind_mount(
    admin: Actor, root: Root, inside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule or grant on one would not count by the other, nor would the lease of a table in it."""
    assert admin.person is not None
    other, table = tmp_path / "other", tmp_path / "mountinfo"
    other.mkdir()
    table.write_text(f"1 0 8:1 / / rw - ext4 disk rw\n2 1 8:1 {inside} {other} rw - ext4 disk rw\n")
    monkeypatch.setattr(mounted, "TABLE", table)
    answer = Caller(admin.person).post("/roots", {"name": "other", "uri": str(other)})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert f"{root.uri}, which is a root" in answer.json()["fields"]["uri"]
    told = {check.name: check for check in root_places.examine(admin, str(other))}["Other roots"]
    assert (told.passed, "mounts of the same directory" in told.answer) == (False, True)
    assert roots.add_root(admin, "inside", str(inside)).name == "inside"


def test_only_the_rules_of_the_innermost_root_around_it_count(admin: Actor, root: Root, inside: Path) -> None:
    roots.add_root(admin, "inside", str(inside))
    factories.PolicyRuleFactory(scope="root", root=root)
    assert roots.add_root(admin, "a", str(inside / "a")).name == "a"


@pytest.mark.parametrize("by_hand", [True, False])
def test_what_it_takes_over_is_due_by_its_own_interval(admin: Actor, root: Root, write: Write, by_hand: bool) -> None:
    additions.add_table(admin, str(write("inside/orders")))
    if by_hand:
        root_changes.change(admin, root, {"sync_seconds": None})
    else:
        root_changes.pause(admin, root)
    assert SyncTimes.objects.get().next_sync_at is None
    roots.add_root(admin, "inside", f"{root.uri}/inside", 60)
    due = SyncTimes.objects.get().next_sync_at
    assert due is not None
    assert due < timezone.now() + timedelta(seconds=61)


def test_an_addition_of_the_outer_root_adds_nothing_in_it(
    admin: Actor, person: People, root: Root, inside: Path
) -> None:
    olga = person("olga", Role.OPERATOR, root=root)
    scans.scan_root(root.pk)
    bulk_additions.request(Actor.acting_for(olga), root)
    roots.add_root(admin, "inside", str(inside))
    while bulk_additions.work_next():
        pass
    assert not Table.objects.exists()
    assert Finding.objects.get().addition_id is None
    assert Addition.objects.get().ended_at is not None


def test_a_find_that_still_waits_there_is_refused_with_a_reason(admin: Actor, root: Root, inside: Path) -> None:
    scans.scan_root(root.pk)
    addition = bulk_additions.request(admin, root)
    roots.add_root(admin, "inside", str(inside))
    Finding.objects.update(addition=addition)
    assert bulk_additions.work_next()
    assert not Table.objects.exists()
    assert "lies in another root by now" in Finding.objects.get().refusal


def test_a_turn_that_began_before_it_was_added_keeps_nothing_of_it(
    admin: Actor, root: Root, inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (inside.parent / "b").mkdir()
    (inside.parent / "b" / "x.parquet").touch()
    real = discovery.scan

    def scan(*given: Any, **how: Any) -> discovery.Scan:
        turn = real(*given, **how)
        roots.add_root(admin, "inside", str(inside))
        return turn

    with monkeypatch.context() as patched:
        patched.setattr("tables.rules.discovery.scan", scan)
        scans.scan_root(root.pk)
    assert list(Finding.objects.values_list("path", "root__name")) == [(f"{root.uri}/b", "lake")]


def test_finds_that_pass_to_the_outer_root_are_not_gone_at_the_end_of_its_scan(
    admin: Actor, root: Root, inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = roots.add_root(admin, "inside", str(inside))
    scans.scan_root(inner.pk)
    real = discovery.scan

    def scan(*given: Any, **how: Any) -> discovery.Scan:
        turn = real(*given, **how)
        root_removal.remove(admin, inner)
        return turn

    monkeypatch.setattr("tables.rules.discovery.scan", scan)
    scans.scan_root(root.pk)
    assert list(Finding.objects.values_list("root__name", "gone_at")) == [("lake", None)]


def test_only_what_passes_is_due_anew_when_it_is_removed(admin: Actor, root: Root, write: Write) -> None:
    inner_table = additions.add_table(admin, str(write("inside/orders"))).table
    other = additions.add_table(admin, str(write("other"))).table
    inner = roots.add_root(admin, "inside", f"{root.uri}/inside", None)
    later = timezone.now() + timedelta(days=1)  # as one that has been quiet for long
    SyncTimes.objects.filter(pk=other.pk).update(next_sync_at=later)
    root_removal.remove(admin, inner)
    assert SyncTimes.objects.get(pk=other.pk).next_sync_at == later
    assert SyncTimes.objects.get(pk=inner_table.pk).next_sync_at is not None


def test_who_may_not_remove_a_root_is_not_told_what_lies_around_it(
    admin: Actor, person: People, root: Root, inside: Path, redis_server: object
) -> None:
    inner = roots.add_root(admin, "inside", str(inside))
    client = Client()
    client.force_login(person("rolf", Role.ADMIN, root=inner))
    answer = client.get(f"/roots/{inner.pk}/remove/")
    assert answer.status_code == 403
    assert "root lake" not in answer.content.decode()
