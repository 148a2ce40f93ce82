"""The commits that changed a schema: all of them, those alone, page by page."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from console.accounts.models import Person
from console.audit.actor import Actor
from tables.catalog.adding import additions
from tables.history import payloads
from tables.models import Root, Table
from tables.sync import table as syncing
from tests.tables.deltalog.writing import PROTOCOL, LogWriter, add, info, metadata


def schema(columns: int) -> str:
    fields = [{"name": f"c{n}", "type": "long", "nullable": True, "metadata": {}} for n in range(columns)]
    return json.dumps({"type": "struct", "fields": fields})


@pytest.fixture
def table(admin: Actor, root: Root, lake: Path) -> Table:
    """Eight columns, one more with every twentieth of 160 commits; each commit sets a property anew."""
    log = LogWriter(lake / "orders")
    for version in range(160):
        state = metadata(schema=schema(1 + version // 20), user__run=str(version))
        log.commit(version, info(), *([PROTOCOL] if version == 0 else []), state)
    return additions.add_table(admin, str(log.table)).table


@pytest.fixture
def ines(person: Callable[..., Person], admin: Actor) -> Person:
    return person("ines")


def changed(table: Table, limit: int = 100) -> list[tuple[int, list[str] | None]]:
    _, rows = payloads.schema_changes(table, limit)
    return [(c.version, None if changes is None else [change.column for change in changes]) for c, changes in rows]


def test_properties_set_anew_hide_no_change_of_schema(table: Table) -> None:
    assert changed(table) == [*((20 * n, [f"c{n}"]) for n in range(7, 0, -1)), (0, None)]


def test_programs_read_them_page_by_page(table: Table, ines: Person) -> None:
    api = APIClient()
    api.force_login(ines)
    address, versions = f"/api/v1/tables/{table.pk}/schema/changes?limit=3", []
    while address:
        body = api.get(address).json()
        versions.append([row["version"] for row in body["results"]])
        address = body["next"]
    assert versions == [[140, 120, 100], [80, 60, 40], [20, 0]]
    assert (body["results"][-1]["changes"], body["results"][-1]["is_before_known"]) == ([], False)


def test_the_page_says_how_many_there_are(table: Table, ines: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    client.force_login(ines)
    address = f"/tables/{table.pk}/schema/"
    assert "8 in 160 versions" in " ".join(client.get(address).content.decode().split())
    monkeypatch.setattr(payloads.schema_changes, "__defaults__", (5, ""))
    html = " ".join(client.get(address).content.decode().split())
    assert "the newest 5 of 8 in 160 versions" in html
    assert "the oldest schema" not in html
    (link,) = [part.split('"')[0] for part in html.split('rel="next" href="')[1:]]
    older = " ".join(client.get(address + link.partition("#")[0]).content.decode().split())
    assert "3 older ones of 8" in older
    assert "the oldest schema Levee knows" in older


def test_their_number_costs_no_queries(table: Table) -> None:
    def queries(limit: int) -> int:
        with CaptureQueriesContext(connection) as found:
            changed(table, limit)
        return len(found)

    assert queries(1) == queries(8)


def test_a_gap_is_no_change_of_the_commit_after_it(table: Table, lake: Path) -> None:
    log = lake / "orders" / "_delta_log"
    for path in log.iterdir():
        path.unlink()
    again = LogWriter.__new__(LogWriter)
    again.table, again.log = lake / "orders", log
    again.checkpoint(300, PROTOCOL, metadata(schema=schema(20)), add("f"))
    again.commit(300, info(), add("f"))
    again.commit(301, info(), metadata(schema=schema(20), user__run="x"))
    again.commit(302, info(), metadata(schema=schema(21)))
    found = changed(syncing.sync(table.pk))
    assert found[:2] == [(302, ["c20"]), (140, ["c7"])]


def clustered(lake: Path, *features: str) -> LogWriter:
    """A table clustered by its first column at version 1, if the features allow it."""
    log = LogWriter(lake / "clustered")
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": list(features)}}
    log.commit(0, info(), protocol, metadata(schema=schema(2)))
    columns = {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["c0"]]}', "removed": False}
    log.commit(1, info(), {"domainMetadata": columns}) if features else log.commit(1, info(), add("f"))
    return log


@pytest.mark.parametrize(
    ("features", "before", "now"),
    [(("clustering", "domainMetadata"), [None, None], [True, False]), ((), [False, False], [False, False])],
)
def test_clustering_is_told_where_it_is_known(
    admin: Actor,
    root: Root,
    lake: Path,
    ines: Person,
    features: tuple[str, ...],
    before: list[object],
    now: list[object],
) -> None:
    table = additions.add_table(admin, str(clustered(lake, *features).table)).table
    api, browser = APIClient(), Client()
    api.force_login(ines)
    browser.force_login(ines)

    def told(version: int) -> list[object]:
        body = api.get(f"/api/v1/tables/{table.pk}/schema?version={version}").json()
        assert body["clustering_columns"] == (["c0"] if version and features else None if features else [])
        shown = browser.get(f"/tables/{table.pk}/schema/?version={version}").content.decode()
        assert ("<td>clustering" in "".join(shown.split())) == bool(version and features)
        return [field["clustering"] for field in body["fields"]]

    assert (told(0), told(1)) == (before, now)


def renamed(name: str, physical: str) -> dict[str, object]:
    named = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": physical}
    return {"name": name, "type": "long", "nullable": True, "metadata": named}


@pytest.mark.parametrize("mode", ["name", "id"])
def test_clustering_columns_have_the_names_of_the_schema_everywhere(
    admin: Actor, root: Root, lake: Path, ines: Person, mode: str
) -> None:
    log = LogWriter(lake / "mapped")
    features = {
        "readerFeatures": ["columnMapping"],
        "writerFeatures": ["columnMapping", "clustering", "domainMetadata"],
    }
    columns = [renamed("customer", "col-aaa"), renamed("a.b", "col-bbb"), renamed("other", "col-ccc")]
    schema_text = json.dumps({"type": "struct", "fields": columns})
    text = json.dumps({"clusteringColumns": [["col-aaa"], ["col-bbb"], ["col-gone"]]})
    log.commit(
        0, info(), {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7} | features},
        metadata(schema=schema_text, delta__columnMapping__mode=mode),
        {"domainMetadata": {"domain": "delta.clustering", "configuration": text, "removed": False}},
    )  # fmt: skip
    table = additions.add_table(admin, str(log.table)).table
    api, browser = APIClient(), Client()
    for client in (api, browser):
        client.force_login(ines)
    api.force_authenticate(ines)
    names = ["customer", "`a.b`", "`col-gone` (unknown column)"]
    assert api.get(f"/api/v1/tables/{table.pk}").json()["clustering_columns"] == names
    body = api.get(f"/api/v1/tables/{table.pk}/schema").json()
    assert body["clustering_columns"] == names
    assert [field["clustering"] for field in body["fields"]] == [True, True, False]
    overview = html.unescape(browser.get(f"/tables/{table.pk}/").content.decode())
    assert ", ".join(names) in overview
