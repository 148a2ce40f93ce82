"""Rows as a page shows them: values as text without invisible characters, NULL and empty text distinct."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

SHORT = 80  # characters of a value shown in the row; the rest unfolds
TYPE_CHARACTERS = 60
NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
# Controls, format characters (they change the line's direction or are invisible), and line separators.
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A value: `text` in full, `short` where it is too long for a line. An empty `text` is an empty text."""

    text: str
    short: str | None
    is_null: bool
    is_cut: bool
    is_number: bool  # its column holds numbers


@dataclass(frozen=True, slots=True)
class ColumnHeading:
    """A column: `type` is short enough for a head, `whole_type` is not."""

    name: str
    type: str
    whole_type: str
    is_number: bool
    sort: str = ""  # the query that sorts the rows by it
    direction: str = ""  # of the order, where they are sorted by it


@dataclass(frozen=True, slots=True)
class RowOrder:
    """By which column the rows that were read are sorted, from 0, and whether downwards."""

    column: int
    is_downwards: bool


def visible(text: str) -> str:
    """The text with every invisible character spelled out: `⟨U+000A⟩` for a line feed."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩" if unicodedata.category(character) in HIDDEN else character


def order_in(asked: Mapping[str, str], answer: Mapping[str, Any]) -> RowOrder | None:
    """The order that an address asks for, `sort=COLUMN` or `sort=-COLUMN`; None for the order in which they were read."""
    text = asked.get("sort", "")
    number = text.removeprefix("-")
    if not (number.isascii() and number.isdecimal() and len(number) < 6 and int(number) < len(answer["columns"])):
        return None
    return RowOrder(int(number), text.startswith("-"))


def in_order(answer: Mapping[str, Any], order: RowOrder | None) -> Mapping[str, Any]:
    """The answer with its rows sorted: numbers by value, all else by text, no value last."""
    if order is None:
        return answer
    numeric = is_number(answer["columns"][order.column]["type"])
    rows = list(enumerate(answer["rows"]))
    known = [each for each in rows if each[1][order.column] is not None]
    known.sort(key=lambda each: _key(each[1][order.column], numeric=numeric), reverse=order.is_downwards)
    known += [each for each in rows if each[1][order.column] is None]
    places = {before: now for now, (before, _) in enumerate(known)}
    cut = [[places[row], column] for row, column in answer["cut_cells"]]
    return {**answer, "rows": [row for _, row in known], "cut_cells": cut}


def _key(value: Any, *, numeric: bool) -> Any:
    if not numeric:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    number = Decimal(str(value))
    return number if number == number else Decimal("Infinity")  # Spark has NaN above all numbers


def is_number(kind: str) -> bool:
    """Whether a column of this type, as Spark prints it, holds numbers."""
    return kind.partition("(")[0] in NUMERIC


def headings(answer: Mapping[str, Any], order: RowOrder | None = None) -> list[ColumnHeading]:
    """The answer's columns, in this order of its rows."""
    return [_heading(place, column["name"], column["type"], order) for place, column in enumerate(answer["columns"])]


def _heading(place: int, name: str, kind: str, order: RowOrder | None) -> ColumnHeading:
    whole = visible(kind)
    short = whole if len(whole) <= TYPE_CHARACTERS else whole[:TYPE_CHARACTERS] + "…"
    is_sorted, is_downwards = order is not None and order.column == place, order is not None and order.is_downwards
    turned = "-" if is_sorted and not is_downwards else ""
    direction = ("descending" if is_downwards else "ascending") if is_sorted else ""
    return ColumnHeading(visible(name), short, whole, is_number(kind), f"sort={turned}{place}", direction)


def lines(answer: Mapping[str, Any]) -> list[list[Cell]]:
    """The answer's rows."""
    cut = {(row, column) for row, column in answer["cut_cells"]}
    numbers = [heading.is_number for heading in headings(answer)]
    return [
        [_cell(value, (at, place) in cut, numbers[place]) for place, value in enumerate(row)]
        for at, row in enumerate(answer["rows"])
    ]


def _cell(value: Any, is_cut: bool, is_number: bool) -> Cell:
    if value is None:
        return Cell("", None, is_null=True, is_cut=False, is_number=is_number)
    text = visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    short = text[:SHORT] + "…" if len(text) > SHORT else None
    return Cell(text, short, is_null=False, is_cut=is_cut, is_number=is_number)
