"""Row values as JSON: exact, bounded before they leave Spark, and storable as PostgreSQL's jsonb."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
    VarcharType,
    VariantType,
    YearMonthIntervalType,
)

from jobs.domain.storable import storable, storable_text

WHOLE = (ByteType, ShortType, IntegerType, LongType)
REAL = (FloatType, DoubleType)
NESTED = (StructType, ArrayType, MapType, VariantType)
# Written as in Spark's literals; times are UTC, the session's zone.
AS_TEXT = (
    DecimalType, DateType, TimestampType, TimestampNTZType, TimeType, DayTimeIntervalType, YearMonthIntervalType,
    StringType, CharType, VarcharType, NullType,
)  # fmt: skip
SIMPLE = (*WHOLE, *REAL, *AS_TEXT, BooleanType, BinaryType, VariantType)

CUT = "…"
CELL_CHARACTERS = 10_000
# The most characters that the cells of one answer may take in the JVM.
MEMORY_CHARACTERS = 128 << 20
ANSWER_CHARACTERS = 4 << 20
JSON_OPTIONS = {"ignoreNullFields": "false"}


def cell_characters(columns: int, rows: int) -> int:
    """The longest cell, in characters, with which a row fits an answer and all cells fit in memory."""
    return max(
        16, min(CELL_CHARACTERS, ANSWER_CHARACTERS // (columns or 1), MEMORY_CHARACTERS // ((columns or 1) * rows))
    )


def is_readable(kind: DataType) -> bool:
    """Whether a value of this type has a JSON form here (a geometry has none)."""
    if isinstance(kind, StructType):
        return all(is_readable(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return is_readable(kind.elementType)
    if isinstance(kind, MapType):
        return is_readable(kind.keyType) and is_readable(kind.valueType)
    return isinstance(kind, SIMPLE)


def as_text(column: Column, kind: DataType, characters: int) -> Column:
    """The value as text, NULL as NULL; one character longer than `characters` if it had to be cut."""
    if isinstance(kind, NESTED):
        text = F.to_json(column.cast(_told(kind)), JSON_OPTIONS)
    elif isinstance(kind, BinaryType):
        text = F.base64(F.substring(column, 1, characters + 1))
    else:
        text = column.cast(StringType())
    return F.substring(text, 1, characters + 1)


def _told(kind: DataType) -> DataType:
    """A nested type with strings where a JSON number or Spark's JSON writer would lose precision. Map keys become strings."""
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, _told(f.dataType), f.nullable) for f in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_told(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(StringType(), _told(kind.valueType), kind.valueContainsNull)
    return StringType() if isinstance(kind, AS_TEXT) else kind


def parsed(text: str | None, kind: DataType, characters: int) -> tuple[Any, bool]:
    """The JSON value of a cell's text, and whether it was cut; cut text ends with `…`."""
    if text is None:
        return None, False
    text = storable_text(text)
    if len(text) > characters:
        return text[:characters] + CUT, True
    if isinstance(kind, WHOLE):
        return int(text), False
    if isinstance(kind, REAL):
        return _real(text), False
    if isinstance(kind, BooleanType):
        return text == "true", False
    return (storable(json.loads(text)) if isinstance(kind, NESTED) else text), False


def _real(text: str) -> float | str:
    """The number; NaN and infinities stay text, since JSON has no number for them."""
    value = float(text)
    return value if math.isfinite(value) else text


def size_of(row: Sequence[Any]) -> int:
    """A row's length in the answer, in characters."""
    return len(json.dumps(row, ensure_ascii=False)) + 2
