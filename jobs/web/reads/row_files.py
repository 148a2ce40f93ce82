"""Rows that were read, as a file: CSV for people and their spreadsheets, parquet for programs."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from console.base.text.spreadsheets import inert
from jobs.web.reads.row_cells import is_number

TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def made(answer: Mapping[str, Any], kind: str) -> str | bytes:
    """The file of one of the TYPES."""
    return "".join(as_csv(answer)) if kind == "csv" else as_parquet(answer)


def as_csv(answer: Mapping[str, Any]) -> Iterator[str]:
    """The file's lines. NULL is empty, an empty text is `""`, nested values are JSON; a text that would begin a formula in a spreadsheet
    gets an apostrophe before it, but no number, also where answers have it as text (decimals)."""
    yield _line([inert(column["name"]) for column in answer["columns"]])
    numbers = [is_number(column["type"]) for column in answer["columns"]]
    for row in answer["rows"]:
        yield _line(
            [
                None if value is None else _text(value, numeric=numeric)
                for value, numeric in zip(row, numbers, strict=True)
            ]
        )


def _text(value: Any, *, numeric: bool) -> str:
    if isinstance(value, str):
        return value if numeric else inert(value)
    return str(value).lower() if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)


def _line(cells: Sequence[str | None]) -> str:
    return ",".join("" if cell is None else _quoted(cell) for cell in cells) + "\r\n"


def _quoted(text: str) -> str:
    needs = not text or any(character in text for character in ',"\r\n') or text != text.strip()
    return '"' + text.replace('"', '""') + '"' if needs else text


def as_parquet(answer: Mapping[str, Any]) -> bytes:
    """The file. A column has its own type where all of its values fit that; nested ones, and those that don't fit, are text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    cut = {column for _, column in answer["cut_cells"]}
    arrays = [
        _array([row[place] for row in answer["rows"]], "string" if place in cut else column["type"])
        for place, column in enumerate(answer["columns"])
    ]
    fields = [pa.field(column["name"], array.type) for column, array in zip(answer["columns"], arrays, strict=True)]
    file = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), file)
    return file.getvalue()


def _array(values: Sequence[Any], kind: str) -> Any:
    import pyarrow as pa

    try:
        told = [None if value is None else _value(value, kind) for value in values]
        return pa.array(told, _arrow(kind))
    except (ValueError, InvalidOperation, OverflowError, pa.ArrowException):
        texts = [
            value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for value in values
        ]
        return pa.array(texts, pa.string())


def _arrow(kind: str) -> Any:
    """The Arrow type of a column by its type as Spark prints it; text for what has none here."""
    import pyarrow as pa

    if found := DECIMAL.fullmatch(kind):
        return pa.decimal128(int(found[1]), int(found[2]))
    named = {
        "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(), "float": pa.float32(),
        "double": pa.float64(), "boolean": pa.bool_(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"), "binary": pa.binary(),
    }  # fmt: skip
    return named.get(kind, pa.string())


def _value(value: Any, kind: str) -> Any:
    """A value of an answer as Arrow takes it. Raises ValueError or InvalidOperation for a text that isn't of the type."""
    if kind in ("float", "double"):
        return float(value)
    if not isinstance(value, str):
        return (
            value
            if kind in ("tinyint", "smallint", "int", "bigint", "boolean")
            else json.dumps(value, ensure_ascii=False)
        )
    if DECIMAL.fullmatch(kind):
        return Decimal(value)
    match kind:
        case "date":
            return date.fromisoformat(value)
        case "timestamp":
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        case "timestamp_ntz":
            return datetime.fromisoformat(value)
        case "binary":
            return base64.b64decode(value, validate=True)
        case _:
            return value
