"""The lists of jobs, requests, streams and schedules that people may arrange."""

from __future__ import annotations

from console.accounts.lists import ListKind

JOBS = ListKind(
    name="jobs",
    title="Jobs",
    address="jobs:list",
    filters=frozenset({"state", "command", "by", "on", "reason", "since", "until", "table"}),
    columns=(
        ("state", "State"),
        ("meaning", "What it means"),
        ("by", "Requested by"),
        ("when", "Requested"),
    ),
    orders=(("", "newest first"), ("oldest", "oldest first")),
)
APPROVALS = ListKind(
    name="approvals",
    title="Approvals",
    address="jobs:approvals",
    filters=frozenset(),
    columns=(
        ("by", "Requested by"),
        ("approvals", "Approvals and decisions"),
        ("reason", "Reason"),
        ("when", "Expires, ended or decided"),
    ),
    orders=(
        ("", "what waits for you oldest first, all else newest first"),
        ("newest", "newest first"),
        ("oldest", "oldest first"),
    ),
)
STREAMS = ListKind(
    name="streams",
    title="Streams",
    address="jobs:streams",
    filters=frozenset({"state", "table"}),
    columns=(
        ("way", "From → to"),
        ("state", "State"),
        ("lag", "Lag"),
        ("last", "Last batch"),
        ("rows", "Rows"),
        ("times", "Batch time"),
        ("version", "Table version"),
    ),
    orders=(("", "by name"), ("failed", "failed first")),
)
SCHEDULES = ListKind(
    name="schedules",
    title="Schedules",
    address="jobs:schedules",
    filters=frozenset({"state"}),
    columns=(
        ("what", "Command, and on what"),
        ("state", "State"),
        ("when", "When"),
        ("next", "Next run"),
        ("last", "Last run"),
        ("by", "Runs for"),
    ),
    orders=(("", "by name"), ("stopped", "stopped first")),
)
