"""A condition on partition columns that names partitions by their values, as a person would type it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tables.deltalog.rules.schema import dotted

_QUOTED = {"string", "date"}
_NUMBERS = {"byte", "short", "integer", "long"}
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

Values = Mapping[str, str | None]


def predicate_of(partitions: Sequence[Values], types: Mapping[str, str]) -> str | None:
    """The condition that holds in these partitions, which are given by the log's texts of their values, and in no other.

    `types` are the columns' types as the log names them. None where a type's values have no text that is sure to mean the same, and for
    no partition at all.
    """
    if not partitions:
        return None
    if len(types) == 1:
        [name] = types
        return _one_column(name, types[name], [partition[name] for partition in partitions])
    parts = [_partition(partition, types) for partition in partitions]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return known[0] if len(known) == 1 else " OR ".join(f"({part})" for part in known)


def _one_column(name: str, kind: str, values: Sequence[str | None]) -> str | None:
    texts = [_literal(kind, value) for value in values if value is not None]
    known = [text for text in texts if text is not None]
    if len(known) < len(texts):
        return None
    column = dotted((name,))
    listed = f"{column} = {known[0]}" if len(known) == 1 else f"{column} IN ({', '.join(known)})" if known else ""
    return " OR ".join(part for part in (listed, f"{column} IS NULL" if None in values else "") if part)


def _partition(values: Values, types: Mapping[str, str]) -> str | None:
    parts = [_equals(name, kind, values[name]) for name, kind in types.items()]
    known = [part for part in parts if part is not None]
    return " AND ".join(known) if len(known) == len(parts) else None


def _equals(name: str, kind: str, value: str | None) -> str | None:
    if value is None:
        return f"{dotted((name,))} IS NULL"
    text = _literal(kind, value)
    return None if text is None else f"{dotted((name,))} = {text}"


def _literal(kind: str, value: str) -> str | None:
    if kind in _NUMBERS:
        return value if _WHOLE.fullmatch(value) else None
    if kind not in _QUOTED or (kind == "date" and not _DAY.fullmatch(value)) or not value.isprintable():
        return None
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
