"""A commit's files, read from the log when asked for: what can't be read of them is said, never passed over."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from rest_framework.test import APIClient

from console.audit.actor import Actor
from console.base.errors import Problem
from tables.catalog.adding import additions
from tables.history import commit_files
from tables.models import Commit, Root, Table

Write = Callable[..., Path]
V1 = "/api/v1"


@pytest.fixture
def orders(admin: Actor, root: Root, write: Write) -> Table:
    write()
    return additions.add_table(admin, str(write(mode="append"))).table


@pytest.fixture
def file(lake: Path) -> Path:
    return lake / "orders" / "_delta_log" / f"{1:020d}.json"


@pytest.fixture
def ines(admin: Actor) -> APIClient:
    client = APIClient()
    client.force_authenticate(admin.person)
    return client


@pytest.fixture
def people(admin: Actor) -> Client:
    client = Client()
    assert admin.person is not None
    client.force_login(admin.person)
    return client


def commit(table: Table, version: int = 1) -> Commit:
    return Commit.objects.get(table=table, version=version)


def test_a_truncated_line_is_said_beside_what_was_read(orders: Table, file: Path) -> None:
    file.write_text(file.read_text() + '\n{"add":{"path":"half a na')
    found = commit_files.files_of(orders, commit(orders))
    assert len(found.rows) == 1
    assert "not JSON" in found.problems[0].reason


def test_a_commit_lost_since_the_last_sync_has_left_the_log(orders: Table, file: Path) -> None:
    file.unlink()
    with pytest.raises(Problem) as raised:
        commit_files.files_of(orders, commit(orders))
    assert (raised.value.status, raised.value.code) == (410, "version_gone")


def test_a_commit_behind_a_link_is_not_read(orders: Table, file: Path, tmp_path: Path) -> None:
    file.parent.rename(tmp_path / "log")
    file.parent.symlink_to(tmp_path / "log")
    with pytest.raises(Problem) as raised:
        commit_files.files_of(orders, commit(orders))
    assert (raised.value.status, raised.value.code) == (422, "unreadable")


def test_each_page_knows_the_ones_beside_it(orders: Table, file: Path) -> None:
    adds = [json.dumps({"add": {"path": f"f{n}", "size": 1}}) for n in range(7)]
    file.write_text("\n".join(adds))
    pages = [commit_files.files_of(orders, commit(orders), start=start, limit=3) for start in (0, 3, 6)]
    assert [[row.path for row in page.rows] for page in pages] == [["f0", "f1", "f2"], ["f3", "f4", "f5"], ["f6"]]
    assert [(page.previous, page.next) for page in pages] == [(None, 3), (0, 6), (3, None)]


def test_the_api_says_what_could_not_be_read(ines: APIClient, orders: Table, file: Path) -> None:
    file.write_text("rubbish\n")
    body = ines.get(f"{V1}/tables/{orders.pk}/commits/1/files").json()
    assert body["results"] == []
    assert [(problem["file"], problem["code"]) for problem in body["problems"]] == [(file.name, "corrupt")]
    file.unlink()
    gone = ines.get(f"{V1}/tables/{orders.pk}/commits/1/files")
    assert (gone.status_code, gone.json()["code"]) == (410, "version_gone")


def test_the_api_pages_back(ines: APIClient, orders: Table, file: Path) -> None:
    file.write_text("\n".join(json.dumps({"add": {"path": f"f{n}", "size": 1}}) for n in range(5)))
    first = ines.get(f"{V1}/tables/{orders.pk}/commits/1/files?limit=2").json()
    second = ines.get(first["next"]).json()
    assert ines.get(second["previous"]).json()["results"] == first["results"]
    assert first["previous"] is None


def test_the_page_says_what_could_not_be_read(people: Client, orders: Table, file: Path) -> None:
    file.write_text("rubbish\n")
    html = people.get(f"/tables/{orders.pk}/commits/1/").content.decode()
    assert "Levee couldn’t read any file entry of this commit." in html
    assert "line 1: not JSON" in html
    assert "This commit adds and removes no files" not in html
