"""Whether another program has changed a table's definition since a job's check, which compared it with what people approved.

The check before a run reads the log; a commit may come between it and Delta's own transaction. From there on Delta refuses: it fails a
commit that another one's metadata or protocol has overtaken (`DELTA_METADATA_CHANGED`, `DELTA_PROTOCOL_CHANGED`).
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from jobs.domain.engine import Checked
from jobs.domain.errors import CommandRefused, Refusal
from jobs.engine.commits.history import commits_after
from jobs.engine.table_v2 import loaded_table
from tables.deltalog.rules.schema import without_high_water_marks

REDEFINED = "Another program has changed the table’s schema, properties or protocol since they were checked."
REMEDY = "Look at the table as it is now, then request it again."
_NO_PART = ("option.", "location")  # of the properties: how the object was asked for


def refuse_redefined(session: SparkSession, path: str, checked: Checked) -> None:
    """Raises CommandRefused `stale` if the definition isn't that of the checked version. Newer rows and files change nothing."""
    if checked.version is not None and is_redefined(session, path, checked.version):
        raise CommandRefused(Refusal("stale", REDEFINED, remedy=REMEDY))


def is_redefined(session: SparkSession, path: str, version: int) -> bool:
    """Whether commits after a version have changed the definition. Reads nothing but their names where there are none."""
    if next(commits_after(path, version), None) is None:
        return False
    return _definition(session, path, version) != _definition(session, path, None)


def _definition(session: SparkSession, path: str, version: int | None) -> tuple[Any, ...]:
    """Id, name, schema, partitioning; and the object's properties: those of the table, its protocol, clustering and comment."""
    table = loaded_table(session, {"path": path, "version": version})
    metadata, properties = table.initialSnapshot().metadata(), dict(table.properties())
    return (
        metadata.id(),
        metadata.name(),
        without_high_water_marks(str(metadata.schemaString())),
        metadata.partitionColumns().mkString("\n"),
        sorted((name, text) for name, text in properties.items() if not name.startswith(_NO_PART)),
    )
