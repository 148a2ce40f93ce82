"""Table names in Spark's catalog. The embedded one is in the JVM's memory: this module fills it with the names in Levee's database.

An external catalog (`spark.sql.catalogImplementation=hive`) has its own names, and Levee writes nothing to it.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.partitions import PartitionField
from jobs.engine.quoting import literal, quoted, quoted_name
from jobs.engine.survey import is_table

# All sessions of a JVM share its entries: threads replace them one at a time.
REPLACING = threading.RLock()
# Spark's in-memory and Hive catalogs accept no other names for databases and tables.
GLOB = "*?[]{}\\"
NAME = re.compile(r"[A-Za-z0-9_]+")
IMPLEMENTATION = "spark.sql.catalogImplementation"


def name_parts(name: str) -> tuple[str, ...]:
    """(database, table) of `db.table` or `table`, in Spark's own lower case. Raises CommandRefused for anything else.

    The same rule as in tables.rules.catalog_names, which the engine can't import.
    """
    parts = tuple(name.split("."))
    if len(parts) == 3 and parts[0].lower() == "spark_catalog":
        parts = parts[1:]
    if len(parts) > 2 or not all(NAME.fullmatch(part) for part in parts):
        raise CommandRefused(Refusal("bad_request", f"{name!r} isn't a name of the form database.table", place="name"))
    database, table = ("default", *parts)[-2:]
    return database.lower(), table.lower()


def register_delta(session: SparkSession, name: str, path: str) -> None:
    """Registers the Delta table at `path` as `name` in the embedded catalog. Raises CommandRefused (`not_delta`) without a table.

    It checks the log first, since Spark would create an empty table where there is none. It replaces an entry that still says
    parquet or has another path, and leaves a correct one alone, since other sessions may be using it.
    """
    if not is_embedded(session):
        return
    with REPLACING:
        if _known(session, name) == (path, "delta"):
            return
        if not is_table(path):
            raise CommandRefused(Refusal("not_delta", f"{path} is not a Delta table.", place=path))
        _replace(session, name, f"USING delta LOCATION {literal(path)}")


def register_parquet(
    session: SparkSession, name: str, path: str, schema: Mapping[str, Any], partitions: Sequence[PartitionField]
) -> None:
    """Registers the parquet directory at `path` as `name` in the embedded catalog, with all of its partitions.

    `schema` is Spark's JSON struct of the data columns; `partitions` come after them. CONVERT by name only takes registered
    partitions.
    """
    if not is_embedded(session):
        return
    if any(char in path for char in GLOB):
        text = f"{path} contains one of {GLOB}, which Spark treats as a glob in a named table's location"
        raise CommandRefused(Refusal("bad_request", text, place=path, remedy="Convert it by its path."))
    jvm: Any = session._jvm
    columns = jvm.org.apache.spark.sql.types.DataType.fromJson(json.dumps(plain_type(schema))).toDDL()
    typed = ", ".join([*([columns] if columns else []), *(field.ddl() for field in partitions)])
    by = f"PARTITIONED BY ({', '.join(quoted(field.name) for field in partitions)})" if partitions else ""
    with REPLACING:
        _replace(session, name, f"({typed}) USING parquet {by} LOCATION {literal(path)}")
        if partitions:
            session.catalog.recoverPartitions(quoted_name(name_parts(name)))


def plain_type(kind: Any) -> Any:
    """A type in Spark's JSON with everything nullable and no metadata but comments.

    A file's own schema may have more, such as a default whose expression Spark would print into the statement.
    """
    if not isinstance(kind, Mapping):
        return kind
    if kind["type"] == "struct":
        return {"type": "struct", "fields": [_plain_field(field) for field in kind["fields"]]}
    if kind["type"] == "array":
        return {"type": "array", "elementType": plain_type(kind["elementType"]), "containsNull": True}
    if kind["type"] == "map":
        key, held = plain_type(kind["keyType"]), plain_type(kind["valueType"])
        return {"type": "map", "keyType": key, "valueType": held, "valueContainsNull": True}
    return plain_type(kind["sqlType"])  # a user-defined type is stored as this one


def _plain_field(field: Mapping[str, Any]) -> dict[str, Any]:
    comment = (field.get("metadata") or {}).get("comment")
    metadata = {"comment": comment} if isinstance(comment, str) else {}
    return {"name": field["name"], "type": plain_type(field["type"]), "nullable": True, "metadata": metadata}


def declared(session: SparkSession, name: str) -> tuple[dict[str, Any], list[str]] | None:
    """(schema, partition columns) that an external catalog's metastore declares for a name.

    None in the embedded catalog, and for a Delta table. Raises Spark's error for a name that the metastore lacks.
    """
    if is_embedded(session):
        return None
    table = _metadata(session, name)
    if _provider(table) == "delta":
        return None
    columns = table.partitionColumnNames()
    return json.loads(table.schema().json()), [columns.apply(position) for position in range(columns.size())]


def is_stale(session: SparkSession, name: str) -> bool:
    """Whether an external catalog doesn't list the table as a Delta table yet; CONVERT by name repairs that."""
    return not is_embedded(session) and _provider(_metadata(session, name)) != "delta"


def is_embedded(session: SparkSession) -> bool:
    """Whether the catalog is in this JVM's memory, so that Levee registers the names."""
    return str(session.conf.get(IMPLEMENTATION)) == "in-memory"


def _known(session: SparkSession, name: str) -> tuple[str, str] | None:
    """(location, provider) of an entry of the embedded catalog."""
    catalog: Any = session._jsparkSession.sessionState().catalog()
    if not catalog.tableExists(_identifier(session, name)):
        return None
    table = _metadata(session, name)
    return location_text(table.location()), _provider(table)


def _metadata(session: SparkSession, name: str) -> Any:
    """Spark's CatalogTable."""
    catalog: Any = session._jsparkSession.sessionState().catalog()
    return catalog.getTableMetadata(_identifier(session, name))


def _provider(table: Any) -> str:
    provider = table.provider()
    return str(provider.get()).lower() if provider.isDefined() else ""


def location_text(uri: Any) -> str:
    """A location in Levee's form: a path, or scheme, authority and path."""
    if uri.getScheme() in (None, "file"):
        return str(uri.getPath())
    return f"{uri.getScheme()}://{uri.getAuthority()}{uri.getPath()}"


def _replace(session: SparkSession, name: str, definition: str) -> None:
    """Replaces the entry. The tables are external, so dropping an entry never touches files."""
    database, table = name_parts(name)
    target = quoted_name((database, table))
    session.sql(f"CREATE DATABASE IF NOT EXISTS {quoted(database)}")
    session.sql(f"DROP TABLE IF EXISTS {target}")
    session.sql(f"CREATE TABLE {target} {definition}")


def _identifier(session: SparkSession, name: str) -> Any:
    jvm: Any = session._jvm
    database, table = name_parts(name)
    return jvm.org.apache.spark.sql.catalyst.TableIdentifier(table, jvm.scala.Option.apply(database))
