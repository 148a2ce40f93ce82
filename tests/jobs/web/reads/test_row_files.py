"""Rows that were read can be sorted, and taken away as a file: CSV that no spreadsheet runs, parquet with the columns' own types."""

import csv
import io
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.utils import timezone

from console.audit.models import Event
from jobs.models import Read
from jobs.web.reads import row_cells, row_files
from tests import factories
from tests.clients import browser

COLUMNS = {
    "id": ("bigint", [3, None, 1]), "name": ("string", ["=cmd()", "", 'a,"b"\n']), "price": ("decimal(10,2)", ["10.50", "-2.00", None]),
    "at": ("timestamp", ["2026-11-20 12:00:00.5", None, "1969-12-31 23:59:59"]), "day": ("date", ["2026-11-20", "0001-01-01", None]),
    "ratio": ("double", [0.5, "NaN", "-Infinity"]), "raw": ("binary", ["AQI=", None, ""]), "ok": ("boolean", [True, False, None]),
    "place": ("struct<x:int>", [{"x": 1}, None, {"x": None}]), "odd": ("date", ["+10000-01-01", None, "2026-01-01"]),
}  # fmt: skip


def answer(**more):
    columns = [{"name": name, "type": kind} for name, (kind, _) in COLUMNS.items()]
    rows = [list(row) for row in zip(*(values for _, values in COLUMNS.values()), strict=True)]
    return {"columns": columns, "rows": rows, "version": 7, "truncated": False, "cut_cells": [], **more}


def test_csv_tells_null_from_an_empty_text_and_begins_no_formula():
    text = "".join(row_files.as_csv(answer()))
    first, second, third = list(csv.reader(io.StringIO(text, newline="")))[1:]
    assert first[:4] == ["3", "'=cmd()", "10.50", "2026-11-20 12:00:00.5"]
    assert third[1] == 'a,"b"\n'
    assert first[7:9] == ["true", '{"x": 1}']
    assert second[2] == "-2.00"  # a number stays one
    assert third[5] == "-Infinity"
    assert text.split("\r\n")[2].startswith(',"",')  # no id, and a name that is empty


def test_parquet_has_the_columns_own_types():
    table = pq.read_table(io.BytesIO(row_files.as_parquet(answer())))
    assert table.schema.field("price").type == pa.decimal128(10, 2)
    assert table["price"].to_pylist() == [Decimal("10.50"), Decimal("-2.00"), None]
    assert table["at"].to_pylist()[0] == datetime(2026, 11, 20, 12, 0, 0, 500_000, UTC)
    assert table["day"].to_pylist() == [date(2026, 11, 20), date(1, 1, 1), None]
    assert table["raw"].to_pylist() == [b"\x01\x02", None, b""]
    assert table["id"].to_pylist() == [3, None, 1]
    assert str(table["ratio"].to_pylist()) == "[0.5, nan, -inf]"
    assert table["name"].to_pylist()[0] == "=cmd()"
    assert table["place"].to_pylist()[0] == '{"x": 1}'
    assert table["odd"].to_pylist() == [
        "+10000-01-01",
        None,
        "2026-01-01",
    ]  # no date of Python's: text, and nothing is lost


def test_a_column_with_a_cut_value_is_text():
    table = pq.read_table(io.BytesIO(row_files.as_parquet(answer(cut_cells=[[0, 6]]))))
    assert table["raw"].to_pylist() == ["AQI=", None, ""]


@pytest.mark.parametrize(
    ("sort", "ids"),
    [("0", [1, 3, None]), ("-0", [3, 1, None]), ("2", [None, 3, 1]), ("5", [1, 3, None]), ("-5", [None, 3, 1]), ("", [3, None, 1]),
     ("99", [3, None, 1]), ("x", [3, None, 1])],
)  # fmt: skip
def test_rows_are_sorted_by_value_with_none_last(sort, ids):
    found = answer(cut_cells=[[2, 1]])
    order = row_cells.order_in({"sort": sort}, found)
    turned = row_cells.in_order(found, order)
    assert [row[0] for row in turned["rows"]] == ids
    [[row, column]] = turned["cut_cells"]
    assert turned["rows"][row][0] == 1  # the mark goes with its row
    assert column == 1


@pytest.fixture
def read(db, redis_server):
    person = factories.person_with("viewer")
    table = factories.TableFactory(name="orders", version=7)
    return factories.read(person, kind="rows", table=table, state="answered", answer=answer())


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_is_on_record_before_it_is_sent(read, kind):
    got = browser(read.person).get(f"/reads/{read.pk}/rows.{kind}")
    assert (got.status_code, got["Content-Type"]) == (200, row_files.TYPES[kind])
    assert got["Content-Disposition"] == f'attachment; filename="orders-rows.{kind}"'
    event = Event.objects.get(action="table.read_rows")
    assert event.after == {"read": "rows", "file": kind, "rows": 3}
    assert (event.object_name, event.table_version) == ("orders", 7)


@pytest.mark.parametrize("how", ["another person", "expired", "without the role", "no such kind", "unanswered"])
def test_what_may_not_be_shown_any_more_is_no_file(read, how):
    client, kind = browser(read.person), "csv"
    if how == "another person":
        client = browser(factories.person_with("viewer"))
    elif how == "expired":
        Read.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif how == "without the role":
        read.person.grants.all().delete()
        factories.GrantFactory(person=read.person, root=factories.RootFactory(), role="viewer")
    elif how == "no such kind":
        kind = "exe"
    else:
        Read.objects.update(state="waiting", answer=None, answered_at=None)
    got = client.get(f"/reads/{read.pk}/rows.{kind}")
    assert got.status_code == 404
    assert not Event.objects.filter(action="table.read_rows").exists()


def test_the_part_of_the_page_offers_both_and_sorts(read):
    client = browser(read.person)
    part = client.get(f"/reads/{read.pk}/rows/", headers={"HX-Request": "true"}).content.decode()
    assert f'href="/reads/{read.pk}/rows.csv"' in part
    assert f'hx-get="/reads/{read.pk}/rows/?sort=0"' in part
    turned = client.get(f"/reads/{read.pk}/rows/?sort=0", headers={"HX-Request": "true"}).content.decode()
    assert 'aria-sort="ascending"' in turned
    assert f'hx-get="/reads/{read.pk}/rows/?sort=-0"' in turned
