"""What Spark does for the lines of a comparison: it reads the rows once, for the sums and for the first lines."""

import pytest
from pyspark.sql import functions as F

from jobs.engine.row_diff import multisets

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.fixture
def spark(runtime):
    return runtime.new_session()


def final_plan(frame):
    """The plan as it was run."""
    frame.collect()
    text = frame._jdf.queryExecution().executedPlan().toString()
    return text.partition("== Initial Plan ==")[0]


@pytest.mark.parametrize("updates", ["false", "id % 2 = 0"], ids=["files", "feed"])
def test_the_rows_are_read_once(spark, tmp_path, updates):
    spark.sql("SELECT id, map(id, 'v') AS m FROM range(100)").write.format("delta").save(str(tmp_path / "t"))
    frame = spark.read.format("delta").load(str(tmp_path / "t"))
    fields = frame.schema.fields
    rows = multisets.counted(multisets.signed(frame, fields, F.lit(1), F.expr(updates)))
    plan = final_plan(multisets.totals_and_lines(rows, fields, 10, 100))
    assert plan.count("FileScan") == 1, plan
    assert "ReusedExchange" in plan, plan
    figures, lines = multisets.lines_of(rows, fields, 10, 100)
    assert (figures["times"], figures["insert"] + figures["update_postimage"], figures["lines"]) == (100, 100, 100)
    assert [line[2:] for line in lines[:2]] == [("0", '{"0":"v"}'), ("1", '{"1":"v"}')]
