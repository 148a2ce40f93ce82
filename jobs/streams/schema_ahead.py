"""Whether a stream's next round fails by a change of its source table's columns, told by the commits that the last sync read.

Rules: `readable_schemas`. On its start a query checks the schema at the beginning of its last batch, and then each that a later commit
brings, against the newest one: so a change fails it even if nothing came after it. A column that was widened is read on, but the sink
casts it to the target's own type: what doesn't fit fails the batch, and a fraction is cut off without an error [run on 4.4.0].
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from django.db.models import F

from jobs.commands.stream_round.rules import Definition
from jobs.domain.consequences import listed
from jobs.models import Stream
from jobs.streams.readable_schemas import holds, stopping_changes
from jobs.targets.readers import next_version
from tables.deltalog.rules.schema import Column, Struct, type_text
from tables.deltalog.rules.schema_changes import SchemaChange, SchemaChangeKind, compare_schemas
from tables.models import Commit, Schema
from tables.record.commit_rows import tree_of

MOST = 2_000  # commits with a schema that are looked at, the newest ones
NAMED = 3
REMEDY = (
    "Levee’s streams don’t set Delta’s schemaTrackingLocation, without which no round succeeds any more. Reset the stream: its next round"
    " then reads the table from its start, and in Append mode loads again what it has. To go on without the rows from before the change,"
    " set the source’s starting version to {version} after the reset, before you start the stream."
)

NOT_BEGUN = "Set the source’s starting version to {version} or later, or leave it out: then the stream begins with the table as it is."

WIDEN = (
    "Widen the column of {target} as well before the stream’s next round (Change the schema… on its page), or cast it in the stream’s"
    " steps as you want it."
)
FEATURES = frozenset({"typeWidening", "typeWidening-preview"})

_At = tuple[int, str]  # a version and the schema that its commit has, by its hash


@dataclass(frozen=True, slots=True)
class Ahead:
    """The change that stops the stream, or (not `fails`) may: the version of its commit, what it does in a sentence, and what to do."""

    version: int
    fails: bool
    text: str
    remedy: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def ahead_of(streams: Iterable[Stream]) -> Mapping[uuid.UUID, Ahead]:
    """By stream; those that go on, or of which it isn't known, are left out. Two queries, one if no source has changed."""
    asked = {stream.pk: (stream, start) for stream in streams if (start := _start(stream)) is not None}
    if not asked:
        return {}
    histories = _histories(stream.source_table_id for stream, _ in asked.values())
    moved = {pk: _since(histories[stream.source_table_id], start) for pk, (stream, start) in asked.items()}
    moved = {pk: states for pk, states in moved.items() if len({schema for _, schema in states}) > 1}
    targets = {schema for pk in moved if (schema := asked[pk][0].table.schema_id)}
    known = _structs({*targets, *(schema for states in moved.values() for _, schema in states)}) if moved else {}
    found = {pk: _ahead(asked[pk][0], states, known) for pk, states in moved.items()}
    return {pk: each for pk, each in found.items() if each is not None}


def _start(stream: Stream) -> int | None:
    """The version whose schema the next round must still be able to read; None if it begins with the table as it is by then."""
    version = next_version(stream) if stream.source_table_id else None
    if version is None:
        return None
    return version if stream.query_id is None else max(version - 1, 0)


def _histories(tables: Iterable[uuid.UUID | None]) -> dict[uuid.UUID | None, list[_At]]:
    """The commits with a schema of each of the tables, oldest first."""
    histories: dict[uuid.UUID | None, list[_At]] = {table: [] for table in tables}
    commits = Commit.objects.filter(
        table__in=set(histories), incarnation=F("table__incarnation"), schema__isnull=False
    ).order_by("-version")
    for table, version, schema in commits.values_list("table_id", "version", "schema_id")[:MOST]:
        histories[table].insert(0, (version, schema))
    return histories


def _since(history: Sequence[_At], start: int) -> list[_At]:
    """The schema at `start` and those of later commits; nothing if the one at `start` isn't known."""
    before = [each for each in history if each[0] <= start]
    return [before[-1], *(each for each in history if each[0] > start)] if before else []


def _structs(hashes: set[str]) -> dict[str, Struct]:
    trees = {schema.pk: tree_of(schema) for schema in Schema.objects.filter(pk__in=hashes)}
    return {pk: tree for pk, tree in trees.items() if tree is not None}


def _ahead(stream: Stream, states: Sequence[_At], known: Mapping[str, Struct]) -> Ahead | None:
    if not all(schema in known for _, schema in states):
        return None
    schemas = [(version, known[schema]) for version, schema in states]
    widening = stream.source_table is not None and bool(FEATURES.intersection(stream.source_table.features))
    newest = schemas[-1][1]
    if any(stopping_changes(schema, newest, widening=widening) for _, schema in schemas):
        for (_, before), (version, after) in pairwise(schemas):
            if changes := stopping_changes(before, after, widening=widening):
                remedy = NOT_BEGUN if stream.query_id is None else REMEDY
                return Ahead(version, True, _text(stream, version, changes), remedy.format(version=f"{version:,}"))
    return _narrowed(stream, schemas, known.get(stream.table.schema_id or ""))


def _narrowed(stream: Stream, schemas: Sequence[tuple[int, Struct]], target: Struct | None) -> Ahead | None:
    """The first column that became wider than the target's, which gets its values by its own name or the one that the steps give it."""
    steps = Definition.from_json(stream.definition).steps
    if target is None or steps.count_as is not None:
        return None
    for (_, before), (version, after) in pairwise(schemas):
        for change in compare_schemas(before, after):
            column = target.column(steps.rename.get(change.column, change.column))
            if change.kind is not SchemaChangeKind.TYPE or column is None or column.name in steps.cast:
                continue
            if (not steps.select or column.name in steps.select) and not holds(
                type_text(column.type), change.after or ""
            ):
                return Ahead(
                    version,
                    False,
                    _narrow_text(stream, version, change, column),
                    WIDEN.format(target=stream.table.name),
                )
    return None


def _text(stream: Stream, version: int, changes: Sequence[SchemaChange]) -> str:
    said = listed([_said(change) for change in changes], NAMED)
    return f"The next round fails: version {version:,} of {_source(stream)} {said}, and a stream can’t read across such a change."


def _narrow_text(stream: Stream, version: int, change: SchemaChange, column: Column) -> str:
    return (
        f"Version {version:,} of {_source(stream)} {_said(change)}, and {column.name} of {stream.table.name} is {type_text(column.type)}: a"
        " value that doesn’t fit fails the round, and a fraction is cut off without an error."
    )


def _source(stream: Stream) -> str:
    return stream.source_table.name if stream.source_table else "the source"


def _said(change: SchemaChange) -> str:
    match change.kind:
        case SchemaChangeKind.RENAMED:
            return f"renames column {change.before} to {change.after}"
        case SchemaChangeKind.REMOVED:
            return f"drops column {change.column}"
        case SchemaChangeKind.NULLABLE:
            return f"forbids NULL in column {change.column}"
        case _:
            return f"changes column {change.column} from {change.before} to {change.after}"
