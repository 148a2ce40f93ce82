"""The lists of the catalog that people may arrange."""

from __future__ import annotations

from console.accounts.lists import ListKind
from tables.catalog import listing

TABLES = ListKind(
    name="tables",
    title="Tables",
    address="tables:list",
    filters=frozenset({"q", "stale", "favourite", *listing.GROUPS}),
    columns=(
        ("version", "Version"),
        ("size", "Size"),
        ("files", "Files"),
        ("rows", "Rows"),
        ("changed", "Last change"),
        ("health", "Health"),
    ),
    orders=(
        ("", "by name"),
        ("-size", "largest first"),
        ("-changed", "last changed first"),
        ("-files", "most files first"),
    ),
)
HISTORY = ListKind(
    name="history",
    title="Commits of a table",
    filters=frozenset({"operation", "by", "since", "until", "job"}),
    columns=(
        ("when", "When"),
        ("operation", "Operation"),
        ("rows", "Rows"),
        ("files", "Files"),
        ("bytes", "Bytes"),
        ("by", "By and reason"),
        ("reach", "Reach"),
    ),
    orders=(("", "newest first"), ("oldest", "oldest first")),
)
COMMITS = ListKind(
    name="commits",
    title="Commits of all tables",
    address="tables:commits",
    filters=frozenset({"day", "kind"}),
    columns=(
        ("operation", "Operation"),
        ("rows", "Rows"),
        ("added", "Files added"),
        ("removed", "Files removed"),
        ("by", "Made by"),
        ("when", "When"),
    ),
    orders=(("", "newest first"), ("oldest", "oldest first")),
)
