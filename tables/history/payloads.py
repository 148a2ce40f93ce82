"""Versions for the API: schemas, protocols, commits and comparisons as JSON values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from console.base.pagination import Page, page
from tables.deltalog.rules.features import Demand, demands
from tables.deltalog.rules.reachability import VersionReach as VersionReach
from tables.deltalog.rules.schema_changes import SchemaChange
from tables.history import queries, schemas
from tables.models import Commit, Schema, Table
from tables.record.table_fields import protocol_of
from tables.rules.destruction import told
from tables.rules.reported_rows import reported_change

SCHEMA_CHANGES = 100  # on a page
PROTOCOL_FIELDS = ("min_reader_version", "min_writer_version", "reader_features", "writer_features", "implied_features")


def demands_of(stored: dict[str, Any] | None) -> list[Demand]:
    """What each feature of a stored protocol demands."""
    protocol = protocol_of(stored)
    return list(demands(protocol)) if protocol else []


def protocol_json(state: queries.StateAtVersion) -> dict[str, Any]:
    """Versions and features at a version, each with what it demands."""
    stored = state.protocol or dict.fromkeys(PROTOCOL_FIELDS)
    return {"version": state.version, **stored, "features": [asdict(demand) for demand in demands_of(state.protocol)]}


def schema_json(state: queries.StateAtVersion) -> dict[str, Any]:
    """The schema at a version; null when no commit that Levee has tells it."""
    return {
        "version": state.version,
        "schema": state.schema.struct if state.schema else None,
        "partition_columns": state.partition_columns,
        "clustering_columns": state.clustering_columns,
        "fields": [
            asdict(field)
            for field in schemas.fields_of(
                state.schema, state.partition_columns or (), state.clustering_columns, state.properties
            )
        ],
    }


def changes_json(changes: list[SchemaChange]) -> list[dict[str, Any]]:
    return [{"change": c.kind.value, "column": c.column, "before": c.before, "after": c.after} for c in changes]


SchemaCommit = tuple[Commit, list[SchemaChange] | None]


def schema_changes(
    table: Table, limit: int = SCHEMA_CHANGES, cursor: str = ""
) -> tuple[Page[Commit], list[SchemaCommit]]:
    """A page of the commits that changed the schema, newest first, with what they changed: None if the schema before is unknown."""
    commit_page = page(queries.schema_commits(table), queries.NEWEST, limit, cursor)
    before = queries.schemas_before(table, commit_page.rows)
    rows = [(commit, _changes(before[commit.version], commit)) for commit in commit_page.rows]
    return commit_page, [(commit, changes) for commit, changes in rows if changes != []]


def _changes(before: Schema | None, commit: Commit) -> list[SchemaChange] | None:
    return None if before is None else schemas.differences(before, commit.schema)


def schema_change_json(commit: Commit, changes: list[SchemaChange] | None) -> dict[str, Any]:
    """An entry of the list; `changes` is empty for the oldest schema that Levee knows, and where it hasn't read what was before."""
    return {
        "version": commit.version,
        "committed_at": commit.committed_at,
        "operation": commit.operation or None,
        "user_name": commit.user_name or None,
        "job": str(commit.job) if commit.job else None,
        "changes": changes_json(changes or []),
        "is_before_known": changes is not None,
    }


def schema_compare_json(table: Table, before: int, after: int, incarnation: int | None = None) -> dict[str, Any]:
    """The schemas of two versions compared; `changes` is null when one of them is not known."""
    old, new = (queries.state_at(table, version, incarnation) for version in (before, after))
    return {"from": before, "to": after, "changes": _compared(old.schema, new.schema)}


def _compared(old: Schema | None, new: Schema | None) -> list[dict[str, Any]] | None:
    return None if old is None or new is None else changes_json(schemas.differences(old, new))


def compare_json(table: Table, before: int, after: int, incarnation: int | None = None) -> dict[str, Any]:
    """Two versions: what differs in schema, properties and protocol, and what the commits between them did."""
    old, new = (queries.state_at(table, version, incarnation) for version in (before, after))
    between = queries.between(table, min(before, after), max(before, after), incarnation)
    return {
        "from": before,
        "to": after,
        "schema": _compared(old.schema, new.schema),
        "partition_columns": {"before": old.partition_columns, "after": new.partition_columns},
        "properties": [asdict(change) for change in queries.changed(old.properties, new.properties)],
        "protocol": {"before": old.protocol, "after": new.protocol},
        "commits": between,
    }


def commit_json(table: Table, commit: Commit, reach: VersionReach) -> dict[str, Any]:
    """What a commit did beyond its line in the history."""
    schema, properties, protocol = commit_changes(table, commit)
    return {
        "files_added": commit.files_added,
        "files_removed": commit.files_removed,
        "bytes_added": commit.bytes_added,
        "bytes_removed": commit.bytes_removed,
        "rows_added": commit.rows_added,
        "rows_removed": commit.rows_removed,
        "rows_changed": commit.rows_changed,
        "rows_reported": reported_change(commit.operation, commit.operation_metrics),
        "removal": told(commit.operation, commit.removal) or None,
        "schema_changes": None if schema is None else changes_json(schema),
        "property_changes": None if properties is None else [asdict(change) for change in properties],
        "protocol": protocol,
        "readable_until": reach.until,
        "why_not_restorable": reach.why,
        "problems": commit.problems,
    }


def commit_changes(
    table: Table, commit: Commit
) -> tuple[list[SchemaChange] | None, list[queries.Changed] | None, dict[str, Any] | None]:
    """Changes of schema and properties against the version before, and the protocol that the commit wrote, if it wrote one.

    Changes are None where Levee doesn't know what was before.
    """
    if commit.properties is None:
        return [], [], commit.protocol
    if commit.version == 0:
        return schemas.differences(None, commit.schema), queries.changed(None, commit.properties), commit.protocol
    before = queries.state_at(table, commit.version - 1, commit.incarnation)
    schema = schemas.differences(before.schema, commit.schema) if before.schema and commit.schema else None
    properties = queries.changed(before.properties, commit.properties) if before.properties is not None else None
    return schema, properties, commit.protocol


def reach_json(commit: Commit, reach: VersionReach) -> dict[str, Any]:
    return {
        "version": commit.version,
        "committed_at": commit.committed_at,
        "in_log": reach.in_log,
        "readable": reach.readable,
        "restorable": reach.restorable,
        "change_feed": reach.change_feed,
        "until": reach.until,
        "why": reach.why,
    }
