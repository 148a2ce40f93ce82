"""What a table was where the history that Levee has of it begins.

A log is cleaned behind its checkpoints, so that Levee often meets a table whose first commits are gone, or comes back to one after
the commits in between have left. What the table was then is in the oldest checkpoint that follows: it is kept as a row.
"""

from __future__ import annotations

from console.base.text.masking import masked
from tables.deltalog.replay.log import DeltaLog
from tables.deltalog.state.snapshot import Snapshot
from tables.models import Baseline, Commit, Table
from tables.record import commit_rows

TRIED = 3  # checkpoints that are read before Levee gives up


def keep(table: Table, log: DeltaLog, known: int, first_stored: int | None = None) -> bool:
    """Keeps what the table was where its history doesn't follow on what is known: after version `known`, -1 for none at all.

    `first_stored` is the first version that this sync has written: nobody need ask whether it is there.
    What is kept already is left. False where no checkpoint tells it: the next sync tries again. Raises StorageError.
    """
    if table.version is None:
        return False
    starts = [start for start in {0, known + 1} if start <= table.version]
    told = [start == first_stored or _is_told(table, start) or _keep_from(table, log, start) for start in starts]
    return all(told)


def _is_told(table: Table, start: int) -> bool:
    here = {"table": table, "incarnation": table.incarnation}
    return (
        Commit.objects.filter(version=start, **here).exists()
        or Baseline.objects.filter(unknown_from=start, **here).exists()
    )


def _keep_from(table: Table, log: DeltaLog, start: int) -> bool:
    """Whether a checkpoint tells what the table was."""
    later = [point.version for point in log.listing().checkpoints if point.version >= start]
    for version in sorted(set(later))[:TRIED]:
        snapshot = log.snapshot(version)
        if snapshot.complete and snapshot.metadata is not None:
            _baseline(table, snapshot, start).save(force_insert=True)
            return True
    return False


def _baseline(table: Table, snapshot: Snapshot, start: int) -> Baseline:
    """The row, unsaved; a new schema is saved at once."""
    metadata = snapshot.metadata
    schema, _ = commit_rows.schema_of(metadata)
    if schema is not None:
        commit_rows.ensure_schemas([schema])
    return Baseline(
        table=table,
        incarnation=table.incarnation,
        unknown_from=start,
        version=snapshot.version,
        schema=schema,
        partition_columns=[commit_rows.text(column) for column in metadata.partition_columns] if metadata else [],
        properties=commit_rows.texts(masked(metadata.configuration)) if metadata else {},
        protocol=commit_rows.protocol_json(snapshot.protocol),
    )
