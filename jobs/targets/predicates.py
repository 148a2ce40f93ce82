"""A predicate on a table of the catalog: its text parsed with the schema of the version that it applies to."""

from __future__ import annotations

from datetime import datetime

from console.base.errors import Problem
from jobs.domain.delta.time_travel import too_late
from jobs.domain.errors import CommandRefused
from jobs.domain.predicates.tree import Node
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from tables.deltalog.rules.schema import Struct
from tables.history.queries import state_at
from tables.models import Commit, Table
from tables.record.commit_rows import tree_of
from tables.sync import log_access


class PredicateRefused(Problem):
    """400 `predicate_refused`: `detail` says what is wrong, where, and the accepted way to write it."""


def version_asked(table: Table, version: int | None, timestamp: datetime | None) -> int:
    """The version to read, after syncing the catalog with the log: the one named, the one of the timestamp, else the newest.

    Raises Problem 422 `not_delta`, 422 `engine_failed` for a time after the newest commit, as Delta does, 410 `version_gone` for one before
    all known commits.
    """
    head = log_access.head_version(table.path, table.version)
    if head is not None and head != table.version:
        log_access.sync(table.pk)
        table.refresh_from_db()
    if not table.is_delta or table.version is None:
        raise Problem(
            422, "not_delta", "This isn’t a Delta table, so it has no versions and no schema for a predicate’s columns."
        )
    if version is not None or timestamp is None:
        return table.version if version is None else version
    return _version_at(table, table.version, timestamp)


def _version_at(table: Table, head: int, timestamp: datetime) -> int:
    commits = Commit.objects.filter(table=table, incarnation=table.incarnation).order_by("-version")
    newest = commits.filter(version=head).values_list("committed_at", flat=True).first()
    if newest is not None and timestamp > newest:
        failure = too_late(timestamp, newest, table.path)
        raise Problem(422, "engine_failed", failure.message, engine=failure.as_json())
    latest: int | None = commits.filter(committed_at__lte=timestamp).values_list("version", flat=True).first()
    if latest is None:
        raise Problem(410, "version_gone", "Levee knows no commit as old as that time; pass a version instead.")
    return latest


def tree_for(table: Table, version: int, text: str) -> Node:
    """The predicate's tree at a version. Raises Problem 400 `predicate_refused`, 422 `unreadable` without a schema."""
    struct = _struct_at(table, version)
    try:
        return parse(text, schema_of(struct))
    except CommandRefused as refused:
        raise refused_predicate(refused) from None


def refused_predicate(refused: CommandRefused) -> PredicateRefused:
    """The refusal as a problem: what is wrong, where, and the accepted way to write it."""
    first = refused.refusals[0]
    at = f" (at {first.place})" if first.place else ""
    detail = f"Levee can’t accept this predicate{at}: {first.message}. {first.remedy or ''}".strip()
    return PredicateRefused(
        400,
        first.code,
        detail,
        fields={"predicate": detail},
        place=first.place,
        reason=first.message,
        remedy=first.remedy,
    )


def _struct_at(table: Table, version: int) -> Struct:
    """The schema at a version, as the catalog knows it."""
    struct = None if table.version is None else tree_of(state_at(table, min(version, table.version)).schema)
    if struct is None:
        raise Problem(422, "unreadable", f"The catalog doesn’t know the schema at version {version}; sync the table.")
    return struct
