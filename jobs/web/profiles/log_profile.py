"""The profile of a table's columns by its log, at once, for page and API. Statistics tell of values, so it takes the right to rows."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from typing import Any

from console.audit.actor import Actor
from jobs.domain.errors import CommandRefused
from jobs.pruning.column_profile import ColumnProfile, ColumnProfiles, profiled
from jobs.reads.rows import table_with_rows
from jobs.targets.problems import problem_of_refused
from jobs.targets.subject import Subject, subject_of

AT_ONCE = 100  # columns of an answer, whose statistics are read for it


def subject_for(actor: Actor, table_id: uuid.UUID) -> Subject:
    """The table at its newest version, for a person who may read its rows.

    Raises Http404; Problem 403 `forbidden`, which the audit records, 422 `not_delta`, `unreadable`.
    """
    try:
        return subject_of(table_with_rows(actor, table_id).pk)
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None


def of_columns(subject: Subject, first: int) -> tuple[ColumnProfiles, int]:
    """AT_ONCE columns from the `first` on, and how many there are. Raises Problem 422 `unreadable`."""
    try:
        return profiled(subject.snapshot, subject.struct, first, AT_ONCE)
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None


def as_json(found: ColumnProfiles, first: int, total: int) -> dict[str, Any]:
    """The profile as the API has it: from the `first` column on, of so many in `total`."""
    return {
        "version": found.version,
        "files": found.files,
        "rows": found.rows,
        "files_with_deletion_vectors": found.vectors,
        "statistics_read": not found.unread,
        "columns": [_column(column) for column in found.columns],
        "more_columns": max(total - first - len(found.columns), 0),
    }


def _column(column: ColumnProfile) -> dict[str, Any]:
    values = [{"value": value["text"], "rows": value["rows"]} for value in asdict(column)["values"]]
    return {
        "name": column.path,
        "type": column.type,
        "partition": column.is_partition,
        "nulls": column.nulls,
        "nulls_unknown_files": column.uncounted,
        "min": column.low,
        "max": column.high,
        "min_cut": column.low_is_cut,
        "max_cut": column.high_is_cut,
        "bounds_unknown_files": column.unbounded if column.has_bounds else None,
        "distinct": column.distinct,
        "values": values,
    }
