"""The differences between two versions of a table."""

from __future__ import annotations

from typing import Any

from tables.history import queries, schemas


def comparison(old: queries.StateAtVersion, new: queries.StateAtVersion) -> dict[str, Any]:
    """What differs between a table's states at two versions; `schema` is None where one of the schemas isn't known."""
    schema = None if old.schema is None or new.schema is None else schemas.differences(old.schema, new.schema)
    reported = old.properties is not None and new.properties is not None
    return {
        "schema": schema,
        "properties": queries.changed(old.properties, new.properties) if reported else None,
        "protocols": _protocols(old.protocol, new.protocol),
        "partitioning": (old.partition_columns, new.partition_columns),
    }


_PROTOCOL_LINES = {
    "Reader version": "min_reader_version",
    "Writer version": "min_writer_version",
    "Reader features": "reader_features",
    "Writer features": "writer_features",
    "Implied features": "implied_features",
}


def _protocols(old: dict[str, Any] | None, new: dict[str, Any] | None) -> list[dict[str, Any]] | None:
    """One line per part of the protocol, each marked where it differs; None where one isn't known."""
    if old is None or new is None:
        return None
    return [
        {
            "text": text,
            "before": _listed(old.get(name)),
            "after": _listed(new.get(name)),
            "differs": old.get(name) != new.get(name),
        }
        for text, name in _PROTOCOL_LINES.items()
    ]


def _listed(value: Any) -> str:
    return (", ".join(value) or "none") if isinstance(value, list) else "none" if value is None else str(value)
