"""From a commit to the other pages of its version, to the versions beside it, and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from tables.catalog import additions
from tables.history import version_links
from tables.models import Commit, Root, Table
from tests.tables.web.table.test_pages import page

Write = Callable[..., Path]
pytestmark = pytest.mark.django_db


@pytest.fixture
def orders(admin: Actor, root: Root, write: Write) -> Table:
    for _ in range(4):
        write(mode="append", configuration={"delta.enableChangeDataFeed": "true"})
    return additions.add_table(admin, f"{root.uri}/orders").table


@pytest.fixture
def vic(person: Callable[..., Person]) -> Client:
    client = Client()
    client.force_login(person("vic", Role.VIEWER))
    return client


def links(html: str) -> dict[str, str]:
    """The ways between versions that a page shows: address by text."""
    part = re.search(r'<nav class="lv-versions".*?</nav>', html, re.DOTALL)
    return (
        {t: url.replace("&amp;", "&") for url, t in re.findall(r'href="([^"]+)"[^>]*>([^<]+)<', part[0])}
        if part
        else {}
    )


def test_every_page_of_a_version_leads_to_its_others_and_back(vic: Client, orders: Table) -> None:
    history = page(vic, f"/tables/{orders.pk}/history/")
    assert f'href="/tables/{orders.pk}/commits/2/"' in history
    assert f'href="/tables/{orders.pk}/rows/?version=2"' in history
    texts = ["Commit", "Rows", "Schema", "Layout", "Protocol", "Change feed"]
    found = links(page(vic, f"/tables/{orders.pk}/commits/2/"))
    assert [text for text in found if not text.startswith(("←", "v"))] == texts
    for text in ("Rows", "Schema", "Layout", "Protocol"):
        html = page(vic, found[text])
        assert links(html)["Commit"] == f"/tables/{orders.pk}/commits/2/", text
        assert set(links(html)) >= set(texts), text
    page(vic, found["Change feed"])


def test_the_versions_beside_it_are_reached_without_leaving_the_kind_of_page(vic: Client, orders: Table) -> None:
    for place in (
        "commits/{}/",
        "schema/?version={}",
        "layout/?version={}",
        "protocol/?version={}",
        "rows/?version={}",
    ):
        found = links(page(vic, f"/tables/{orders.pk}/{place.format(2)}"))
        assert found["← v1"] == f"/tables/{orders.pk}/{place.format(1)}"
        assert found["v3 →"] == f"/tables/{orders.pk}/{place.format(3)}"
        ends = [links(page(vic, f"/tables/{orders.pk}/{place.format(end)}")) for end in (0, 3)]
        assert not [text for text in ends[0] if text.startswith("←")]
        assert not [text for text in ends[1] if text.endswith("→")]


def test_no_way_leads_to_a_page_that_cannot_be(orders: Table, vic: Client, person: Callable[..., Person]) -> None:
    orders.first_readable = 3
    orders.save(update_fields=["first_readable"])
    Commit.objects.filter(table=orders, version=1).delete()
    found = links(page(vic, f"/tables/{orders.pk}/commits/2/"))
    assert not {"Rows", "Layout", "Change feed", "← v1"} & set(found)
    assert {"Schema", "Protocol", "v3 →"} <= set(found)
    admin = version_links.ways(person("root", Role.ADMIN), orders, 3, "schema")
    assert "rows" not in [place.name for place in admin.places]


def test_a_commit_leads_back_to_the_history_that_it_is_of(vic: Client, orders: Table) -> None:
    html = page(vic, f"/tables/{orders.pk}/commits/2/")
    crumbs = html[html.index('class="lv-crumbs"') :].split("</ol>")[0]
    assert f"/tables/{orders.pk}/history/" in crumbs
    assert "rows at" not in links(page(vic, f"/tables/{orders.pk}/rows/?version=x", 400))


def test_of_an_earlier_table_only_its_own_commits_are_beside(orders: Table, vic: Client) -> None:
    Table.objects.filter(pk=orders.pk).update(incarnation=1)
    found = links(page(vic, f"/tables/{orders.pk}/commits/2/?incarnation=0"))
    assert found == {
        "← v1": f"/tables/{orders.pk}/commits/1/?incarnation=0",
        "v3 →": f"/tables/{orders.pk}/commits/3/?incarnation=0",
    }
