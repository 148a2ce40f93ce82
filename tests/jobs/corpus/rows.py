"""Rows of a file as plain values, by pyarrow and by Spark, so that the two can be compared."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from pyarrow import parquet as pq

Rows = list[dict[str, Any]]


def by_arrow(data: bytes) -> Rows:
    """The rows as pyarrow reads them. Raises what pyarrow raises."""
    table = pq.ParquetFile(io.BytesIO(data), coerce_int96_timestamp_unit="us").read()
    columns = [[plain(value) for value in column.to_pylist()] for column in table.columns]
    names = table.column_names
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def by_spark(rows: Iterable[Any]) -> Rows:
    return [{name: plain(value) for name, value in row.asDict().items()} for row in rows]


def plain(value: Any) -> Any:
    """Values of both readers in one form: Spark's answers have no zones; it gives maps as dicts, pyarrow as lists of pairs."""
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(each) for key, each in value.items()} or []
    if isinstance(value, list):
        pairs = bool(value) and all(type(each) is tuple for each in value)
        return {str(plain(key)): plain(each) for key, each in value} if pairs else [plain(each) for each in value]
    if isinstance(value, datetime):
        return (value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat()
    if isinstance(value, date | timedelta):
        return str(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, UUID):
        return value.bytes
    if hasattr(value, "toJson"):  # a VARIANT
        return value.toJson()
    if isinstance(value, bytearray):
        return bytes(value)
    return "NaN" if value != value else value
