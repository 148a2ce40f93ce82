"""A list of columns to keep statistics of, beside the table that has it. On Spark: tests/jobs/commands/set_properties/test_spark.py."""

from __future__ import annotations

import json

import pytest

from tables.deltalog.rules.column_lists import listed_columns
from tables.deltalog.rules.schema import parse_schema
from tables.rules.column_statistics import listed_fault
from tables.rules.property_faults import property_faults

FIELDS = {
    "id": "long",
    "ok": "boolean",
    "a": {"type": "array", "elementType": "integer", "containsNull": True},
    "m": {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True},
    "st": {"type": "struct", "fields": [{"name": "x", "type": "binary", "nullable": True, "metadata": {}}]},
    "p": "integer",
}
SCHEMA = parse_schema(
    json.dumps(
        {
            "type": "struct",
            "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in FIELDS.items()],
        }
    )
)
NOT_FOUND, NOT_SUPPORTED = "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE"
PARTITIONED = "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_PARTITIONED_COLUMN"
LISTED = "delta.dataSkippingStatsColumns"
TWICE = "DELTA_DUPLICATE_DATA_SKIPPING_COLUMNS"


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("gone", NOT_FOUND),
        ("id, gone", NOT_FOUND),
        ("st.gone", NOT_FOUND),
        ("P", PARTITIONED),
        ("ok", NOT_SUPPORTED),
        ("a", NOT_SUPPORTED),
        ("id,id", TWICE),
        ("st.x, st", TWICE),
    ],
)
def test_what_delta_refuses_is_named(text: str, condition: str) -> None:
    fault = listed_fault(SCHEMA, ["p"], text)
    assert fault is not None
    assert fault.condition == condition


@pytest.mark.parametrize(
    "text", ["", " ", "id, st", "ID", "st.X", "id,ID", "OK", "a.element", "m.key, m.value", "id gone", "id;gone"]
)
def test_what_it_takes_has_no_fault(text: str) -> None:
    assert listed_fault(SCHEMA, ["p"], text) is None
    assert property_faults({LISTED: text}, SCHEMA, ["p"]).names == []


@pytest.mark.parametrize("text", ["id,", "id,,st", "`id", "id-x", "1", "*", "id.", "2L"])
def test_what_it_can_not_read_fails_in_changes_and_is_no_list(text: str) -> None:
    assert listed_columns(text) is None
    assert listed_fault(SCHEMA, ["p"], text) is None
    assert property_faults({LISTED: text}, SCHEMA, ["p"]).names == [LISTED]


def test_without_a_schema_nothing_is_said() -> None:
    assert property_faults({LISTED: "gone"}, None, []).names == []
