"""Delta tables for tests of delete and restore, commands upon them, and their rows read by another engine than Spark."""

from collections.abc import Mapping
from pathlib import Path

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from jobs.commands.delete.rules import Delete
from jobs.commands.restore.rules import Restore
from jobs.domain.predicates.stored import to_json
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema

VECTORS = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
NAMES = {"delta.columnMapping.mode": "name"}


def make(session: SparkSession, path: Path, properties: Mapping[str, str] | None = None, *, files: int = 4) -> Path:
    """Rows 0 to 39 with a text, in partitions p=0 and p=1 of `files` files each; rows of a file lie close together."""
    rows = session.range(0, 40, 1, files).selectExpr("id", "concat('r', id) AS name", "cast(id % 2 AS int) AS p")
    rows.write.format("delta").partitionBy("p").options(**(properties or {})).save(str(path))
    return path


def deletion(path: Path, predicate: str | None) -> Delete:
    """The command, with the tree of the text as the web process stores it."""
    if predicate is None:
        return Delete("t", None, str(path))
    metadata = open_log(str(path)).snapshot(None, path.parent / "files.arrow").metadata
    assert metadata
    return Delete("t", predicate, str(path), to_json(parse(predicate, schema_of(parse_schema(metadata.schema_json)))))


def restoration(path: Path, version: int) -> Restore:
    return Restore("t", version, str(path))


def ids(path: Path, **travel: int) -> list[int]:
    """The ids of a table as delta-rs reads them."""
    table = DeltaTable(str(path), **travel)
    return sorted(table.to_pyarrow_dataset().to_table(columns=["id"]).column("id").to_pylist())
