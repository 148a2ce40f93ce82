from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from console.audit.actor import Actor
from tables.catalog.adding import additions
from tables.models import Root, Table
from tables.sync import table as sync

Write = Callable[..., Path]
JOB = "7c9e6679-7425-40de-944b-e07fc1f90ae7"


def commit(place: Path, version: int, *actions: dict[str, Any]) -> None:
    lines = [{"commitInfo": {"operation": "SET TBLPROPERTIES", "timestamp": 0}}, *actions]
    (place / "_delta_log" / f"{version:020}.json").write_text("\n".join(map(json.dumps, lines)))


def txn(app_id: str, version: int, updated: int | None = None) -> dict[str, Any]:
    return {"txn": {"appId": app_id, "version": version} | ({} if updated is None else {"lastUpdated": updated})}


@pytest.fixture
def table(admin: Actor, root: Root, write: Write) -> Table:
    place = write("orders")
    domain = {"domain": "team.quality", "configuration": '{"owner": "ana", "api_key": "hunter2"}', "removed": False}
    ended = {"domain": "team.gone", "configuration": "{}", "removed": True}
    commit(
        place, 1, txn("stream-a", 7, 1_700_000_000_000), txn(f"levee:{JOB}", 1), txn("stream-b", 3, 1_750_000_000_000)
    )
    commit(place, 2, {"domainMetadata": domain}, {"domainMetadata": ended}, txn("stream-a", 8, 1_760_000_000_000))
    return additions.add_table(admin, str(place)).table


def protocol(admin: Actor, table: Table, query: str = "") -> dict[str, Any]:
    client = APIClient()
    client.force_authenticate(admin.person)
    body: dict[str, Any] = client.get(f"/api/v1/tables/{table.pk}/protocol{query}").json()
    return body


def test_transactions_and_domains_are_told_at_the_newest_version(admin: Actor, table: Table) -> None:
    body = protocol(admin, table)
    assert [(each["app_id"], each["version"]) for each in body["transactions"]] == [
        ("stream-a", 8),
        ("stream-b", 3),
        (f"levee:{JOB}", 1),
    ]
    assert body["transactions"][0]["last_updated"] == "2025-10-09T08:53:20+00:00"
    assert body["transactions"][2]["last_updated"] is None
    assert [each["domain"] for each in body["domains"]] == ["team.quality"]
    assert "hunter2" not in body["domains"][0]["configuration"]
    assert body["in_commit_timestamps"] == {"enabled": False, "since_version": None, "since": None}


def test_of_an_older_version_they_are_unknown(admin: Actor, table: Table) -> None:
    body = protocol(admin, table, "?version=1")
    assert (body["transactions"], body["domains"], body["in_commit_timestamps"]) == (None, None, None)


@pytest.mark.parametrize(
    ("retention", "kept"), [("interval 36500 days", ["stream-a", "stream-b"]), ("interval 1 day", [])]
)
def test_expired_transactions_are_not_told(admin: Actor, table: Table, retention: str, kept: list[str]) -> None:
    """As Delta: with a retention, also those go that don't say when they were."""
    first = (Path(table.path) / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    (metadata,) = (found for line in first if "metaData" in (found := json.loads(line)))
    metadata["metaData"]["configuration"] = {"delta.setTransactionRetentionDuration": retention}
    commit(Path(table.path), 3, metadata)
    sync.sync(table.pk)
    assert [each["app_id"] for each in protocol(admin, table)["transactions"]] == kept


def test_any_number_of_applications_is_counted_and_the_latest_are_kept(admin: Actor, table: Table) -> None:
    commit(Path(table.path), 3, *(txn(f"app-{n}", n, 1_770_000_000_000 + n) for n in range(150)))
    sync.sync(table.pk)
    body = protocol(admin, table)
    assert (body["num_transactions"], len(body["transactions"]), body["transactions"][0]["app_id"]) == (
        153,
        100,
        "app-149",
    )


def test_the_page_shows_them_and_whose_they_are(admin: Actor, table: Table) -> None:
    commit(Path(table.path), 3, txn("<b>x</b>", 1))
    sync.sync(table.pk)
    client = Client()
    assert admin.person
    client.force_login(admin.person)
    html = client.get(f"/tables/{table.pk}/protocol/").content.decode()
    assert "4 applications with a transaction" in html
    assert html.count("a Levee job") == 1
    assert "&lt;b&gt;x&lt;/b&gt;" in html
    assert "team.quality" in html
    assert "applications with" not in client.get(f"/tables/{table.pk}/protocol/?version=0").content.decode()
