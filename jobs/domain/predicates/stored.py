"""A tree as JSON values: as the request stores it, its digest covers it and the engine receives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from jobs.domain.predicates import tree
from jobs.domain.predicates.tree import Literal, Node, Value

_KINDS = {
    kind.__name__.lower(): kind
    for kind in (
        tree.Negative, tree.Arithmetic, tree.Cast, tree.Call, tree.Comparison, tree.IsNull, tree.In, tree.Between, tree.Like,
        tree.Not, tree.And, tree.Or,
    )
}  # fmt: skip


def to_json(node: Node) -> dict[str, Any]:
    """The tree as JSON values; `from_json` gives an equal one back."""
    match node:
        case tree.ColumnPath(path):
            return {"node": "column", "path": list(path)}
        case Literal(kind, value):
            return {"node": "literal", "type": kind, "value": _plain(value)}
    members = {name: _member(getattr(node, name)) for name in node.__dataclass_fields__}
    return {"node": type(node).__name__.lower(), **members}


def _member(value: Any) -> Any:
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    return value if isinstance(value, str | bool) else to_json(value)


def _plain(value: Value) -> str | bool | None:
    """Numbers are texts: JSON readers differ in what they keep of long ones."""
    match value:
        case None | bool() | str():
            return value
        case bytes():
            return value.hex()
        case date():  # and datetime
            return value.isoformat()
    return repr(value) if isinstance(value, float) else str(value)


def from_json(value: Mapping[str, Any]) -> Node:
    """The tree that `to_json` gave. Raises ValueError for anything else."""
    try:
        return _node(value)
    except (KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"this is no stored predicate: {error!r}") from error


def _node(value: Mapping[str, Any]) -> Node:
    match value["node"]:
        case "column":
            return tree.ColumnPath(tuple(str(part) for part in value["path"]))
        case "literal":
            return Literal(value["type"], _value(value["type"], value["value"]))
    made: Node = _KINDS[value["node"]](**{name: _read(item) for name, item in value.items() if name != "node"})
    return made


def _read(value: Any) -> Any:
    if isinstance(value, str | bool):
        return value
    return tuple(_node(item) for item in value) if isinstance(value, Sequence) else _node(value)


def _value(kind: str, text: Any) -> Value:
    if text is None or kind in ("boolean", "string"):
        return text  # type: ignore[no-any-return]  # as it was stored
    match kind:
        case "float" | "double":
            return float(text)
        case "binary":
            return bytes.fromhex(text)
        case "date":
            return date.fromisoformat(text)
        case "timestamp" | "timestamp_ntz":
            return datetime.fromisoformat(text).replace(tzinfo=UTC if kind == "timestamp" else None)
    return Decimal(text) if kind.startswith("decimal") else int(text)
