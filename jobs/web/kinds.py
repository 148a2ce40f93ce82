"""The lists of jobs, requests and streams that people may arrange."""

from __future__ import annotations

from console.accounts.lists import ListKind

JOBS = ListKind(
    name="jobs",
    title="Jobs",
    address="jobs:list",
    filters=frozenset({"state", "by", "table"}),
    columns=(
        ("state", "State"),
        ("meaning", "What it means"),
        ("by", "Requested by"),
        ("when", "Requested"),
    ),
    orders=(("", "newest first"), ("oldest", "oldest first")),
)
APPROVALS = ListKind(name="approvals", title="Approvals", address="jobs:approvals", filters=frozenset())
STREAMS = ListKind(
    name="streams",
    title="Streams",
    address="jobs:streams",
    filters=frozenset({"state"}),
    columns=(
        ("way", "From → to"),
        ("state", "State"),
        ("lag", "Lag"),
        ("last", "Last batch"),
        ("rows", "Rows"),
        ("times", "Batch time"),
        ("version", "Table version"),
    ),
)
