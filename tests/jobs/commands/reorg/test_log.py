"""Whether a column may have been dropped, by the numbers that column mapping has given."""

import json
from typing import Any

import pytest

from jobs.commands.reorg.log import may_hold_dropped
from tables.deltalog.rules.schema import Struct, parse_schema

ID, NESTED = "delta.columnMapping.id", "delta.columnMapping.nested.ids"


def schema(*metadata: dict[str, Any]) -> Struct:
    kind = {"type": "array", "elementType": "long", "containsNull": True}
    fields = [{"name": f"c{n}", "type": kind, "nullable": True, "metadata": each} for n, each in enumerate(metadata)]
    return parse_schema(json.dumps({"type": "struct", "fields": fields}))


@pytest.mark.parametrize(
    ("mode", "highest", "dropped"),
    [
        ("none", "7", False),
        ("name", "2", False),
        ("name", "3", True),
        # Numbers that no table reaches, and what is none, are answered at once.
        ("name", "999999999999999999", True),
        ("id", "9" * 5_000, True),
        ("id", "٣", True),
        ("id", "", True),
    ],
)
def test_a_number_that_no_column_has_was_a_dropped_column_s(mode, highest, dropped):
    configuration = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": highest}
    assert may_hold_dropped(schema({ID: 1}, {ID: 2}), configuration) is dropped


def test_elements_have_numbers_too_where_iceberg_s_rules_ask_for_them():
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
    assert not may_hold_dropped(schema({ID: 1, NESTED: {"c0.element": 3}}, {ID: 2}), configuration)
