"""A page that a role may not open isn't offered to it: every link within Levee on the main pages answers the role that sees it."""

from __future__ import annotations

import re
from collections import deque
from html import unescape
from pathlib import Path

import pytest
from django.test import Client

from console.accounts.roles import Role
from tables.models import Table
from tables.sync import table as syncing
from tests import factories
from tests.clients import browser
from tests.factories import lakes

pytestmark = pytest.mark.django_db

LINK = re.compile(r'<a\b[^>]*?\bhref="(/[^"#]*)')
NOT_PAGES = ("/static/", "/help/")
MOST = 60


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A Delta table with a change feed and two versions, a job, a stream and a parquet directory beside it."""
    root = factories.RootFactory(uri=str(tmp_path))
    place = lakes.delta(tmp_path / "sales", {"id": [1, 2]}, configuration={"delta.enableChangeDataFeed": "true"})
    lakes.delta(place, {"id": [3]}, mode="append")
    lakes.parquet(tmp_path / "plain" / "one.parquet", {"id": [1]})
    table = syncing.sync(factories.TableFactory(root=root, path=str(place), name="sales").pk)
    factories.TableFactory(root=root, path=str(tmp_path / "plain"), name="plain", format=Table.Format.PARQUET)
    factories.job("awaiting_approval", table=table)
    factories.job("succeeded", table=table, parameters={"n": 1}, version=1)
    factories.stream(table)
    factories.schedule(table)
    return table


def offered(client: Client, starts: list[str]) -> dict[str, tuple[int, str]]:
    """The answer of each page that can be reached by links from the `starts`, with the page that offers it; each kind of page once."""
    found: dict[str, tuple[int, str]] = {}
    kinds: set[str] = set()
    waiting = deque((start, "the start") for start in starts)
    while waiting and len(found) < MOST:
        address, source = waiting.popleft()
        answer = client.get(address, follow=True)
        found[address] = (answer.status_code, source)
        text = "" if answer.streaming else answer.content.decode()
        for link in map(unescape, LINK.findall(text)):
            kind = re.sub(r"[0-9a-f-]{36}|\d+", "_", link.partition("?")[0])
            if kind not in kinds and not link.startswith(NOT_PAGES):
                kinds.add(kind)
                waiting.append((link, address))
    return found


@pytest.mark.parametrize("role", [*Role, None])
def test_every_page_that_is_offered_opens(role: Role | None, table: Table, redis_server: object) -> None:
    client = browser(factories.person_with(role))
    reads = role is not None  # each role may read
    starts = ["/", *([f"/tables/{table.pk}/"] if reads else [])]
    found = offered(client, starts)
    assert (20 if reads else 2) < len(found) < MOST, "all of them, none cut off"
    refused = {address: told for address, told in found.items() if told[0] in (403, 404) or told[0] >= 500}
    assert refused == {}
