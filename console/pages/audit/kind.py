"""The list of events, which people may arrange."""

from __future__ import annotations

from console.accounts.lists import ListKind

AUDIT = ListKind(
    name="audit",
    title="Audit",
    address="audit:list",
    filters=frozenset({"object", "actor", "action", "outcome", "q", "since", "until", "table", "job"}),
    columns=(
        ("time", "Time"),
        ("who", "Who"),
        ("act", "Act"),
        ("object", "Object"),
        ("outcome", "Outcome"),
        ("reason", "Reason"),
    ),
    orders=(("", "newest first"), ("oldest", "oldest first")),
)
