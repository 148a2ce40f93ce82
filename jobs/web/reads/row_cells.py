"""Rows as a page shows them: values as text without invisible characters, NULL and empty text distinct."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
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
class Heading:
    """A column: `type` is short enough for a head, `whole_type` is not."""

    name: str
    type: str
    whole_type: str
    is_number: bool


def visible(text: str) -> str:
    """The text with every invisible character spelled out: `⟨U+000A⟩` for a line feed."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩" if unicodedata.category(character) in HIDDEN else character


def headings(answer: Mapping[str, Any]) -> list[Heading]:
    """The answer's columns."""
    return [_heading(column["name"], column["type"]) for column in answer["columns"]]


def _heading(name: str, kind: str) -> Heading:
    whole = visible(kind)
    short = whole if len(whole) <= TYPE_CHARACTERS else whole[:TYPE_CHARACTERS] + "…"
    return Heading(visible(name), short, whole, kind.partition("(")[0] in NUMERIC)


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
