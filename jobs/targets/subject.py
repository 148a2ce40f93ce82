"""A Delta table at its newest version, with what it takes to parse and preview a predicate."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.schema import Schema
from jobs.domain.predicates.tree import Node
from jobs.predicates.constraints import constraints_question
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from tables.deltalog.read.actions import Metadata
from tables.deltalog.rules.active_features import has_conditions, has_invariants
from tables.deltalog.rules.features import CATALOG_MANAGED
from tables.deltalog.rules.other_formats import other_formats
from tables.deltalog.rules.schema import SchemaError, Struct, compact, parse_schema, without_high_water_marks
from tables.deltalog.state.snapshot import Snapshot
from tables.models import Table
from tables.record.live_files import live_files
from tables.sync import log_access

CHANGE_FEED = "delta.enableChangeDataFeed"
MANAGED_REMEDY = "Change it with an engine that is connected to its catalog, or drop the feature there first."


def _none() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Subject:
    """The catalog's entry, the version's live files and its schema (`struct` as in Delta, `schema` as predicates use it)."""

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
    def change_feed(self) -> bool:
        """Whether the table has the change data feed on."""
        return self.configuration.get(CHANGE_FEED, "").lower() == "true"

    @property
    def other_formats(self) -> tuple[str, ...]:
        """The formats by which the table is read as well."""
        return other_formats(self.configuration)

    @property
    def shape_sha256(self) -> str:
        """A hash of schema and partitioning, which a predicate was parsed with; not of what each write adds to the schema."""
        schema = compact(without_high_water_marks(self.metadata.schema_json))
        shape = "\n".join([schema, *self.metadata.partition_columns])
        return hashlib.sha256(shape.encode("utf-8", "surrogatepass")).hexdigest()

    def read(self, text: str) -> Node:
        """The tree of a predicate on this table. Raises CommandRefused (`predicate_refused`)."""
        return parse(text, self.schema)

    def asked_of_constraints(
        self,
        rewritten: Callable[[], pa.Table | None] = _none,
        *,
        kept_by: Mapping[str, Any] | None = None,
        redefines: bool = False,
    ) -> dict[str, Any] | None:
        """What Spark is asked of the table's constraints and generated columns, as `constraints_question`; None for one without any, and
        for a change that neither writes rows again nor redefines the table. `rewritten` finds the files, of a table that has some."""
        if not has_conditions(self.configuration, self.struct):
            return None
        files = rewritten()
        if not (redefines or files or has_invariants(self.struct)):
            return None
        return constraints_question(self.table.path, self.version, files, kept_by=kept_by, redefines=redefines)


def subject_of(table_id: uuid.UUID) -> Subject:
    """The table as its log has it now; syncs the catalog.

    Raises CommandRefused: `not_delta`, `catalog_managed`, or `unreadable` if the live files aren't certain, since a file missing
    from the list could hold matching rows.
    """
    table = log_access.glance(table_id)
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
    """An earlier tree, resolved with the current schema. Raises CommandRefused if it no longer means the same."""
    if node is None:
        return None
    current = subject.read(to_text(node))
    if current != node:
        text = "The table’s schema has changed so that the predicate would mean something else."
        raise CommandRefused(Refusal("stale", text, remedy="Request it again on the table as it is now."))
    return current


def _snapshot(table: Table) -> Snapshot:
    if table.missing_since is not None:
        raise _refused("unreadable", "The table’s directory is gone, so Levee can’t read its rows.")
    if table.sync_error:
        raise _unreadable(table.sync_error)
    if not table.is_delta:
        raise _refused("not_delta", "This isn’t a Delta table. Convert the directory to Delta first.")
    snapshot = live_files(table)
    if snapshot is None:
        raise _unreadable("its live files aren’t known")
    if not snapshot.complete:
        raise _unreadable("a part of it is missing or corrupt")
    needs = snapshot.understanding.needs
    if managed := CATALOG_MANAGED.intersection(needs):
        text = (
            f"The table is managed by its catalog (feature {min(managed)}): commits go through the catalog, and the log in the"
            " directory may be behind it. Levee reaches this table by its path alone, so it neither previews nor changes it."
        )
        said = f"Path-based access is not allowed for Catalog-Managed table: {table.path}. Please access the table via its name and retry."
        failure = EngineFailure("DELTA_PATH_BASED_ACCESS_TO_CATALOG_MANAGED_TABLE_BLOCKED", "KD00G", said)
        raise CommandRefused(Refusal("catalog_managed", text, table.path, MANAGED_REMEDY, failure))
    if needs:
        raise _unreadable(f"it needs {', '.join(needs)}, which Levee doesn’t support")
    return snapshot


def _unreadable(why: str) -> CommandRefused:
    return _refused("unreadable", f"The log can’t be read with certainty: {why.rstrip('.')}.")


def _refused(code: str, message: str) -> CommandRefused:
    return CommandRefused(Refusal(code, message))
