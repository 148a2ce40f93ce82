"""The live DeltaTableV2: Delta's own object for a table, with every member as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from console.base.text.masking import masked_json, masked_properties
from jobs.domain.errors import CommandRefused, EngineFailed, EngineFailure, Refusal
from jobs.engine.catalog import name_parts, register_delta
from jobs.engine.directory import kept
from jobs.engine.errors import as_failure
from jobs.engine.inside import refuse_redirect

DELTA_CLASS = "org.apache.spark.sql.delta.catalog.DeltaTableV2"
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
TWO_TRAVELS = "Please either provide 'timestampAsOf' or 'versionAsOf' for time travel."
# Options of a change feed read, by the names that questions use.
FEED_OPTIONS = {
    "starting_version": "startingVersion",
    "ending_version": "endingVersion",
    "starting_timestamp": "startingTimestamp",
    "ending_timestamp": "endingTimestamp",
}
QUESTION = frozenset(
    ["path", "name", "version", "timestamp", "at", "by", "partition", "read_change_feed", *FEED_OPTIONS]
)


def read_table(session: SparkSession, question: Mapping[str, Any]) -> dict[str, Any]:
    """Answers a `deltatable` read.

    `question`: `path`, `name` or both (by name unless `by` is "path"; both register the name in the embedded catalog), and at
    most one of `version` (a number), `timestamp` (ISO 8601, UTC unless it has an offset), `at` (`@v3`, `@yyyyMMddHHmmssSSS`).
    `partition` (`p=1`) names a directory below the table; it and `at` need a path. `read_change_feed` with
    `starting_version`… returns the change feed's schema. Raises CommandRefused: `not_delta` for a path without a table,
    `outside_roots` for one that leads elsewhere. Delta's own refusals pass through.
    """
    refuse_unknown(question, QUESTION)
    path = str(question.get("path") or "")
    if not path:
        return _read_table(session, question)
    with kept(path, only_log=True):
        return _read_table(session, question)


def _read_table(session: SparkSession, question: Mapping[str, Any]) -> dict[str, Any]:
    table = loaded_table(session, question)
    if path := str(question.get("path") or ""):
        # A redirect in the table's properties, or an external metastore, may point to another directory than the permitted one.
        refuse_redirect(table.deltaLog().dataPath(), path)
    filters = _partition_filters(table, str(question.get("partition") or ""))
    members: dict[str, Any] = masked_json(_members(table) | {"partition_filters": filters})
    return members


def _partition_filters(table: Any, partition: str) -> list[dict[str, str | None]]:
    """The filters that Delta derives from a directory below the table: `[{column, value}]`, None for Hive's default partition.

    Raises CommandRefused, with Delta's own message, for a column that isn't a partition column. Delta itself would report it only
    when it reads rows.
    """
    if not partition:
        return []
    columns = table.initialSnapshot().metadata().partitionColumns()
    known = {columns.apply(position).lower(): columns.apply(position) for position in range(columns.size())}
    pairs = [part.partition("=")[::2] for part in partition.split("/")]
    filters = [(unquote(column), None if value == NO_VALUE else unquote(value)) for column, value in pairs]
    if unknown := [column for column, _ in filters if column.lower() not in known]:
        raise CommandRefused(_no_partition(unknown, partition))
    return [{"column": known[column.lower()], "value": value} for column, value in filters]


def _no_partition(columns: Sequence[str], partition: str) -> Refusal:
    named = ", ".join(f"`{column}`" for column in columns)
    text = (
        f"Non-partitioning column(s) [{named}] are specified where only partitioning columns are expected: {partition}."
    )
    failure = EngineFailure("DELTA_NON_PARTITION_COLUMN_SPECIFIED", "42P10", text)
    return Refusal("no_such_column", text, place=columns[0], engine=failure)


def refuse_unknown(question: Mapping[str, Any], known: frozenset[str]) -> None:
    """Raises CommandRefused `bad_request` for a part of a question that Levee would ignore."""
    unknown = set(question) - known
    if unknown:
        raise CommandRefused(Refusal("bad_request", f"unknown part of the question: {', '.join(sorted(unknown))}"))


def loaded_table(session: SparkSession, question: Mapping[str, Any]) -> Any:
    """Delta's own object of the question's table, at its version and with its change feed options.

    Reads nothing of the log yet. Raises CommandRefused (`not_delta`, `bad_request`); Delta's own refusals pass through.
    """
    _refuse_path_with_name(question)
    _refuse_two_travels(question)
    table = _loaded(session, question)
    place, loaded_as = str(question.get("name") or question.get("path")), table.getClass().getName()
    if loaded_as != DELTA_CLASS:
        # With spark.databricks.delta.v2.enableMode=STRICT a Delta table is of another class too.
        raise CommandRefused(_no_table(place, f"{place} isn't a DeltaTableV2: Spark loads it as {loaded_as}."))
    if not table.tableExists():
        raise CommandRefused(_no_table(place))
    options = _feed_options(question)
    return table.withOptions(_scala_map(session, options)) if options else table


def _loaded(session: SparkSession, question: Mapping[str, Any]) -> Any:
    namespace, name = _identifier(question)
    if namespace != ["delta"] and question.get("path"):
        register_delta(session, str(question["name"]), str(question["path"]))
    jvm: Any = session._jvm
    gateway: Any = session.sparkContext._gateway
    parts = gateway.new_array(jvm.java.lang.String, len(namespace))
    for position, part in enumerate(namespace):
        parts[position] = part
    identifier = jvm.org.apache.spark.sql.connector.catalog.Identifier.of(parts, name)
    catalog = session._jsparkSession.sessionState().catalogManager().v2SessionCatalog()
    return catalog.loadTable(identifier, *_travel(question))


def _refuse_path_with_name(question: Mapping[str, Any]) -> None:
    """Refuses `at` and `partition` with a name: Delta would load the name without them, at another version."""
    for part in ("at", "partition"):
        if question.get(part) and _is_by_name(question):
            text = f"{part} needs a path: set `by` to path"
            raise CommandRefused(Refusal("bad_request", text, place=part))


def _is_by_name(question: Mapping[str, Any]) -> bool:
    return bool(question.get("name")) and question.get("by") != "path"


def _identifier(question: Mapping[str, Any]) -> tuple[list[str], str]:
    if _is_by_name(question):
        *namespace, last = name_parts(str(question["name"]))
        return namespace, last
    path = str(question["path"])
    if partition := question.get("partition"):
        path = f"{path}/{partition}"
    return ["delta"], path + str(question.get("at") or "")


def _travel(question: Mapping[str, Any]) -> list[Any]:
    if question.get("version") is not None:
        return [str(int(question["version"]))]
    if question.get("timestamp") is not None:
        # py4j sends a Python int beyond 32 bits as a Java long; every time since 1970-01-01 00:36 is one.
        return [microseconds(str(question["timestamp"]))]
    return []


def microseconds(timestamp: str) -> int:
    """Microseconds since the epoch of an ISO 8601 time, UTC unless it has an offset. Raises CommandRefused."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError as error:
        raise CommandRefused(
            Refusal("bad_request", f"{timestamp!r} isn't an ISO 8601 time", place="timestamp")
        ) from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _refuse_two_travels(question: Mapping[str, Any]) -> None:
    """Refuses a version together with a timestamp, as Delta's reader would: loadTable can't take both."""
    if question.get("version") is not None and question.get("timestamp") is not None:
        raise EngineFailed(EngineFailure("DELTA_ONEOF_IN_TIMETRAVEL", "42601", TWO_TRAVELS))


def _feed_options(question: Mapping[str, Any]) -> dict[str, str]:
    if not question.get("read_change_feed"):
        return {}
    given = {name: question[key] for key, name in FEED_OPTIONS.items() if question.get(key) is not None}
    return {"readChangeFeed": "true", **{name: str(value) for name, value in given.items()}}


def _no_table(place: str, why: str = "") -> Refusal:
    text = f"{place} is not a Delta table."
    return Refusal(
        "not_delta", why or text, place=place, engine=EngineFailure("DELTA_MISSING_DELTA_TABLE", "42P01", text)
    )


def _members(table: Any) -> dict[str, Any]:
    """Every member. Those that resolve time travel come first, so that its errors come first."""
    spec = _option(table.timeTravelSpec())
    return {
        "version": table.initialSnapshot().version(),
        "name": table.name(),
        "path": table.path().toString(),
        "root_path": table.deltaLog().dataPath().toString(),
        "table_identifier": _option(table.tableIdentifier()),
        "catalog_table": _catalog_table(_option(table.catalogTable())),
        "time_travel_opt": _travel_spec(_option(table.timeTravelOpt())),
        "time_travel_by_path": _travel_spec(_option(table.timeTravelByPath())),
        "time_travel_spec": _travel_spec(spec),
        "options": masked_properties(_scala_dict(table.options())),
        "schema": json.loads(table.schema().json()),
        "partitioning": [transform.describe() for transform in table.partitioning()],
        "properties": masked_properties(dict(table.properties())),
        "capabilities": sorted(capability.toString() for capability in table.capabilities()),
        "v1_table": _v1_table(table),
        "read_at": datetime.now(UTC).isoformat(),
    }


def _v1_table(table: Any) -> dict[str, Any]:
    """The CatalogTable of a named table; for a path, Delta's refusal as the value."""
    try:
        known = _catalog_table(table.v1Table())
    except Py4JJavaError as error:
        return {"error": {"engine": as_failure(error).as_json()}}
    return known or {}


def _catalog_table(known: Any) -> dict[str, Any] | None:
    if known is None:
        return None
    storage = known.storage()
    location = _option(storage.locationUri())
    columns = known.partitionColumnNames()
    return {
        "identifier": known.identifier().unquotedString(),
        "type": known.tableType().name(),
        "provider": _option(known.provider()),
        "location": location.toString() if location is not None else None,
        "owner": known.owner(),
        "comment": _option(known.comment()),
        "created_at": datetime.fromtimestamp(known.createTime() / 1000, UTC).isoformat(),
        "schema": json.loads(known.schema().json()),
        "partition_columns": [columns.apply(position) for position in range(columns.size())],
        "properties": masked_properties(_scala_dict(known.properties())),
        "has_statistics": bool(known.stats().isDefined()),
        "storage_properties": masked_properties(_scala_dict(storage.properties())),
    }


def _travel_spec(spec: Any) -> dict[str, Any] | None:
    if spec is None:
        return None
    timestamp = _option(spec.timestamp())
    version = _option(spec.version())
    return {
        "version": int(version) if version is not None else None,
        "timestamp": timestamp.sql() if timestamp is not None else None,
        "source": _option(spec.creationSource()),
    }


def _option(option: Any) -> Any:
    return None if option.isEmpty() else option.get()


def _scala_dict(values: Any) -> dict[str, str]:
    pairs = values.toSeq()
    return {pairs.apply(at)._1(): pairs.apply(at)._2() for at in range(pairs.size())}


def _scala_map(session: SparkSession, values: Mapping[str, str]) -> Any:
    jvm: Any = session._jvm
    return jvm.PythonUtils.toScalaMap(dict(values))
