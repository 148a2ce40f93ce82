"""What a delete would touch, from the log alone: the catalog is brought in step, then its live files are asked."""

from __future__ import annotations

import uuid
from typing import Any

from console.audit.actor import Actor
from console.errors import Problem
from jobs.domain.errors import CommandRefused
from jobs.domain.predicates import to_text
from jobs.predicates import parse, schema_of
from jobs.preview.prediction import predict
from jobs.row_reads import table_with_rows
from jobs.table_predicates import refused_predicate
from tables import after_jobs
from tables.deltalog import Snapshot
from tables.deltalog.schema import SchemaError, parse_schema
from tables.models import Table


def preview(actor: Actor, table_id: uuid.UUID, text: str | None) -> dict[str, Any]:
    """The log's answer at the newest version, as the API has it; `text` None is the whole table.

    Statistics tell of values, so it takes the right to rows. Raises Http404; Problem 403 `forbidden`, 400 `predicate_refused`, 422
    `append_only`, `not_delta`, `unreadable`.
    """
    table = after_jobs.sync(table_with_rows(actor, table_id).pk)
    snapshot = _snapshot(table)
    try:
        struct = parse_schema(snapshot.metadata.schema_json if snapshot.metadata else "")
    except SchemaError as error:
        raise _unreadable(str(error)) from None
    schema = schema_of(struct)
    try:
        node = None if text is None else parse(text, schema)
        found = predict(snapshot, struct, schema, node)
    except CommandRefused as refused:
        raise _problem(refused) from None
    return {"table": table.pk, "predicate": None if node is None else to_text(node), **found.as_json()}


def _snapshot(table: Table) -> Snapshot:
    """The live files, where they are certain: a file that is missing from the list could hold matching rows."""
    if table.missing_since is not None:
        raise Problem(422, "unreadable", "The table’s directory is gone, so nothing can be said about its rows.")
    if table.sync_error:
        raise _unreadable(table.sync_error)
    if not table.is_delta:
        raise Problem(422, "not_delta", "This is no Delta table: rows are deleted from Delta tables only.")
    snapshot = after_jobs.live_files(table)
    if snapshot is None:
        raise _unreadable("its live files aren’t known")
    if not snapshot.complete:
        raise _unreadable("a part of it is missing or corrupt")
    if needs := snapshot.understanding.needs:
        raise _unreadable(f"it needs {', '.join(needs)}, which Levee doesn’t know")
    return snapshot


def _unreadable(why: str) -> Problem:
    return Problem(422, "unreadable", f"The log can’t be read with certainty: {why.rstrip('.')}.")


def _problem(refused: CommandRefused) -> Problem:
    first = refused.refusals[0]
    if first.code != "append_only":
        return refused_predicate(refused)
    engine = first.engine.as_json() if first.engine else None
    return Problem(422, first.code, f"{first.message} {first.remedy}", engine=engine)
