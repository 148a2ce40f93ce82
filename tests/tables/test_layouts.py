"""Layouts of older versions: rebuilt once, one at a time, and never from what the log has lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.http import Http404
from django.test import Client

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.errors import Problem
from tables import layouts, services
from tables.models import Root, Table
from tests.tables.test_pages import page

Write = Callable[..., Path]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    layouts.forget()
    yield
    layouts.forget()


@pytest.fixture
def orders(admin: Actor, root: Root, write: Write) -> Table:
    for _ in range(4):
        write(mode="append", partition_by=["country"])
    return services.add_table(admin, f"{root.uri}/orders").table


@pytest.fixture
def rebuilds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The versions that were rebuilt."""
    found: list[int] = []
    rebuilt = layouts._rebuilt

    def counted(table: Table, version: int) -> dict[str, object]:
        found.append(version)
        return rebuilt(table, version)

    monkeypatch.setattr(layouts, "_rebuilt", counted)
    return found


def test_an_older_version_is_rebuilt_once(orders: Table, rebuilds: list[int]) -> None:
    first = layouts.at(orders, 1)
    assert first["num_files"] == 4
    assert layouts.at(orders, 1) == first
    assert layouts.at(orders, 3)["num_files"] == 8
    assert rebuilds == [1]


def test_a_table_made_anew_has_layouts_of_its_own(orders: Table, rebuilds: list[int]) -> None:
    layouts.at(orders, 1)
    orders.incarnation += 1
    layouts.at(orders, 1)
    assert rebuilds == [1, 1]


def test_only_so_many_are_kept(orders: Table, rebuilds: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "KEPT", 2)
    for version in (0, 1, 2, 2, 1, 0):
        layouts.at(orders, version)
    assert rebuilds == [0, 1, 2, 0]


def test_what_the_log_has_lost_is_gone_although_it_was_kept(orders: Table) -> None:
    layouts.at(orders, 1)
    orders.first_readable = 2
    with pytest.raises(Problem) as gone:
        layouts.at(orders, 1)
    assert gone.value.code == "version_gone"
    with pytest.raises(Http404):
        layouts.at(orders, 4)


def test_while_one_is_rebuilt_another_waits_and_is_then_told_so(orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "PATIENCE", 0.05)
    with layouts._rebuilding, pytest.raises(Problem) as busy:
        layouts.at(orders, 1)
    assert (busy.value.status, busy.value.code) == (503, "busy")
    assert layouts.at(orders, 1)["num_files"] == 4


def test_who_waited_takes_what_the_one_before_has_found(orders: Table, rebuilds: list[int]) -> None:
    key = (orders.pk, orders.incarnation, 1)
    answers: list[dict[str, object]] = []
    with layouts._rebuilding:
        waiting = threading.Thread(target=lambda: answers.append(layouts.at(orders, 1)))
        waiting.start()
        layouts._kept[key] = {"num_files": 42}
    waiting.join(10)
    assert answers == [{"num_files": 42}]
    assert rebuilds == []


def test_a_failed_rebuild_keeps_nothing_and_lets_the_next_one_in(
    orders: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(table: Table, version: int) -> dict[str, object]:
        raise Problem(422, "unreadable", "The log can't be read: cut")

    with monkeypatch.context() as while_broken:
        while_broken.setattr(layouts, "_rebuilt", broken)
        with pytest.raises(Problem):
            layouts.at(orders, 1)
    assert layouts.at(orders, 1)["num_files"] == 4


def test_the_page_has_a_field_for_the_version(orders: Table, person: Callable[..., Person]) -> None:
    client = Client()
    client.force_login(person("vic", Role.VIEWER))
    html = page(client, f"/tables/{orders.pk}/layout/?version=2")
    assert 'name="version" inputmode="numeric" value="2"' in html
    page(client, f"/tables/{orders.pk}/layout/?version=9", 404)
