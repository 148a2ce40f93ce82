from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from tables.catalog import entries, facets, light_turns, listing
from tables.catalog.adding import additions
from tables.catalog.roots import entries as roots
from tables.models import Root, SyncTimes, Table
from tables.sync import table as syncing
from tables.web.forms import FACET_NAMES
from tables.web.table_state import state_of
from tests import factories
from tests.clients import API, Caller, browser

Write = Callable[..., Path]


@pytest.fixture
def three(admin: Actor, root: Root, write: Write, lake: Path) -> Person:
    tables = [additions.add_table(admin, str(write(name))).table for name in ("a", "b", "c")]
    entries.update_table(admin, tables[0], tags=["gold"])
    shutil.rmtree(lake / "c")
    syncing.sync(tables[2].pk)
    assert admin.person is not None
    return admin.person


def test_values_are_counted(three: Person, root: Root) -> None:
    counts, counted_at = facets.counts_for(three)
    assert counted_at is None
    assert counts["format"] == {"delta": 3}
    assert counts["root"] == {str(root.pk): 3}
    assert counts["tag"] == {"gold": 1}
    assert counts["health"] == {"missing": 1}
    assert counts["feature"] == {"appendOnly": 3, "invariants": 3}
    assert counts["age"]["day"] == 3


@pytest.mark.parametrize(("value", "text", "count"), [("error", "Any error", 1), ("warning", "Any finding", 1)])
def test_a_value_that_stands_for_several_findings_is_shown_where_it_is_chosen(
    three: Person, value: str, text: str, count: int
) -> None:
    counts, _ = facets.counts_for(three)
    (shown,) = [group for group in facets.groups(counts, {"health": [value]}, FACET_NAMES) if group["name"] == "health"]
    chosen = [option for option in shown["options"] if option["checked"]]
    assert chosen == [{"value": value, "text": text, "count": count, "checked": True}]
    (without,) = [group for group in facets.groups(counts, {}, FACET_NAMES) if group["name"] == "health"]
    assert [option["value"] for option in without["options"]] == ["missing"]


def test_a_program_gets_what_the_list_shows_and_narrows_by_it(three: Person, root: Root) -> None:
    client = APIClient()
    client.force_authenticate(three)
    body = client.get(f"{API}/tables/facets").json()
    assert (body["counted_at"], body["totals"]["tables"], body["totals"]["stale"]) == (None, 3, 1)
    assert body["facets"]["root"] == [{"value": str(root.pk), "text": "lake", "count": 3}]
    assert body["facets"]["tag"] == [{"value": "gold", "text": "gold", "count": 1}]
    for name, values in body["facets"].items():
        for each in values:
            found = client.get(f"{API}/tables", {name: each["value"]}).json()["results"]
            assert len(found) == each["count"], (name, each)


def test_a_large_catalog_is_told_from_its_roots(three: Person, root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    live = facets.counts_for(three)[0], facets.totals_for(three)
    monkeypatch.setattr(facets, "LIVE", 2)
    assert facets.refresh_next() is True
    assert facets.refresh_next() is False
    stored, counted_at = facets.counts_for(three)
    root.refresh_from_db()
    assert counted_at == root.facets_at
    assert {name: +counter for name, counter in stored.items()} == {name: +counter for name, counter in live[0].items()}
    assert facets.totals_for(three) == replace(live[1], counted_at=counted_at)


def test_a_large_catalog_of_small_roots_is_counted_root_by_root(
    three: Person, admin: Actor, write: Write, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lake / "other").mkdir()
    roots.add_root(admin, "other", str(lake / "other"))
    for name in ("other/d", "other/e"):
        additions.add_table(admin, str(write(name)))
    monkeypatch.setattr(facets, "LIVE", 3)
    assert facets.totals_for(three).tables == 5  # not counted yet, and told all the same
    SyncTimes.objects.update(next_sync_at=timezone.now())
    assert [light_turns.do_next(), light_turns.do_next()] == [True, True]
    assert not Root.objects.filter(facets_at=None).exists()
    found = facets.totals_for(three)
    assert (found.tables, found.warnings, found.counted_at) == (5, 1, Root.objects.earliest("facets_at").facets_at)
    assert facets.next_late() is None


def test_pages_say_when_their_counts_are_of(
    three: Person, client: Client, monkeypatch: pytest.MonkeyPatch, redis_server: object
) -> None:
    client.force_login(three)
    assert "ounted <time" not in client.get("/").content.decode() + client.get("/tables/").content.decode()
    monkeypatch.setattr(facets, "LIVE", 2)
    facets.refresh_next()
    assert "counted <time" in client.get("/").content.decode()
    assert "Counted <time" in client.get("/tables/").content.decode()


def test_tables_seen_one_by_one_are_counted_on_top(
    three: Person, root: Root, person: Callable[..., Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = person("tom", Role.VIEWER, table=Table.objects.get(name="a"))
    assert facets.totals_for(reader).tables == 1
    monkeypatch.setattr(facets, "LIVE", 0)
    assert facets.totals_for(reader).tables == 1


def test_totals_say_what_is_not_well(three: Person) -> None:
    found = facets.totals_for(three)
    assert (found.tables, found.warnings, found.stale) == (3, 1, 1)
    assert found.size_bytes > 0


@pytest.fixture
def late(three: Person) -> Table:
    """A table that is well as far as anybody knew three days ago, beside a fresh one and one that has vanished."""
    found = Table.objects.get(name="b")
    SyncTimes.objects.filter(pk=found.pk).update(synced_at=timezone.now() - timedelta(days=3))
    found.refresh_from_db()
    return found


def listed(client: Client, query: str) -> list[str]:
    return [row["name"] for row in client.get(f"{API}/tables?{query}").json()["results"]]


def test_what_is_not_in_sync_is_counted_listed_and_called_alike(
    three: Person, late: Table, redis_server: object
) -> None:
    client, web = Caller(three).client, browser(three)
    counts, _ = facets.counts_for(three)
    assert (counts["health"]["stale_sync"], counts["totals"]["stale"], counts["totals"]["warnings"]) == (1, 2, 2)
    assert listed(client, "health=stale_sync") == ["b"]
    assert listed(client, "stale=true") == ["b", "c"]
    assert listed(client, "health=missing&health=stale_sync") == ["b", "c"]
    assert state_of(late).word == "stale sync"
    assert client.get(f"{API}/tables?health=stale_sync").json()["results"][0]["health_codes"] == ["stale_sync"]
    home = web.get("/").content.decode()
    assert 'href="/tables/?stale=true">2 tables not in sync</a>' in home
    assert 'href="/tables/?health=error">1 table with errors</a>' in home
    assert 'href="/tables/?health=any">2 tables with errors or warnings</a>' in home
    page = web.get("/tables/").content.decode()
    assert "Not in sync" in page
    assert 'name="stale" value="true"' in page
    narrowed = web.get("/tables/?stale=true&health=warning").content.decode()
    assert 'name="stale" value="true" checked' in narrowed
    assert [name for name in ("a", "b", "c") if f">{name}</a>" in narrowed] == ["b", "c"]


def test_home_names_a_table_with_errors_alone_once(three: Person, redis_server: object) -> None:
    home = browser(three).get("/").content.decode()
    assert 'href="/tables/?health=error">1 table with errors</a>' in home
    assert 'id="see-warnings"' not in home


def test_what_can_not_be_read_is_not_in_sync(three: Person, root: Root) -> None:
    Table.objects.filter(name="a").update(sync_error="the log is odd")
    client = Caller(three).client
    assert listed(client, "stale=true") == ["a", "c"]
    assert facets.totals_for(three).stale == 2


@pytest.fixture
def tagged(three: Person, admin: Actor) -> Person:
    """Three tables, one of which has more tags than the list's page shows, and two owners."""
    first, second = Table.objects.filter(name__in=["a", "b"]).order_by("name")
    entries.update_table(admin, first, owner="finance", tags=[f"tag{n:02}" for n in range(20)])
    entries.update_table(admin, second, owner="sales", tags=["tag00"])
    return three


def test_every_value_of_a_facet_can_be_reached(tagged: Person, redis_server: object) -> None:
    web = browser(tagged)
    page = web.get("/tables/?format=delta&cursor=").content.decode()
    assert page.count('name="tag"') == facets.SHOWN
    assert page.count('name="owner"') == 2
    assert 'href="/tables/values/?format=delta&amp;facet=tag"' in page
    values = web.get("/tables/values/?format=delta&facet=tag&tag=tag19").content.decode()
    assert values.count('type="checkbox" name="tag"') == 20
    assert 'name="format" value="delta"' in values
    assert 'value="tag19" checked' in values
    some = web.get("/tables/values/?facet=tag&part=G1&tag=tag00").content.decode()
    assert some.count('type="checkbox" name="tag"') == 11  # the chosen one stays
    assert "No matching values" in web.get("/tables/values/?facet=tag&part=zzz").content.decode()
    assert web.get("/tables/values/?facet=nothing").status_code == 404
    assert "lake" in web.get("/tables/values/?facet=root").content.decode()


def test_values_of_what_one_may_not_see_are_not_told(tagged: Person, person: Callable[..., Person]) -> None:
    reader = person("tom", Role.VIEWER, table=Table.objects.get(name="b"))
    page = browser(reader).get("/tables/values/?facet=tag").content.decode()
    assert "tag00" in page
    assert "tag01" not in page


def test_columns_order_the_list_and_keep_what_narrows_it(three: Person, redis_server: object) -> None:
    page = browser(three).get("/tables/?format=delta&order=-size").content.decode()
    assert re.search(r'aria-sort="descending">\s*<a href="/tables/\?format=delta&amp;order=-size">\s*Size', page)
    assert 'href="/tables/?format=delta&amp;order=-changed"' in page
    assert 'href="/tables/?format=delta&amp;order=name"' in page
    for order in ("name", "-size", "-files", "-changed"):
        assert browser(three).get(f"/tables/?order={order}").content.decode().count("aria-sort") == 1


def test_the_list_says_how_many_tables_there_are(
    three: Person, monkeypatch: pytest.MonkeyPatch, redis_server: object
) -> None:
    web = browser(three)

    def said(query: str = "") -> str:
        shown = web.get(f"/tables/{query}").content.decode()
        found = re.search(r'<p class="lv-note lv-after">\s*([^<]*? tables?)[^a-z]', shown)
        assert found is not None
        return found[1]

    assert said() == "3 tables"
    assert said("?q=a&tag=gold") == "1 table"
    monkeypatch.setattr("console.accounts.lists.USUAL_SIZE", 2)
    assert said() == "3 tables"
    monkeypatch.setattr(listing, "MOST_COUNTED", 2)
    assert said() == "More than 2 tables"


@pytest.mark.django_db
def test_what_nearly_every_table_has_narrows_nothing_and_is_left_out():
    for name, features in (("a", ["appendOnly", "invariants"]), ("b", ["appendOnly", "deletionVectors", "invariants"])):
        factories.TableFactory(name=name, features=features)
    counts = facets.count(Table.objects.all())

    def shown(chosen):
        group = next(g for g in facets.groups(counts, {"feature": chosen}, {}) if g["name"] == "feature")
        return [(option["value"], option["count"]) for option in group["options"]], group["values"]

    assert shown([]) == ([("deletionVectors", 1)], 1)
    assert shown(["invariants"]) == ([("invariants", 2), ("deletionVectors", 1)], 2)
    assert facets.values_of("feature", "", counts, [], {})[1] == 1
    assert facets.as_json(counts, None)["facets"]["feature"][0]["count"] == 2  # programs get all
