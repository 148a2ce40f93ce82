"""The names of types that Levee says Spark can't read in a schema are those on which Spark fails."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tables.deltalog.rules.schema import parse_schema
from tables.deltalog.rules.schema_faults import schema_fault

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

NAMES = (
    "void", "null", "boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "decimal(38,0)", "decimal(39,2)",
    "decimal( 10 , 2 )", "decimal(10)", "string", "string collate UTF8_LCASE", "binary", "date", "timestamp", "timestamp_ltz",
    "timestamp_ntz", "variant", "interval", "interval day", "interval day to second", "interval year to month", "char(5)", "varchar( 5 )",
    "varchar", "time(6)", "time", "int", "LONG", "Integer", "bigint", "uint8", "timestamp_ns", "tinyint", "decimal256", "", " long",
)  # fmt: skip


def schema_of(kind: Any) -> str:
    return json.dumps({"type": "struct", "fields": [{"name": "a", "type": kind, "nullable": True, "metadata": {}}]})


@pytest.mark.parametrize(
    "wrapped",
    [lambda name: name, lambda name: {"type": "array", "elementType": name, "containsNull": True}],
    ids=["alone", "in an array"],
)
def test_what_spark_reads_is_what_levee_lets_pass(runtime: Any, wrapped: Any) -> None:
    types = runtime.new_session()._jvm.org.apache.spark.sql.types.DataType

    def fails(text: str) -> bool:
        try:
            types.fromJson(text)
        except PySparkException:
            return True
        return False

    told = {name: schema_fault(parse_schema(schema_of(wrapped(name))), ()) is not None for name in NAMES}
    assert told == {name: fails(schema_of(wrapped(name))) for name in NAMES}
