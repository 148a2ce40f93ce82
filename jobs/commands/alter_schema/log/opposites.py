"""The change that takes a change of a schema back, where there is one."""

from __future__ import annotations

from typing import Any

from jobs.commands.alter_schema.log.state import MetadataState, find
from jobs.commands.alter_schema.rules import Change, name_parts, opened, written_name
from jobs.domain.errors import CommandRefused


def replaced_by(state: MetadataState, change: Change) -> Any:
    """What the change is about to replace in the table: a comment, a constraint's expression, the clustering columns; else None."""
    kind, value = opened(change)
    match kind:
        case "comment":
            try:
                return find(state, value["path"]).owner["metadata"].get("comment", "")
            except CommandRefused:
                return None  # and so is the change
        case "drop_constraint":
            return state.constraints.get(value["name"].strip().lower())
        case "cluster_by":
            return [written_name(path) for path in state.clustering or ()]
        case "table_comment":
            return state.comment or ""
    return None


def opposite_of(change: Change, replaced: Any) -> dict[str, Any] | None:
    """The opposite of a change as it is stored, given what it replaced; None for what Delta takes back by no change.

    It holds for the table as the change leaves it: of several, the last one's opposite comes first.
    """
    kind, value = opened(change)
    match kind:
        case "add":
            return {"drop": {"path": value["path"]}}
        case "rename":
            *above, old = name_parts(value["path"])
            new = written_name([*above, *name_parts(value["to"])])
            return {"rename": {"path": new, "to": written_name([old])}}
        case "comment":
            return {"comment": {"path": value["path"], "text": replaced}}
        case "add_constraint":
            return {"drop_constraint": {"name": value["name"]}}
        case "drop_constraint":
            return {"add_constraint": {"name": value["name"], "expression": replaced}}
        case "cluster_by" | "table_comment":
            return {kind: replaced}
    return None
