"""The sample lake's tables with a past, as Spark reads them: what `deltalake` counts."""

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


@pytest.mark.parametrize("name", sample_lake.DELTA_TABLES)
def test_spark_counts_as_another_reader_does(sql, lake, name):
    assert sql(f"SELECT count(*) AS n FROM delta.`{lake / name}`")[0].n == counted(DeltaTable(str(lake / name)))


def test_spark_reads_older_versions_and_the_change_feed(sql, lake):
    table = DeltaTable(str(lake / "sales"))
    table.load_as_version(table.version() - 5)
    rows = sql(f"SELECT count(*) AS n FROM delta.`{lake / 'sales'}` VERSION AS OF {table.version()}")
    assert rows[0].n == counted(table)
    newest = DeltaTable(str(lake / "invoices")).version()
    changes = sql(f"SELECT * FROM table_changes_by_path('{lake / 'invoices'}', {newest}, {newest})")
    kinds = [row["_change_type"] for row in changes]
    assert kinds.count("update_preimage") == kinds.count("update_postimage") > 30
