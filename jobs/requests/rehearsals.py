"""Whether a command can be rehearsed: run for real on a private clone of its table before people decide about it."""

from __future__ import annotations

import uuid

from console.base.env import Env
from console.base.errors import Problem
from jobs.commands.registry import is_rehearsable
from jobs.domain.errors import CommandRefused
from jobs.targets.metadata import refuse_metadata
from tables.models import Table
from tables.record.commit_rows import tree_of

CLUSTER = (
    "Levee’s Spark runs on a cluster, whose executors don’t see the private place on this host where a rehearsal’s clone lies. Request it"
    " without a rehearsal."
)


def possible(kind: str) -> bool:
    """Whether a request of this command may ask for a rehearsal here."""
    return is_rehearsable(kind) and not _on_cluster()


def require(kind: str) -> None:
    """Raises Problem 400 for a command that is never rehearsed, 422 `rehearsal` where none can be."""
    if not is_rehearsable(kind):
        text = f"A {kind} can’t be rehearsed. Nothing was requested."
        raise Problem(400, "invalid", text, fields={"rehearse": text})
    if _on_cluster():
        raise Problem(422, "rehearsal", CLUSTER)


def require_clonable(table_id: uuid.UUID) -> None:
    """Raises Problem 422 `rehearsal` for a table of which Delta makes no clone, as the catalog has it."""
    table = Table.objects.select_related("schema").get(pk=table_id)
    struct = tree_of(table.schema)
    try:
        if struct is not None:
            refuse_metadata(struct, table.partition_columns, table.configuration)
    except CommandRefused as refused:
        why = refused.refusals[0].message
        text = f"A rehearsal runs on a clone of the table, and Delta makes none. {why} Request it without a rehearsal."
        raise Problem(422, "rehearsal", text) from None


def _on_cluster() -> bool:
    master = Env.read().spark_master
    return master is not None and not master.startswith("local")
