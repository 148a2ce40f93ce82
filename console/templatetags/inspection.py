"""What the convert page makes of an inspection: names as SQL writes them, and the merged schema row by row.

Load with `{% load inspection %}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django import template

from console.templatetags.levee import spark_type

register = template.Library()

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Delta's grammar reserves these words where a column's type stands; in backquotes they are types again.
RESERVED_TYPES = frozenset({"timestamp"})


class SchemaRow(NamedTuple):
    """One column after merging all footers: `look` is the row's class in a diff, `sign` and `word` say the same in text."""

    look: str
    sign: str
    word: str
    column: str
    type: str
    text: str


@register.filter
def backquoted(name: str) -> str:
    """A name in backquotes, as a statement needs it; backquotes inside are doubled."""
    return "`" + name.replace("`", "``") + "`"


@register.filter
def as_identifier(name: str) -> str:
    """A name as it may stand in a statement: plain when it is plain, else in backquotes."""
    return name if PLAIN_NAME.fullmatch(name) else backquoted(name)


@register.filter
def as_type(ddl: str) -> str:
    """A type as CONVERT's own grammar accepts it."""
    return backquoted(ddl) if ddl in RESERVED_TYPES else ddl


@register.filter
def schema_rows(inspection: Mapping[str, Any]) -> list[SchemaRow]:
    """The merged schema: columns whose footers disagree first, those that are equal in every file after them."""
    odd = list(_odd_columns(inspection["conflicts"]))
    named = {row.column for row in odd}
    fields = (inspection["schema"] or {}).get("fields", [])
    same = [
        SchemaRow("same", "=", "same", field["name"], spark_type(field["type"]), "equal in every file")
        for field in fields
        if field["name"] not in named
    ]
    return odd + same


def _odd_columns(conflicts: list[Mapping[str, Any]]) -> Iterator[SchemaRow]:
    for conflict in sorted(conflicts, key=lambda each: not each["fatal"]):
        look, sign, word = ("del", "≠", "conflict") if conflict["fatal"] else ("mod", "~", "merged")
        yield SchemaRow(look, sign, word, conflict["column"], ", ".join(conflict["types"]), conflict["text"])
