"""Names in Spark's own catalog. The embedded one lives in the JVM's memory: Levee's database knows the names and fills it here.

With an outside catalog (`spark.sql.catalogImplementation=hive`) the names are there already and nothing is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.partitions import PartitionField
from jobs.engine.quoting import literal, quoted, quoted_name
from jobs.engine.survey import is_table

# Spark's in-memory and Hive catalogs take no other names for databases and tables.
GLOB = "*?[]{}\\"
NAME = re.compile(r"[A-Za-z0-9_]+")
IMPLEMENTATION = "spark.sql.catalogImplementation"


def name_parts(name: str) -> tuple[str, ...]:
    """(database, table) of `db.table` or `table`. Raises CommandRefused for anything else."""
    parts = tuple(name.split("."))
    if len(parts) == 3 and parts[0].lower() == "spark_catalog":
        parts = parts[1:]
    if len(parts) > 2 or not all(NAME.fullmatch(part) for part in parts):
        raise CommandRefused(Refusal("bad_request", f"{name!r} is no name of the form database.table", place="name"))
    return parts if len(parts) == 2 else ("default", *parts)


def register_delta(session: SparkSession, name: str, path: str) -> None:
    """Makes the embedded catalog know the Delta table at `path` by `name`. Raises CommandRefused (`not_delta`) without a table.

    Spark would create an empty table where none is, so the log is looked at first.
    """
    if not _is_embedded(session) or _known(session, name) == (path, "delta"):
        return
    if not is_table(path):
        raise CommandRefused(Refusal("not_delta", f"{path} is not a Delta table.", place=path))
    _replace(session, name, f"USING delta LOCATION {literal(path)}")


def register_parquet(
    session: SparkSession, name: str, path: str, schema: Mapping[str, Any], partitions: Sequence[PartitionField]
) -> None:
    """Makes the embedded catalog know the parquet directory at `path` by `name`, with every partition it has.

    `schema` is Spark's JSON struct of the files. CONVERT by name takes registered partitions alone.
    """
    if not _is_embedded(session):
        return
    if any(char in path for char in GLOB):
        text = f"{path} holds one of {GLOB}, which Spark reads as a pattern in a named table's place"
        raise CommandRefused(Refusal("bad_request", text, place=path, remedy="Convert it by its path."))
    jvm: Any = session._jvm
    columns = jvm.org.apache.spark.sql.types.DataType.fromJson(json.dumps(schema)).toDDL()
    typed = ", ".join([columns, *(field.ddl() for field in partitions)])
    by = f"PARTITIONED BY ({', '.join(quoted(field.name) for field in partitions)})" if partitions else ""
    _replace(session, name, f"({typed}) USING parquet {by} LOCATION {literal(path)}")
    if partitions:
        session.catalog.recoverPartitions(quoted_name(name_parts(name)))


def _is_embedded(session: SparkSession) -> bool:
    return str(session.conf.get(IMPLEMENTATION)) == "in-memory"


def _known(session: SparkSession, name: str) -> tuple[str, str] | None:
    """(location, provider) of an entry of the embedded catalog."""
    identifier = _identifier(session, name)
    catalog: Any = session._jsparkSession.sessionState().catalog()
    if not catalog.tableExists(identifier):
        return None
    table = catalog.getTableMetadata(identifier)
    provider = table.provider()
    return table.location().getPath(), provider.get() if provider.isDefined() else ""


def _replace(session: SparkSession, name: str, definition: str) -> None:
    """Replaces the entry; the data is external, so that dropping an entry never touches files."""
    database, table = name_parts(name)
    target = quoted_name((database, table))
    session.sql(f"CREATE DATABASE IF NOT EXISTS {quoted(database)}")
    session.sql(f"DROP TABLE IF EXISTS {target}")
    session.sql(f"CREATE TABLE {target} {definition}")


def _identifier(session: SparkSession, name: str) -> Any:
    jvm: Any = session._jvm
    database, table = name_parts(name)
    return jvm.org.apache.spark.sql.catalyst.TableIdentifier(table, jvm.scala.Option.apply(database))
