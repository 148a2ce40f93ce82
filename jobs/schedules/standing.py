"""What of a table was approved with a schedule, and whether it still holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.commands.registry import handling_of
from jobs.domain.digest import sha256_of
from jobs.domain.errors import Refusal
from jobs.targets.subject import Subject

Shape = Mapping[str, Any]
# What a person reads, by the shape's fields, in the order in which they are compared.
_MOVED = {
    "table_id": "Another table lies at its path now.",
    "schema_sha256": "The table’s schema or partitioning has changed.",
    "properties_sha256": "The table’s properties have changed.",
    "clustering": "The table’s clustering columns have changed.",
}
NEEDED = "needed"
ASK_YOURSELF = "Request the job itself: whoever approves it reads what its preview names."
DEFINE_AGAIN = "Edit the schedule to request it on the table as it is now."


def shape_of(subject: Subject) -> dict[str, Any]:
    """The table as a definition relies on it: Delta's id, and hashes of schema with partitioning and of its properties."""
    return {
        "table_id": subject.metadata.id,
        "schema_sha256": subject.shape_sha256,
        "properties_sha256": sha256_of(dict(subject.configuration)),
        "clustering": [".".join(path) for path in subject.snapshot.clustering_paths],
    }


def moved(approved: Shape, now: Shape) -> str:
    """What of the approved shape no longer holds, as a sentence; empty if all of it does."""
    return next((text for field, text in _MOVED.items() if approved.get(field) != now.get(field)), "")


def needs_a_person(command: str, preview: Mapping[str, Any]) -> Refusal | None:
    """Why no schedule runs the command by this preview: it says what only a person may weigh, and nobody reads it before a run."""
    text = handling_of(command).unattended(preview)
    return Refusal(NEEDED, text, remedy=ASK_YOURSELF) if text else None
