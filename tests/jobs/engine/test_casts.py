"""Levee's own rules for casting partition values agree with Spark's cast."""

import pytest

from jobs.domain.partition_values import ValueSet, casts
from jobs.domain.partitions import parse_schema

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

TYPES = ["boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp", "string"]
DECIMALS = ["decimal(10,2)", "decimal(3,1)", "decimal(2,2)", "decimal(38,0)"]
LISTED = """
1 0 -1 +1 01 -01 127 128 -128 -129 32767 32768 2147483647 2147483648 9223372036854775807 9223372036854775808
1.5 1. .5 . - + -.5 1.999 99.94 99.95 -99.95 0.994 0.995 1e3 1E-2 1e400 1f 2D NaN nan inf -inf Infinity
+Infinity 0x10 1_000 1,5 true TRUE t T yes y Y no n off on f false 2024-01-01 2024-1-1 2024-01 2024 24
2024-02-30 2023-02-29 2024-13-01 2024-00-10 99999-01-01 -2024-01-01 +2024-01-01 2024-01-01T 2024-01-01T10:00
2024-01-01T10:00:00 2024-01-01T10:00:00.123456789 2024-01-01T10:00:00Z 2024-01-01T10:00:00+01:00
2024-01-01T25:00:00 2024-01-01T10:60:00 2024-01-01T1:2:3 2024-01-01T10:00:00+1 2024-01-01Tx 2024/01/01
01-01-2024 20240101 FR x1 é
"""
TEXTS = [*LISTED.split(), "\u0661"]  # an Arabic one: a digit to Python, none to Spark
SPACED = [
    " 1 ",
    "\t1",
    "1 2",
    "2024-01-01 ",
    "2024-01-01 10:00:00",
    "2024-01-01 10:00:00 UTC",
    "2024-01-01 10:00:00 Europe/Berlin",
    " true ",
    " ",
]


@pytest.mark.parametrize("kind", TYPES + DECIMALS)
def test_the_same_texts_cast(runtime, kind):
    assert parse_schema(f"p {kind}")[0].type == kind
    texts = [*TEXTS, *SPACED]
    session = runtime.new_session()
    session.conf.set("spark.sql.ansi.enabled", "false")
    frame = session.createDataFrame([(text,) for text in texts], "value string")
    rows = frame.selectExpr("value", f"CAST(value AS {kind}) IS NOT NULL AS fits").collect()
    spark = {row.value: row.fits for row in rows}
    ours = {text: casts(kind, text) for text in texts}
    assert [text for text, fits in ours.items() if spark[text] != fits] == []


@pytest.mark.parametrize("text", [*TEXTS, *SPACED])
def test_a_proposed_type_always_casts(text):
    values = ValueSet()
    values.add(text)
    assert casts(values.propose()[0], text)
