"""Words for what can't be seen: unknown, NULL and empty; names, ids and types as people quote them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from console.base.machine import machine_command

__all__ = [
    "as_json", "code_parts", "last_part", "long_word", "machine_command", "pairs", "partition_value", "short_id", "spark_type", "unknown",
]  # fmt: skip


LONGEST_WORD = 32  # that a column of a table makes room for


def unknown(why: str = "", word: str = "unknown") -> SafeString:
    """The word for an unknown value, with the reason on hover."""
    if not why:
        return format_html('<span class="lv-unknown">{}</span>', word)
    return format_html('<abbr class="lv-unknown" title="{}">{}</abbr>', why, word)


def partition_value(value: str | None) -> str:
    """A partition's value as the log has it; NULL and an empty text as words, since you can't see either."""
    if value is None:
        return unknown(word="null")
    return value or unknown("Empty text", word="empty text")


def code_parts(text: str) -> SafeString:
    """A text in which what stands between backquotes is code."""
    parts = enumerate(text.split("`"))
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", part) if place % 2 else part,) for place, part in parts)
    )


def short_id(value: UUID | str) -> str:
    """The first eight characters of an id, as people quote it."""
    return str(value)[:8]


def pairs(values: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    """The names and values of a mapping, for a page: lists, mappings, true and false as JSON writes them.

    `values.items` would be the value of a name `items`, which people and logs may choose.
    """
    return [(name, as_json(value)) for name, value in (values or {}).items()]


def as_json(value: Any) -> Any:
    """A list, a mapping, true or false as JSON writes it, since people and programs read that; anything else as it is."""
    return (
        json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list | tuple | bool) else value
    )


def long_word(text: Any) -> str:
    """One more class, with its space, for a text in a table with a word of more than LONGEST_WORD characters: it breaks anywhere."""
    return " lv-long" if any(len(word) > LONGEST_WORD for word in str(text).split()) else ""


def last_part(path: str) -> str:
    """The last name of a path, by which people know a directory."""
    return path.rstrip("/").rpartition("/")[2] or path


def spark_type(value: Any) -> str:
    """A type of Spark's JSON schema as Spark prints it: `array<int>`, `struct<a:bigint>`, `decimal(10,2)`."""
    names = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
    if isinstance(value, str):
        return names.get(value, value)
    match value.get("type"):
        case "array":
            return f"array<{spark_type(value['elementType'])}>"
        case "map":
            return f"map<{spark_type(value['keyType'])},{spark_type(value['valueType'])}>"
        case "struct":
            inner = ",".join(f"{field['name']}:{spark_type(field['type'])}" for field in value["fields"])
            return f"struct<{inner}>"
    return str(value)
