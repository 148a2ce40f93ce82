"""Every partition of a table, by size, rows and files: the page and its API call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from django.test import Client

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from tables.catalog.adding import additions
from tables.catalog.roots import entries as roots
from tables.models import Root, Table
from tables.record import live_files
from tables.web.charts.layout import row_skew
from tests.tables.web.table.test_pages import HOSTILE, page

Write = Callable[..., Path]
pytestmark = pytest.mark.django_db
COUNT = 130


@pytest.fixture
def vic(person: Callable[..., Person]) -> Client:
    client = Client()
    client.force_login(person("vic", Role.VIEWER))
    return client


@pytest.fixture
def orders(admin: Actor, root: Root, write: Write) -> Table:
    """A partition `day` of 1 to 130 rows, the last one in two files, and one without a value."""
    days = [day for day in range(1, COUNT + 1) for _ in range(day)]
    table = pa.table({"id": list(range(len(days) + 1)), "day": pa.array([*days, None], pa.int32())})
    write(table=table, partition_by=["day"])
    write(table=pa.table({"id": [1], "day": pa.array([COUNT], pa.int32())}), mode="append", partition_by=["day"])
    return additions.add_table(admin, f"{root.uri}/orders").table


def asked(client: Client, table: Table, query: str = "", status: int = 200) -> dict[str, Any]:
    answer = client.get(f"/api/v1/tables/{table.pk}/partitions{query}")
    assert answer.status_code == status, answer.content
    return dict(answer.json())


def walked(client: Client, table: Table, query: str) -> list[dict[str, Any]]:
    """All rows of all pages."""
    found = asked(client, table, query)
    rows: list[dict[str, Any]] = found["results"]
    while found["next"]:
        found = client.get(found["next"]).json()
        rows += found["results"]
    return rows


def test_every_partition_is_listed_once_in_the_order_asked_for(vic: Client, orders: Table) -> None:
    for order, measure in (("size", "bytes"), ("rows", "rows"), ("files", "files")):
        rows = walked(vic, orders, f"?order={order}&limit=40")
        assert {row["values"]["day"] for row in rows} == {str(day) for day in range(1, COUNT + 1)} | {None}
        assert len(rows) == COUNT + 1
        measures = [row[measure] for row in rows]
        assert measures == sorted(measures, reverse=True)
    first = asked(vic, orders, "?order=rows&limit=1")
    assert first["results"][0]["rows"] == COUNT + 1
    assert (first["version"], first["columns"], first["count"]) == (1, ["day"], COUNT + 1)
    assert walked(vic, orders, "?order=files&limit=500")[0]["values"] == {"day": str(COUNT)}


def test_a_part_of_a_value_finds_partitions(vic: Client, orders: Table) -> None:
    assert [row["values"]["day"] for row in walked(vic, orders, "?q=DAY=13")] == ["130", "13"]
    assert walked(vic, orders, "?q=null")[0]["values"] == {"day": None}
    assert asked(vic, orders, "?q=(")["found"] == 0


def test_an_empty_text_and_hives_name_are_values_beside_null(
    vic: Client, admin: Actor, root: Root, write: Write
) -> None:
    path = write("texts", table=pa.table({"id": [1, 2, 3], "day": ["", None, "x"]}), partition_by=["day"])
    log = path / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace('"day":"x"', '"day":"__HIVE_DEFAULT_PARTITION__"', 1))
    table = additions.add_table(admin, str(path)).table
    assert {row["values"]["day"] for row in walked(vic, table, "")} == {"", None, "__HIVE_DEFAULT_PARTITION__"}
    for tab in ("partitions", "layout"):
        html = page(vic, f"/tables/{table.pk}/{tab}/")
        assert "day=<abbr" in html
        assert "empty text" in html


def test_the_pages_lead_on_and_back(vic: Client, orders: Table) -> None:
    html = page(vic, f"/tables/{orders.pk}/partitions/?order=rows")
    assert "131 partitions of day" in html
    assert "1 – 100 of 131" in html
    later = page(vic, f"/tables/{orders.pk}/partitions/?order=rows&cursor=100")
    assert "101 – 131 of 131" in later
    assert "order=rows&amp;cursor=0" in later
    assert "No partition matches" in page(vic, f"/tables/{orders.pk}/partitions/?q=zzz")
    assert f"/tables/{orders.pk}/partitions/" in page(vic, f"/tables/{orders.pk}/layout/")
    part = vic.get(f"/tables/{orders.pk}/partitions/", headers={"HX-Request": "true", "HX-Target": "found"})
    assert part.content.decode().lstrip().startswith('<div id="found"')
    for odd in ("cursor=x", "cursor=999999999", "order=x", "q=%00"):
        page(vic, f"/tables/{orders.pk}/partitions/?{odd}")


def test_the_layout_draws_partitions_by_rows_and_shows_rows_by_column(vic: Client, orders: Table) -> None:
    html = page(vic, f"/tables/{orders.pk}/layout/")
    assert "Partitions by rows" in html
    drawn = html[html.index('id="h-rskew"') :].split("</section>")[0]
    assert "".join(drawn.split()).count('<tr><thscope="row"') == 50
    assert drawn.index(">131<") < drawn.index(">129<") < drawn.index(">128<")
    by_column = html[html.index('id="h-c1"') :]
    assert '<th scope="col" class="n">Rows</th>' in by_column
    assert '<td class="n">131</td>' in by_column


def test_partitions_of_rows_are_drawn_by_powers_of_ten() -> None:
    line = row_skew([10_000, 100, 1], 3, 100)
    assert [tick.text for tick in line.grid] == ["1", "10", "100", "1,000", "10,000"]
    assert line.reference_text == "median 100"


def test_what_has_no_partitions_says_why(vic: Client, admin: Actor, root: Root, write: Write, orders: Table) -> None:
    plain = additions.add_table(admin, str(write("plain"))).table
    assert asked(vic, plain, status=409)["code"] == "not_partitioned"
    live_files.files_path(orders.pk).unlink()
    assert asked(vic, orders, status=409)["code"] == "not_synced"
    asked(vic, orders, "?order=name", 400)
    page(vic, f"/tables/{orders.pk}/partitions/", 409)


def test_a_stranger_finds_no_partitions(orders: Table, person: Callable[..., Person], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    elsewhere = roots.add_root(Actor.system("test"), "other", str(tmp_path / "other"))
    client = Client()
    client.force_login(person("zoe", Role.OPERATOR, root=elsewhere))
    asked(client, orders, status=404)
    page(client, f"/tables/{orders.pk}/partitions/", 404)


def test_hostile_values_are_shown_as_text(vic: Client, admin: Actor, root: Root, write: Write) -> None:
    hostile = pa.table({"x": [1, 2], HOSTILE: [HOSTILE, "b"]})
    table = additions.add_table(admin, str(write("h", table=hostile, partition_by=[HOSTILE]))).table
    assert "<script>alert" not in page(vic, f"/tables/{table.pk}/partitions/?q=<script>")
