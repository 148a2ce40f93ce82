"""Paths are names: blanks, `%`, `#`, `?`, `&`, `+` and quotes in them lead pages and calls of the API to the same place."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from tables.models import Finding, Root, Table
from tests import factories
from tests.clients import Caller, confirmed_browser

pytestmark = pytest.mark.django_db

NAMES = ["a b%20c#d", 'q?x=1&y=2+3 it\'s "so" ä%C3%A4;é']
PAGES = ("", "history/", "commits/0/", "delete/", "restore/")


class Links(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {value or "" for name, value in attrs if name in ("href", "hx-get") and tag != "link"}


@pytest.fixture
def lake(tmp_path: Path) -> Root:
    return factories.RootFactory(uri=str(tmp_path))


@pytest.fixture
def caller(redis_server: object) -> Caller:
    return Caller(factories.person_named("ada", "admin", "operator", "auditor", "approver"))


def links_of(client: Client, address: str) -> set[str]:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return Links(answer.content.decode()).found


def followed(client: Client, links: set[str]) -> set[str]:
    """The paths that links name: each of those links answers."""
    named = {link: parse_qs(urlsplit(link).query).get("path", []) for link in links if link.startswith("/")}
    for link in (link for link, paths in named.items() if paths):
        assert client.get(link).status_code == 200, link
    return {each for paths in named.values() for each in paths}


def written(place: Path, name: str) -> None:
    """A table of two rows in a partition of this name; moved there, since deltalake would decode the path."""
    rows = pa.table({"id": [1, 2], "day": [name, name]})
    write_deltalake(str(place.parent / "plain"), rows, partition_by=["day"])
    (place.parent / "plain").rename(place)


@pytest.mark.parametrize("name", NAMES)
def test_every_page_of_a_table_names_its_path_and_leads_there(lake: Root, caller: Caller, name: str) -> None:
    place = Path(lake.uri) / name
    written(place, name)
    added = caller.post("/tables", {"path": str(place)})
    assert (added.status_code, added.json()["path"], added.json()["version"]) == (201, str(place), 0)
    client = confirmed_browser(caller.person)
    for page in PAGES:
        address = f"/tables/{added.json()['id']}/{page}"
        assert escape(name) in client.get(address).content.decode(), page
        assert followed(client, links_of(client, address)) <= {str(place)}


def test_the_api_takes_and_gives_the_path_as_it_is(lake: Root, caller: Caller) -> None:
    for name in NAMES:
        place = f"{lake.uri}/{name}"
        written(Path(place), name)
        table = caller.post("/tables", {"path": place}).json()["id"]
        assert caller.post("/tables", {"path": f"file://{place}"}).json()["id"] == table
        (file,) = caller.get(f"/tables/{table}/commits/0/files").json()["results"]
        assert file["partition_values"] == {"day": name}
        assert caller.post(f"/tables/{table}/sync").json()["path"] == place
        deleted = {"command": "delete", "table": table, "predicate": "id = 1", "reason": "old"}
        assert caller.post("/jobs", deleted).json()["table"]["path"] == place
    assert Table.objects.count() == len(NAMES)


def test_a_directory_of_such_a_name_is_found_added_and_inspected(lake: Root, caller: Caller) -> None:
    client = confirmed_browser(caller.person)
    for name in NAMES:
        place = Path(lake.uri) / name
        place.mkdir()
        pq.write_table(pa.table({"id": [1]}), place / "a.parquet")
        Finding.objects.create(root=lake, path=str(place), kind="parquet", seen_at=timezone.now())
        inspected = caller.post("/conversions/inspect", {"path": str(place)})
        assert inspected.status_code == 202
        table = caller.post("/tables", {"path": str(place)}).json()["id"]
        assert followed(client, links_of(client, f"/tables/{table}/")) == {str(place)}
    links = links_of(client, "/convert/") | links_of(client, "/tables/add/")
    assert followed(client, links) == {f"{lake.uri}/{name}" for name in NAMES}
