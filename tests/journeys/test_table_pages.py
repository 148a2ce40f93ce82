"""The catalog's pages over a real lake, in a real browser: both themes, wide and narrow, under the product's own policy."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from playwright.sync_api import BrowserContext, Page

from console.accounts.roles import Role
from console.audit.actor import Actor
from tables.catalog import entries
from tables.catalog.adding import additions
from tables.catalog.roots import entries as roots
from tables.catalog.roots import scans
from tables.models import Commit, Root, Table
from tables.rules import sample_lake
from tables.sync import table as syncing
from tests import factories
from tests.factories import lakes
from tests.journeys.looks import sign_in, troubles_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAGES = (
    "/tables/",
    "/tables/?q=order",
    "/tables/?q=nothing-like-this",
    "/tables/values/?facet=feature",
    "/tables/add/",
    "/help/concepts/",
    "/help/?q=quorum",
    "/tables/roots/{root}/",
    "/roots/",
    "/roots/add/",
    "/roots/{root}/",
    "/roots/{root}/edit/",
    "/roots/{root}/remove/",
    "/tables/{sales}/",
    "/tables/{sales}/schema/?old=0&new=12",
    "/tables/{sales}/history/",
    "/tables/{sales}/commits/12/",
    "/tables/{sales}/protocol/",
    "/tables/{sales}/layout/",
    "/tables/{sales}/partitions/",
    "/tables/{sales}/compare/?from=3&to=12",
    "/tables/{sales}/rows/",
    "/tables/{sales}/describe/",
    "/tables/{raw}/",
    "/tables/{gone}/",
)


def rows(day: int, count: int, **more: pa.Array) -> pa.Table:
    chance = random.Random(day)
    return pa.table(
        {
            "order_id": pa.array(range(day * 1000, day * 1000 + count), pa.int64()),
            "country": [chance.choice(("AT", "DE", "FR")) for _ in range(count)],
            "amount": [chance.uniform(1, 400) for _ in range(count)],
            "ordered_at": pa.array([datetime(2026, 11, 1 + day % 20, tzinfo=UTC)] * count, pa.timestamp("us", "UTC")),
            **more,
        }
    )


@pytest.fixture
def actor() -> Actor:
    return Actor.acting_for(factories.person_named("ines", Role.ADMIN, Role.OPERATOR))


@pytest.fixture
def lake(tmp_path: Path, actor: Actor) -> dict[str, object]:
    """A sample lake with a Delta table of thirteen versions, a parquet directory and a table that vanished."""
    place = sample_lake.write_lake(tmp_path)
    root = roots.add_root(actor, "lake", str(place))
    sales = str(place / "sales_eu" / "orders")
    for day in range(11):
        lakes.delta(sales, rows(day, 40 + 30 * day), mode="append", partition_by=["country"])
    DeltaTable(sales).delete("country = 'AT'")
    note = pa.array(["Happy birthday"] * 5)
    lakes.delta(sales, rows(12, 5, note=note), mode="append", schema_mode="merge", partition_by=["country"])
    lakes.delta(place / "gone", rows(1, 5))
    scans.scan_root(root.pk)
    added = {name: additions.add_table(actor, str(place / path)).table for name, path in NAMED.items()}
    entries.update_table(actor, added["sales"], owner="ana", description="One row per order.", tags=["gold", "pii"])
    (place / "gone").rename(tmp_path / "elsewhere")
    syncing.sync(added["gone"].pk)
    for commit in Commit.objects.filter(table=added["sales"]):
        assert commit.committed_at is not None
        days = timedelta(days=3 * (12 - commit.version))
        Commit.objects.filter(pk=commit.pk).update(committed_at=commit.committed_at - days)
    batch = {"outputMode": "Append", "queryId": "5f0c1d1e-9c44-4a4f-9a52-2b7a7d1f3f10", "epochId": "9"}
    streamed = Commit.objects.filter(table=added["sales"], version=9)
    streamed.update(operation="STREAMING UPDATE", operation_parameters=batch)
    return {"root": root.pk, **{name: table.pk for name, table in added.items()}}


NAMED = {"sales": "sales_eu/orders", "raw": "orders", "gone": "gone"}


def test_the_pages_of_the_catalog_are_clean_in_both_themes_and_at_both_widths(
    server: str,
    lake: dict[str, object],
    actor: Actor,
    context: BrowserContext,
    faults: list[str],
    axe_findings: Callable[[Page], list[str]],
) -> None:
    assert actor.person is not None
    addresses = [address.format(**lake) for address in PAGES]
    assert troubles_of(context, server, actor.person, addresses, axe_findings) == []
    assert faults == []


def test_typing_narrows_the_list_in_place(
    server: str, lake: dict[str, object], actor: Actor, context: BrowserContext
) -> None:
    assert actor.person is not None
    sign_in(context, server, actor.person, "light")
    page = context.new_page()
    page.goto(f"{server}/tables/")
    assert page.locator("#found tbody tr").count() == Table.objects.count()
    page.locator("#q").press_sequentially("sales")
    page.wait_for_url("**/tables/?*q=sales*")
    page.locator("#found tbody tr").nth(1).wait_for(state="detached")
    assert page.locator("#found tbody tr").count() == 1
    assert Root.objects.count() == 1


def test_all_values_of_a_facet_are_reached_from_the_list_as_it_is_narrowed_now(
    server: str,
    lake: dict[str, object],
    actor: Actor,
    context: BrowserContext,
    faults: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tables.catalog.facets.SHOWN", 1)
    assert actor.person is not None
    sign_in(context, server, actor.person, "light")
    page = context.new_page()
    page.goto(f"{server}/tables/")
    page.get_by_role("checkbox", name="Delta").check()
    page.wait_for_url("**/tables/?*format=delta*")
    page.get_by_role("link", name="Tag").click()
    page.wait_for_url("**/tables/values/?*format=delta*")
    page.get_by_role("checkbox", name="pii").check()
    page.get_by_role("button", name="Show tables").click()
    page.wait_for_url("**/tables/?*format=delta*tag=pii*")
    page.get_by_role("link", name="Size").click()
    page.wait_for_url("**/tables/?*tag=pii*order=-size*")
    assert page.get_by_role("columnheader", name="Size").get_attribute("aria-sort") == "descending"
    assert faults == []


def test_one_walks_from_the_history_through_a_version_and_back(
    server: str, lake: dict[str, object], actor: Actor, context: BrowserContext, faults: list[str]
) -> None:
    assert actor.person is not None
    sign_in(context, server, actor.person, "light")
    page = context.new_page()
    page.goto(f"{server}/tables/{lake['sales']}/history/")
    page.get_by_role("link", name="Rows at version 11").click()
    page.wait_for_url("**/rows/?version=11")
    tabs = page.get_by_role("navigation", name="Table")
    for name, address in (("Layout", "**/layout/?version=11"), ("Schema", "**/schema/?version=11")):
        tabs.get_by_role("link", name=name).click()
        page.wait_for_url(address)
    page.get_by_role("textbox", name="Version", exact=True).fill("10")
    page.get_by_role("form", name="Version", exact=True).get_by_role("button", name="Show").click()
    page.wait_for_url("**/schema/?version=10")
    page.get_by_role("link", name="v11 →").click()
    page.wait_for_url("**/schema/?version=11")
    page.get_by_role("link", name="Commit", exact=True).click()
    page.wait_for_url("**/commits/11/")
    page.get_by_role("link", name="v12 →").click()
    page.wait_for_url("**/commits/12/")
    page.get_by_role("list", name="You are in").get_by_role("link", name="History").click()
    page.wait_for_url("**/history/")
    assert faults == []


def test_typing_narrows_a_schema_and_leaves_the_way_back_as_it_was(
    server: str, lake: dict[str, object], actor: Actor, context: BrowserContext
) -> None:
    assert actor.person is not None
    sign_in(context, server, actor.person, "light")
    page = context.new_page()
    page.goto(f"{server}/tables/{lake['sales']}/")
    page.goto(f"{server}/tables/{lake['sales']}/schema/")
    page.locator("#find-field").press_sequentially("COUNTR", delay=300)
    page.wait_for_url("**/schema/?*q=COUNTR*")
    page.locator("#found tbody tr").nth(1).wait_for(state="detached")
    assert page.locator("#found tbody th").inner_text() == "country"
    page.go_back()
    page.wait_for_url(f"{server}/tables/{lake['sales']}/")
