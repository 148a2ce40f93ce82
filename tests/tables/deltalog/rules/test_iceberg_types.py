"""Which types each version of Iceberg's rules has, as Delta 4.4 checks them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tables.deltalog.rules.iceberg_types import compat_version, incompatible_change, incompatible_type
from tables.deltalog.rules.schema import Struct, parse_schema, type_text

ARRAY = {"type": "array", "elementType": "integer", "containsNull": True}
MAP = {"type": "map", "keyType": "string", "valueType": "variant", "valueContainsNull": True}


def of(kind: Any) -> Struct:
    columns: list[dict[str, Any]] = [
        {"name": name, "type": each, "nullable": True, "metadata": {}} for name, each in (("id", "long"), ("x", kind))
    ]
    return parse_schema(json.dumps({"type": "struct", "fields": columns}))


def inside(kind: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": "a", "type": kind, "nullable": True, "metadata": {}}]}


@pytest.mark.parametrize(
    ("kind", "versions"),
    [
        ("integer", ()),
        ("decimal(10,2)", ()),
        ("timestamp_ntz", ()),
        (inside("string"), ()),
        (ARRAY, (1,)),
        (inside(ARRAY), (1,)),
        (MAP, (1, 2)),
        ("variant", (2,)),
        ("void", (1, 2, 3)),
        (inside("void"), (1, 2, 3)),
        ("interval day", (2, 3)),
        ("geometry(4326)", (2, 3)),
    ],
)
def test_a_type_is_told_by_the_versions_that_do_not_have_it(kind: Any, versions: tuple[int, ...]) -> None:
    assert tuple(number for number in (1, 2, 3) if incompatible_type(of(kind), number) is not None) == versions


def test_the_first_one_is_named() -> None:
    found = incompatible_type(of({**ARRAY, "elementType": inside("variant")}), 2)
    assert found is not None
    assert type_text(found) == "variant"


def test_the_version_is_the_one_that_is_on() -> None:
    assert compat_version({"delta.enableIcebergCompatV1": "false", "delta.enableIcebergCompatV2": "TRUE"}) == 2
    assert compat_version({"delta.enableIcebergCompatV1": "false"}) is None
    assert compat_version({}) is None


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ("integer", "long", True),
        ("byte", "short", True),
        ("float", "double", True),
        ("decimal(8,2)", "decimal(12,2)", True),
        ("decimal(8,2)", "decimal(12,3)", False),
        ("integer", "double", False),
        ("short", "decimal(10,0)", False),
        ("date", "timestamp_ntz", False),
    ],
)
def test_a_column_widened_as_iceberg_does_not_is_told(old: str, new: str, allowed: bool) -> None:
    changes = {"delta.typeChanges": [{"fromType": old, "toType": new}]}
    column = {"name": "x", "type": new, "nullable": True, "metadata": changes}
    found = incompatible_change(parse_schema(json.dumps({"type": "struct", "fields": [column]})))
    assert found == (None if allowed else ("x", old, new))
    assert incompatible_change(of(new)) is None
