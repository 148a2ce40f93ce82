"""A Delta table at its newest version with what a predicate is read and previewed against."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.predicates import Node, to_text
from jobs.domain.predicates.schema import Schema
from jobs.predicates import parse, schema_of
from tables import after_jobs
from tables.deltalog import Metadata, Snapshot
from tables.deltalog.schema import SchemaError, Struct, parse_schema
from tables.models import Table


@dataclass(frozen=True, slots=True)
class Subject:
    """The catalog's entry, the version's live files and its schema (`struct` as Delta has it, `schema` as predicates see it)."""

    table: Table
    snapshot: Snapshot
    metadata: Metadata
    struct: Struct
    schema: Schema

    @property
    def version(self) -> int:
        return self.snapshot.version

    @property
    def configuration(self) -> Mapping[str, str]:
        return self.metadata.configuration

    @property
    def shape_sha256(self) -> str:
        """Schema and partitioning, which a predicate was read against."""
        shape = "\n".join([self.metadata.schema_json, *self.metadata.partition_columns])
        return hashlib.sha256(shape.encode()).hexdigest()

    def read(self, text: str) -> Node:
        """The tree of a predicate on this table. Raises CommandRefused (`predicate_refused`)."""
        return parse(text, self.schema)


def subject_of(table_id: uuid.UUID) -> Subject:
    """The table as its log has it now; the catalog is brought in step.

    Raises CommandRefused: `not_delta`, or `unreadable` where the live files aren't certain, since a file that is missing from the
    list could hold matching rows.
    """
    table = after_jobs.sync(table_id)
    snapshot = _snapshot(table)
    metadata = snapshot.metadata
    if metadata is None:
        raise _unreadable("it holds no metadata")
    try:
        struct = parse_schema(metadata.schema_json)
    except SchemaError as error:
        raise _unreadable(str(error)) from None
    return Subject(table, snapshot, metadata, struct, schema_of(struct))


def reread(subject: Subject, node: Node | None) -> Node | None:
    """A tree that was read earlier, resolved against the schema of now. Raises CommandRefused where it no longer means the same."""
    if node is None:
        return None
    found = subject.read(to_text(node))
    if found != node:
        text = "The table’s schema has changed so that the predicate would mean something else."
        raise CommandRefused(Refusal("stale", text, remedy="Ask again on the table as it is now."))
    return found


def _snapshot(table: Table) -> Snapshot:
    if table.missing_since is not None:
        raise _refused("unreadable", "The table’s directory is gone, so nothing can be said about its rows.")
    if table.sync_error:
        raise _unreadable(table.sync_error)
    if not table.is_delta:
        raise _refused("not_delta", "This is no Delta table: rows are deleted from Delta tables only.")
    snapshot = after_jobs.live_files(table)
    if snapshot is None:
        raise _unreadable("its live files aren’t known")
    if not snapshot.complete:
        raise _unreadable("a part of it is missing or corrupt")
    if needs := snapshot.understanding.needs:
        raise _unreadable(f"it needs {', '.join(needs)}, which Levee doesn’t know")
    return snapshot


def _unreadable(why: str) -> CommandRefused:
    return _refused("unreadable", f"The log can’t be read with certainty: {why.rstrip('.')}.")


def _refused(code: str, message: str) -> CommandRefused:
    return CommandRefused(Refusal(code, message))
