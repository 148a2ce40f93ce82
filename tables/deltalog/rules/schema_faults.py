"""What in a readable schema keeps Spark 4.2 from opening its table: a type that it doesn't know, a partition column that isn't there.

Rules: Spark 4.2, `DataType.fromJson` and `nameToType`, which take the names of types in small letters alone; `StructType.apply`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tables.deltalog.rules.schema import Primitive, Struct, types_in

UNKNOWN_TYPE = "the schema has the type "
TOO_PRECISE = "the schema has a decimal of more than 38 digits, "
NO_COLUMN = "the schema lacks the partition column "
MOST_DIGITS = 38
_NAMES = frozenset({
    "void", "null", "boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "string", "binary", "date", "timestamp",
    "timestamp_ltz", "timestamp_ntz", "variant", "interval",
})  # fmt: skip
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,9})\s*,\s*-?\d{1,9}\s*\)")
# With what stands in their parentheses; geometries and geographies by a reference system of many.
_OTHERS = re.compile(
    r"(?:char|varchar)\(\s*\d+\s*\)|string collate \w+|time\(\d+\)|interval [a-z]+(?: to [a-z]+)?|geo(?:metry|graphy)\(.+\)",
    re.DOTALL,
)


def schema_fault(schema: Struct, partition_columns: Sequence[str]) -> str | None:
    """As a log's problem says it; None for nothing."""
    for kind in types_in(schema):
        if isinstance(kind, Primitive) and (fault := _fault_of(kind.name)):
            return fault
    names = {column.name for column in schema.columns}
    missing = next((name for name in partition_columns if name not in names), None)
    return None if missing is None else f"{NO_COLUMN}{missing}"


def _fault_of(name: str) -> str | None:
    if match := _DECIMAL.fullmatch(name):
        return f"{TOO_PRECISE}{name}" if int(match[1]) > MOST_DIGITS else None
    return (
        None if name in _NAMES or _OTHERS.fullmatch(name) else f"{UNKNOWN_TYPE}{name[:100]}, which Spark doesn’t know"
    )
