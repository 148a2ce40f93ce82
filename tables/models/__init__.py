"""The catalog: roots and their object stores, tables, their commits and schemas, and the findings of scans."""

from tables.models.commit import Baseline, Commit, TableDay
from tables.models.explanation import Explanation
from tables.models.favourite import Favourite
from tables.models.finding import Addition, Finding
from tables.models.object_store import ObjectStore
from tables.models.root import MOST_SCAN_HOURS, SYNC_SECONDS, RegisteredRoots, Root
from tables.models.schema import Schema
from tables.models.table import NEVER, Incarnation, SyncTimes, Table

__all__ = [
    "MOST_SCAN_HOURS",
    "NEVER",
    "SYNC_SECONDS",
    "Addition",
    "Baseline",
    "Commit",
    "Explanation",
    "Favourite",
    "Finding",
    "Incarnation",
    "ObjectStore",
    "RegisteredRoots",
    "Root",
    "Schema",
    "SyncTimes",
    "Table",
    "TableDay",
]
