"""A property's list of columns, `a, b.c, `d,e`.f`, as Spark's parser reads it (`multipartIdentifierList` of SqlBaseParser.g4)."""

from __future__ import annotations

import re

Path = tuple[str, ...]
_NUMBER = r"(?i:\d+(?:bd|[lsydf])?)(?!\w)"
_NAME = rf"\s*(?:`(?:[^`]|``)+`|(?!{_NUMBER})\w+)\s*"
_NAMES = re.compile(rf"{_NAME}(?:[.,]{_NAME})*")


def is_plain(text: str) -> bool:
    """Whether the whole text is such a list."""
    return _NAMES.fullmatch(text) is not None


def listed_columns(text: str) -> list[Path] | None:
    """The columns that the parser finds: it stops where a name follows without a comma, as in `a b`; None where it fails."""
    if not text.strip():
        return []
    found = _NAMES.match(text)
    if found is None or text[found.end() :][:1] in (",", ".", "-"):
        return None
    return column_list(found[0])


def column_list(text: str) -> list[Path]:
    """The columns of a plain list as paths; names may be quoted by backquotes, doubled inside."""
    paths: list[list[str]] = [[]]
    for quoted, plain, mark in re.findall(r"`((?:[^`]|``)*)`|([^`,.]+)|([,.])", text):
        if mark == ",":
            paths.append([])
        elif name := quoted.replace("``", "`") or plain.strip():
            paths[-1].append(name)
    return [tuple(path) for path in paths if path]
