"""Schemas as pages list them: narrowed, folded, page by page, and with the statistics that writers keep."""

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
from tables.deltalog.rules.column_lists import column_list
from tables.deltalog.rules.schema import Struct, parse_schema
from tables.history import schemas
from tables.models import Root, Schema
from tables.rules.column_statistics import Retained, retained
from tests.tables.web.table.test_pages import page

Write = Callable[..., Path]


def column(name: str, kind: Any = "string", comment: str = "") -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {"comment": comment} if comment else {}}


def struct(*columns: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(columns)}


def tree(*columns: dict[str, Any]) -> Struct:
    import json

    return parse_schema(json.dumps(struct(*columns)))


def named(found: dict[tuple[str, ...], Retained]) -> dict[str, str]:
    return {".".join(path): kind.value for path, kind in found.items()}


def test_statistics_are_kept_of_the_first_32_leaves_that_are_no_partition() -> None:
    inside = column("s", struct(*(column(f"i{n}", "integer") for n in range(30))))
    found = named(retained(tree(column("p"), column("flag", "boolean"), inside, column("a"), column("b")), ["P"], {}))
    assert found["p"] == "partition"
    assert found["flag"] == "nulls"
    assert found["s.i29"] == found["a"] == "bounds"
    assert found["b"] == "none"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("1", ["bounds", "none", "none"]),
        ("0", ["none"] * 3),
        ("-1", ["bounds", "nulls", "bounds"]),
        ("x", ["bounds", "nulls", "bounds"]),
    ],
)
def test_a_property_says_of_how_many_columns(text: str, kinds: list[str]) -> None:
    columns = tree(
        column("a"), column("b", {"type": "array", "elementType": "long", "containsNull": True}), column("c")
    )
    assert list(named(retained(columns, [], {"delta.dataSkippingNumIndexedCols": text})).values()) == kinds


def test_a_property_names_the_columns() -> None:
    columns = tree(column("a"), column("s", struct(column("x"), column("y z"))), column("d,e"))
    properties = {"delta.dataSkippingStatsColumns": "S.`y z`, `d,e`", "delta.dataSkippingNumIndexedCols": "1"}
    assert named(retained(columns, [], properties)) == {"a": "none", "s.x": "none", "s.y z": "bounds", "d,e": "bounds"}
    assert named(retained(columns, [], {"delta.dataSkippingStatsColumns": "s"}))["s.x"] == "bounds"
    assert column_list("a, b.c ,`d``,.e`.f,,") == [("a",), ("b", "c"), ("d`,.e", "f")]


def of(*columns: dict[str, Any]) -> list[schemas.ListedField]:
    return schemas.fields_of(Schema(sha256="x", struct=struct(*columns), columns=[]))


def test_a_small_schema_is_shown_whole_and_a_wide_one_columns_first() -> None:
    nested = column("s", struct(column("x"), column("t", struct(column("y")))))
    small = schemas.listing(of(nested, column("z")))
    assert [(line.field.path, line.inside) for line in small.lines] == [
        ("s", 3), ("s.x", 0), ("s.t", 1), ("s.t.y", 0), ("z", 0),
    ]  # fmt: skip
    wide = of(nested, *(column(f"c{n}") for n in range(500)))
    first = schemas.listing(wide)
    assert (first.is_folded, first.total, first.found, len(first.lines), first.next) == (True, 504, 501, 200, 200)
    assert {line.field.depth for line in first.lines} == {0}
    last = schemas.listing(wide, start=400)
    assert (len(last.lines), last.next, last.previous) == (101, None, 200)
    assert [line.field.path for line in schemas.listing(wide, below="s.t").lines] == ["s.t", "s.t.y"]


def test_fields_are_found_by_path_and_comment_at_any_depth() -> None:
    fields = of(column("s", struct(column("Zip", comment="postal code"))), column("t", comment="a ZIP too"))
    assert [line.field.path for line in schemas.listing(fields, q="zip").lines] == ["s.Zip", "t"]
    assert [line.field.path for line in schemas.listing(fields, q="POSTAL").lines] == ["s.Zip"]
    assert schemas.listing(fields, q="nothing").lines == []


@pytest.mark.django_db
def test_the_page_of_a_wide_table_is_short_and_can_be_searched(
    admin: Actor, root: Root, write: Write, person: Callable[..., Person]
) -> None:
    many = {f"c{n:04}": [n] for n in range(2000)} | {"nest": pa.array([{"deep": 1, "other": "x"}])}
    table = additions.add_table(admin, str(write("wide", table=pa.table(many)))).table
    client = Client()
    client.force_login(person("vic", Role.VIEWER))
    html = page(client, f"/tables/{table.pk}/schema/")
    assert html.count('<th scope="row" class="d0">') == 200
    assert "1 – 200 of 2,001" in html
    assert "2,003 fields at version 0" in html
    assert "c1999" not in html
    last = page(client, f"/tables/{table.pk}/schema/?cursor=2000")
    assert "?version=0&amp;below=nest" in last
    assert "nest.deep" in page(client, f"/tables/{table.pk}/schema/?below=nest")
    part = client.get(f"/tables/{table.pk}/schema/?q=DEEP", headers={"HX-Request": "true", "HX-Target": "found"})
    assert part.content.decode().lstrip().startswith('<div id="found"')
    assert "nest.deep" in part.content.decode()
    fields = client.get(f"/api/v1/tables/{table.pk}/schema").json()["fields"]
    assert [field["statistics"] for field in fields][31:33] == ["bounds", "none"]
