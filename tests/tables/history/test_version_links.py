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
from tables.catalog.adding import additions
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


def bar(html: str) -> str:
    """The tabs of a table's page with the chooser beside them and the line below."""
    start = html.index('<div class="lv-tab-bar">')
    line = html.find('<p class="lv-note lv-at-version">', start)
    return html[start : html.index("</p>" if line > 0 else "</form>", max(line, start))]


def links(html: str) -> dict[str, str]:
    """The ways that a page's bar shows: address by text."""
    found = re.findall(r'<a [^>]*?href="([^"]+)"[^>]*>\s*([^<]+?)\s*<', bar(html))
    return {text: url.replace("&amp;", "&") for url, text in found}


AT_VERSION = ("Schema", "Protocol", "Layout", "Capabilities", "Rows")


def test_the_tabs_keep_the_version_where_they_can_show_it_and_the_page_says_where_not(
    vic: Client, orders: Table
) -> None:
    history = page(vic, f"/tables/{orders.pk}/history/")
    assert f'href="/tables/{orders.pk}/commits/2/"' in history
    assert f'href="/tables/{orders.pk}/rows/?version=2"' in history
    found = links(page(vic, f"/tables/{orders.pk}/commits/2/"))
    for text in AT_VERSION:
        assert found[text] == f"/tables/{orders.pk}/{text.lower()}/?version=2"
        if text != "Capabilities":
            html = page(vic, found[text])
            assert links(html)["Commit"] == f"/tables/{orders.pk}/commits/2/", text
            assert {name: links(html)[name] for name in AT_VERSION} == {name: found[name] for name in AT_VERSION}
            said = " ".join(bar(html).split())
            assert (
                "<strong>Version 2</strong>; the newest is 3. Overview, History, Jobs and Streams show only the newest."
                in said
            )
            assert links(html)["Back to the newest"] == f"/tables/{orders.pk}/{text.lower()}/"
            assert links(html)["Compare with the newest"] == f"/tables/{orders.pk}/compare/?from=2&to=3"
    assert found["Change feed"] == f"/tables/{orders.pk}/changes/?from_version=2&to_version=2"
    page(vic, found["Change feed"])


def test_of_the_newest_version_the_tabs_are_as_they_always_are(vic: Client, orders: Table) -> None:
    for address in ("schema/", "schema/?version=3", "commits/3/", ""):
        html = page(vic, f"/tables/{orders.pk}/{address}")
        assert links(html)["Layout"] == f"/tables/{orders.pk}/layout/"
        assert "lv-at-version" not in html


@pytest.mark.parametrize(
    ("address", "action", "label"),
    [
        ("layout/", "layout/", "Version"),
        ("rows/?limit=20&columns=id&cursor=x&version=1", "rows/", "Version"),
        ("commits/2/", "commits/", "Version"),
        ("", "schema/", "Another version, in Schema"),
        ("history/?by=ana", "schema/", "Another version, in Schema"),
        ("describe/", "schema/", "Another version, in Schema"),
    ],
)
def test_another_version_is_chosen_beside_the_tabs_and_keeps_the_tab_where_it_can(
    person: Callable[..., Person], orders: Table, address: str, action: str, label: str
) -> None:
    client = Client()
    client.force_login(person("olga", Role.OPERATOR))
    html = page(client, f"/tables/{orders.pk}/{address}")
    form = html[html.index('<form class="lv-versions"') :].split("</form>")[0]
    assert f'action="/tables/{orders.pk}/{action}"' in form
    assert f'<label for="ver">{label}</label>' in form
    carried = re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', form)
    assert carried == ([("limit", "20"), ("columns", "id")] if "limit" in address else [])
    assert html.count('name="version"') == html.count('id="ver"') + (1 if "rows" in address else 0)


def test_a_commit_is_chosen_by_its_version(vic: Client, orders: Table) -> None:
    commits = f"/tables/{orders.pk}/commits/"
    assert vic.get(commits, {"version": "1"}).headers["Location"] == f"{commits}1/"
    Commit.objects.filter(table=orders, version=1).delete()
    for version, why in (
        ("1", "doesn’t know the commit of version 1"),
        ("9", "There is no version 9"),
        ("x", "whole number"),
    ):
        answer = vic.get(commits, {"version": version}, follow=True)
        assert answer.redirect_chain == [(f"/tables/{orders.pk}/history/", 302)]
        assert why in answer.content.decode()


def test_rows_as_of_a_time_are_of_no_version_that_was_chosen(vic: Client, orders: Table) -> None:
    at_time = page(vic, f"/tables/{orders.pk}/rows/?timestamp=2026-11-20+12:00")
    assert 'name="timestamp"' in at_time
    assert "lv-at-version" not in at_time
    at_version = page(vic, f"/tables/{orders.pk}/rows/?version=1")
    assert 'name="timestamp"' not in at_version, "a time would be a second one"
    assert '<input type="hidden" name="version" value="1">' in at_version


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
    html = page(vic, f"/tables/{orders.pk}/commits/2/")
    found = links(html)
    assert "← v1" not in found
    assert {name for name, url in found.items() if "version=2" in url} == {"Schema", "Protocol"}
    assert "v3 →" in found
    said = "Overview, History, Layout, Capabilities, Rows, Change feed, Jobs and Streams show only the newest."
    assert said in " ".join(html.split())
    admin = version_links.ways(person("root", Role.ADMIN), orders, 3, "schema")
    assert "rows" not in [place.name for place in admin.places]


def test_a_commit_leads_back_to_the_history_that_it_is_of(vic: Client, orders: Table) -> None:
    html = page(vic, f"/tables/{orders.pk}/commits/2/")
    crumbs = html[html.index('class="lv-crumbs"') :].split("</ol>")[0]
    assert f"/tables/{orders.pk}/history/" in crumbs
    refused = page(vic, f"/tables/{orders.pk}/rows/?version=x", 400)
    assert links(refused)["Schema"] == f"/tables/{orders.pk}/schema/"
    assert 'id="ver" name="version" inputmode="numeric" value="x"' in " ".join(refused.split())


def test_of_an_earlier_table_only_its_own_commits_are_beside(orders: Table, vic: Client) -> None:
    Table.objects.filter(pk=orders.pk).update(incarnation=1)
    found = links(page(vic, f"/tables/{orders.pk}/commits/2/?incarnation=0"))
    assert {name: url for name, url in found.items() if "v" in name and name[-1] in "1→"} == {
        "← v1": f"/tables/{orders.pk}/commits/1/?incarnation=0",
        "v3 →": f"/tables/{orders.pk}/commits/3/?incarnation=0",
    }
    assert found["Schema"] == f"/tables/{orders.pk}/schema/"
    assert 'id="ver"' not in page(vic, f"/tables/{orders.pk}/commits/2/?incarnation=0")
