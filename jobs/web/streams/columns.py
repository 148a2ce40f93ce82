"""The columns of a stream's source as a list that can be edited: rows of a name and a type, which together are the form's `schema`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from jobs.domain.errors import CommandRefused
from jobs.domain.predicates.typenames import SIMPLE
from jobs.streams.source_schema import REMEDY, columns_of, ddl_columns, parse_source_schema, schema_text

NAME, TYPE, AS_TEXT = "column", "column_type", "columns_as_text"
MOST = 100  # a longer list is a text
TYPES = tuple(name.upper() for name in (*SIMPLE, "decimal(10,2)", "array<string>"))
Pair = tuple[str, str]
OF_TEXT = (
    "Write each column’s name and type, with commas between them, for example id BIGINT, at TIMESTAMP, tags ARRAY<STRING>, or paste "
    "the schema as Spark’s JSON."
)
OF_LIST = "Name a column and its type, or read the columns from the files."
OF_ROW = "Correct each row that is marked, or read the columns from the files."
_FOUND = re.compile(r"(?<=, found )`(.+)`(?=\.)")


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """A column as it was typed, from 1, and what is wrong with it."""

    number: int
    name: str
    type: str
    error: str = ""


def typed(data: QueryDict) -> list[Pair]:
    """The rows of the list, empty ones aside."""
    rows = zip(data.getlist(NAME), data.getlist(TYPE), strict=False)
    return [(name, kind) for name, kind in rows if name.strip() or kind.strip()]


def put(data: QueryDict, rows: Sequence[Pair]) -> None:
    """Puts rows into the form's data, and the schema that they are."""
    data.setlist(NAME, [name for name, _ in rows])
    data.setlist(TYPE, [kind for _, kind in rows])
    data["schema"] = schema_text(row for row in rows if row[0].strip() or row[1].strip())


def drop(data: QueryDict, number: str) -> None:
    """Takes a row of the list away, by its number on the page, which counts empty rows too."""
    for name in (NAME, TYPE):
        data.setlist(name, [text for place, text in enumerate(data.getlist(name), 1) if str(place) != number])


def read_in(data: QueryDict, before: str) -> None:
    """Makes the schema of a form's data from the list, if it has one. The text that it had `before` stays if it says the same."""
    if NAME not in data or data.get(AS_TEXT):
        return
    put(data, typed(data))
    if before and _struct(before) == _struct(str(data["schema"])):
        data["schema"] = before


def _struct(text: str) -> dict[str, Any] | None:
    try:
        return parse_source_schema(text)
    except CommandRefused:
        return None


def shown(data: QueryDict, schema: str) -> list[ColumnRow] | None:
    """The list of a schema; None if it is shown as text, because someone wants it so or a list can't say it."""
    if data.get(AS_TEXT):
        return None
    pairs = list(zip(data.getlist(NAME), data.getlist(TYPE), strict=False)) if NAME in data else _listed(schema)
    if pairs is None or len(pairs) > MOST:
        return None
    judged = _struct(schema) is None
    pairs = pairs or [("", "")]
    return [
        ColumnRow(number, name, kind, _error(name, kind) if judged else "")
        for number, (name, kind) in enumerate(pairs, 1)
    ]


def _listed(schema: str) -> list[Pair] | None:
    if not schema.strip():
        return []
    try:
        return columns_of(schema)
    except CommandRefused:
        return None


def _error(name: str, kind: str) -> str:
    """What is wrong with one row by itself; nothing with an empty one."""
    if not name.strip() and not kind.strip():
        return ""
    if not name.strip():
        return "The column has no name."
    try:
        parse_source_schema(schema_text([(name, kind)]))
    except CommandRefused as refused:
        return _plain(refused.refusals[0].message)
    return ""


def said(data: QueryDict, schema: str, fault: str) -> str:
    """What is wrong with the schema, as the page says it: with what can be done in the list or the text that it shows."""
    rows = shown(data, schema)
    remedy = OF_TEXT if rows is None else OF_ROW if any(row.error for row in rows) else OF_LIST
    return _plain(fault.replace(REMEDY, remedy))


def _plain(fault: str) -> str:
    return _FOUND.sub(r"“\1”", fault)


def inferred(struct: dict[str, Any]) -> list[Pair]:
    """The columns that Spark found in files."""
    return ddl_columns(struct["fields"])
