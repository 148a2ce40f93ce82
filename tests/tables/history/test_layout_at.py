"""Layouts of older versions: rebuilt once, one at a time, and never from what the log has lost."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from django.http import Http404
from django.test import Client

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.base.errors import Problem
from console.base.waiting import REBUILDS
from tables.catalog.adding import additions
from tables.deltalog.state.snapshot import Snapshot
from tables.history import layout_at, rebuilding, version_files
from tables.models import Root, Table
from tests import small_disks
from tests.tables.web.table.test_pages import page

Write = Callable[..., Path]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    layout_at.forget()
    yield
    layout_at.forget()


@pytest.fixture
def orders(admin: Actor, root: Root, write: Write) -> Table:
    for _ in range(4):
        write(mode="append", partition_by=["country"])
    return additions.add_table(admin, f"{root.uri}/orders").table


@pytest.fixture
def rebuilds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The versions that were rebuilt."""
    found: list[int] = []
    rebuilt = layout_at._rebuilt

    def counted(table: Table, version: int) -> dict[str, object]:
        found.append(version)
        return rebuilt(table, version)

    monkeypatch.setattr(layout_at, "_rebuilt", counted)
    return found


def test_an_older_version_is_rebuilt_once(orders: Table, rebuilds: list[int]) -> None:
    first = layout_at.at(orders, 1)
    assert first["num_files"] == 4
    assert layout_at.at(orders, 1) == first
    assert layout_at.at(orders, 3)["num_files"] == 8
    assert rebuilds == [1]


def test_a_table_made_anew_has_layouts_of_its_own(orders: Table, rebuilds: list[int]) -> None:
    layout_at.at(orders, 1)
    orders.incarnation += 1
    layout_at.at(orders, 1)
    assert rebuilds == [1, 1]


def test_only_so_many_are_kept(orders: Table, rebuilds: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_at, "KEPT", 2)
    for version in (0, 1, 2, 2, 1, 0):
        layout_at.at(orders, version)
    assert rebuilds == [0, 1, 2, 0]


def test_what_the_log_has_lost_is_gone_although_it_was_kept(orders: Table) -> None:
    layout_at.at(orders, 1)
    orders.first_readable = 2
    with pytest.raises(Problem) as gone:
        layout_at.at(orders, 1)
    assert gone.value.code == "version_gone"
    with pytest.raises(Http404):
        layout_at.at(orders, 4)


def test_while_one_is_rebuilt_another_waits_and_is_then_told_so(orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuilding, "PATIENCE", 0.05)
    with rebuilding._rebuilding, pytest.raises(Problem) as busy:
        layout_at.at(orders, 1)
    assert (busy.value.status, busy.value.code) == (503, "busy")
    assert layout_at.at(orders, 1)["num_files"] == 4


def test_the_files_of_two_versions_are_compared_in_the_same_turn(
    orders: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(snapshot: Snapshot) -> pa.Table:
        with pytest.raises(Problem) as busy:
            version_files.apart(orders, 0, 1)
        assert (busy.value.status, busy.value.code) == (503, "busy")
        return files(snapshot)

    monkeypatch.setattr(rebuilding, "PATIENCE", 0.05)
    files = Snapshot.files
    with monkeypatch.context() as while_rebuilt:
        while_rebuilt.setattr(Snapshot, "files", listed)
        assert layout_at.at(orders, 1)["num_files"] == 4
    assert version_files.apart(orders, 0, 1).files == 2


def test_where_enough_wait_for_their_turn_the_next_is_told_so_at_once(
    orders: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilding, "PATIENCE", 3600)
    with contextlib.ExitStack() as stack:
        stack.enter_context(rebuilding._rebuilding)
        for _ in range(REBUILDS.most):
            stack.enter_context(REBUILDS.place("anybody"))
        with pytest.raises(Problem) as busy:
            layout_at.at(orders, 1)
    assert (busy.value.code, busy.value.headers) == ("busy", {"Retry-After": "2"})
    assert layout_at.at(orders, 1)["num_files"] == 4


def test_who_waited_takes_what_the_one_before_has_found(orders: Table, rebuilds: list[int]) -> None:
    key = (orders.pk, orders.incarnation, 1)
    answers: list[dict[str, object]] = []
    with rebuilding._rebuilding:
        waiting = threading.Thread(target=lambda: answers.append(layout_at.at(orders, 1)))
        waiting.start()
        layout_at._retained[key] = {"num_files": 42}
    waiting.join(60)
    assert answers == [{"num_files": 42}]
    assert rebuilds == []


def test_a_failed_rebuild_keeps_nothing_and_lets_the_next_one_in(
    orders: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(table: Table, version: int) -> dict[str, object]:
        raise Problem(422, "unreadable", "The log can't be read: cut")

    with monkeypatch.context() as while_broken:
        while_broken.setattr(layout_at, "_rebuilt", broken)
        with pytest.raises(Problem):
            layout_at.at(orders, 1)
    assert layout_at.at(orders, 1)["num_files"] == 4


def test_the_page_has_a_field_for_the_version(orders: Table, person: Callable[..., Person]) -> None:
    client = Client()
    client.force_login(person("vic", Role.VIEWER))
    html = page(client, f"/tables/{orders.pk}/layout/?version=2")
    assert 'name="version" inputmode="numeric" value="2"' in html
    page(client, f"/tables/{orders.pk}/layout/?version=9", 404)


@pytest.mark.parametrize("address", ["/api/v1/tables/{}/layout?version=1", "/tables/{}/layout/?version=1"])
def test_a_full_temporary_directory_is_503_and_named(
    orders: Table, admin: Actor, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    assert admin.person
    client = Client(raise_request_exception=False)
    client.force_login(admin.person)
    with small_disks.small_disk(1) as disk:
        small_disks.fill(disk)
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        answer = client.get(address.format(orders.pk))
        assert (answer.status_code, "disk is full" in answer.content.decode()) == (503, True), answer.content
        small_disks.relieve(disk)
        assert client.get(address.format(orders.pk)).status_code == 200
