"""A predicate on a catalogued table: its text read against the schema at the version it is asked of."""

from __future__ import annotations

from datetime import datetime

from console.errors import Problem
from jobs.domain.errors import CommandRefused
from jobs.domain.predicates import Node
from jobs.predicates import parse, schema_of
from tables import after_jobs
from tables.deltalog.schema import Struct
from tables.histories import state_at
from tables.models import Commit, Table
from tables.schemas import tree_of


class PredicateRefused(Problem):
    """400 `predicate_refused`: `detail` says what is wrong, where, and the accepted way to write it."""


def version_asked(table: Table, version: int | None, timestamp: datetime | None) -> int:
    """The version that a question means, with the catalog in step with the log: the one named, that of the time, else the newest.

    Raises Problem 422 `not_delta`, 410 `version_gone` for a time before all commits that are known.
    """
    head = after_jobs.head_version(table.path, table.version)
    if head is not None and head != table.version:
        after_jobs.sync(table.pk)
        table.refresh_from_db()
    if not table.is_delta or table.version is None:
        raise Problem(
            422, "not_delta", "This is no Delta table, so it has no versions and no schema to name columns of."
        )
    if version is not None or timestamp is None:
        return table.version if version is None else version
    commits = Commit.objects.filter(table=table, incarnation=table.incarnation, committed_at__lte=timestamp)
    found: int | None = commits.order_by("-version").values_list("version", flat=True).first()
    if found is None:
        raise Problem(410, "version_gone", "No commit as old as that time is known; name a version instead.")
    return found


def tree_for(table: Table, version: int, text: str) -> Node:
    """The tree of a predicate at a version. Raises Problem 400 `predicate_refused`, 422 `unreadable` without a schema."""
    struct = _struct_at(table, version)
    try:
        return parse(text, schema_of(struct))
    except CommandRefused as refused:
        raise refused_predicate(refused) from None


def refused_predicate(refused: CommandRefused) -> PredicateRefused:
    """The refusal as an answer: what is wrong, where, and the accepted way to write it."""
    first = refused.refusals[0]
    at = f" (at {first.place})" if first.place else ""
    detail = f"The predicate is refused{at}: {first.message}. {first.remedy or ''}".strip()
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
    found = None if table.version is None else tree_of(state_at(table, min(version, table.version)).schema)
    if found is None:
        raise Problem(422, "unreadable", f"The catalog doesn’t know the schema at version {version}; sync the table.")
    return found
