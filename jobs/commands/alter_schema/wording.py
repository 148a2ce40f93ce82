"""A change of a schema in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.commands.alter_schema.rules import words_of
from jobs.domain.results import Result
from jobs.domain.wording import Figure, Parameters, Preview

CLASSES = {"irreversible": "can’t be taken back", "ordinary": "can be taken back"}
LONGEST = 120


TITLED_BY: tuple[str, ...] = ()


def title(table: str, parameters: Parameters, preview: Preview) -> str:
    changes = list(parameters.get("changes") or ())
    if len(changes) == 1:
        text = words_of(changes[0])
        return f"Change the schema of {table}: {text[0].lower()}{_cut(text[1:])}"
    return f"Change the schema of {table} in {len(changes)} steps" if changes else f"Change the schema of {table}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def figures(preview: Preview) -> list[Figure]:
    if "changes" not in preview:
        return []
    found = [Figure("Changes", len(preview["changes"]), "one commit each")]
    if preview["constraints"]:
        rows = preview["violating_rows"]
        found.append(Figure("Rows that violate", rows, "counted by Spark", why_unknown="Spark counts them"))
    return found


def weight(preview: Preview) -> Figure | None:
    return Figure("Changes", len(preview["changes"]), noun="change") if "changes" in preview else None


def outcome(result: Result) -> list[Figure]:
    return [Figure("Changes committed", len(result.details.get("commits") or ()), "one commit each")]


def facts(preview: Preview) -> dict[str, str]:
    name = CLASSES.get(preview.get("class", ""))
    return {"Reversible": name} if name else {}


def table_state(committed: int, parameters: Mapping[str, Any], versions: list[int]) -> str:
    """The state that a table is in where a run got through `committed` of its changes."""
    changes = parameters.get("changes") or ()
    done = "; ".join(
        f"version {version:,}: {words_of(change)}" for version, change in zip(versions, changes, strict=False)
    )
    left = "; ".join(words_of(change) for change in changes[committed:])
    return f"{committed} of {len(changes)} changes are committed ({done}). Not made: {left}."
