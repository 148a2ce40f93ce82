"""The sample lake's tables with a past, as Spark reads them: what `deltalake` reads."""

from datetime import datetime

import pytest
from deltalake import DeltaTable, QueryBuilder

from tables.rules import sample_lake

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return sample_lake.write_lake(tmp_path_factory.mktemp("home"))


def counted(table: DeltaTable) -> int:
    rows = QueryBuilder().register("t", table).execute("select count(*) as n from t").read_all()
    return int(rows["n"][0].as_py())


def rows_of(table: DeltaTable, query: str) -> list[tuple]:
    rows = QueryBuilder().register("t", table).execute(query).read_all()
    return as_compared(zip(*(rows.column(name).to_pylist() for name in rows.column_names), strict=True))


def as_compared(rows) -> list[tuple]:
    """In one order, a time as a number: Spark's are naive in the local zone, another reader's know theirs."""
    made = [tuple(each.timestamp() if isinstance(each, datetime) else each for each in row) for row in rows]
    return sorted(made, key=repr)


@pytest.mark.parametrize("name", [name for name in sample_lake.DELTA_TABLES if name != "sales"])
def test_spark_reads_the_rows_that_another_reader_does(sql, lake, name):
    table = DeltaTable(str(lake / name))
    names = ", ".join(field.name for field in table.schema().fields)
    rows = as_compared(sql(f"SELECT {names} FROM delta.`{lake / name}`"))
    assert rows == rows_of(table, f"select {names} from t")
    assert len(rows) > 100


def test_spark_adds_the_sales_up_as_another_reader_does(sql, lake):
    sums = (
        "count(*) AS n, sum(sale_id) AS ids, sum(customer_id) AS customers, sum(quantity) AS pieces, "
        "sum(amount) AS amount, count(DISTINCT product) AS products, count(channel) AS channels, max(sold_at) AS newest"
    )
    found = as_compared(sql(f"SELECT {sums} FROM delta.`{lake / 'sales'}`"))
    assert found == rows_of(DeltaTable(str(lake / "sales")), f"select {sums} from t")
    assert found[0][0] > 10_000


def test_spark_reads_older_versions_and_the_change_feed(sql, lake):
    table = DeltaTable(str(lake / "sales"))
    table.load_as_version(table.version() - 5)
    rows = sql(f"SELECT count(*) AS n FROM delta.`{lake / 'sales'}` VERSION AS OF {table.version()}")
    assert rows[0].n == counted(table)
    newest = DeltaTable(str(lake / "invoices")).version()
    changes = sql(f"SELECT * FROM table_changes_by_path('{lake / 'invoices'}', {newest}, {newest})")
    kinds = [row["_change_type"] for row in changes]
    assert kinds.count("update_preimage") == kinds.count("update_postimage") > 30
