"""What Delta checks of a table's metadata in every commit that carries some, whatever the commit changes of it.

Source: Delta 4.4.0, `OptimisticTransaction.assertMetadata` and `IcebergCompat.enforceInvariantsAndDependencies`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from jobs.domain.delta.column_names import REMEDY, invalid_names_refusal, is_invalid
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from tables.deltalog.read.actions import Metadata, Protocol
from tables.deltalog.rules.active_features import reason_of
from tables.deltalog.rules.features import listed_features
from tables.deltalog.rules.iceberg_types import compat_version, incompatible_change, incompatible_type
from tables.deltalog.rules.property_values import UNREAD, UnreadValue, named, stopping_value, uncommitted_values
from tables.deltalog.rules.property_values import remedy as remedy_of
from tables.deltalog.rules.schema import SchemaError, Struct, parse_schema, type_text, walk
from tables.deltalog.rules.schema_faults import NO_COLUMN, TOO_PRECISE, UNKNOWN_TYPE, schema_fault
from tables.deltalog.rules.schema_limits import SchemaLimit, Use, first_limit
from tables.rules.column_statistics import LIST_REMEDY, STATS_COLUMNS, listed_fault

MAPPING_MODE = "delta.columnMapping.mode"
SCHEMA_REMEDY = "Choose a version with another schema, if the table has one."
NAMES_REMEDY = (
    "Choose a version since which the table maps its columns by name (delta.columnMapping.mode), if it has one."
)
READ_REMEDY = "Choose a version without this value, if the table has one."
LISTED_REMEDY = "Choose a version whose protocol lists them, if the table has one."
UNSUPPORTED_WIDENING = "DELTA_ICEBERG_COMPAT_VIOLATION.UNSUPPORTED_TYPE_WIDENING"
UNSUPPORTED_TYPE = "DELTA_ICEBERG_COMPAT_VIOLATION.UNSUPPORTED_DATA_TYPE"


def struct_at(version: int, metadata: Metadata) -> Struct:
    """The schema of one of a table's versions. Raises CommandRefused `unreadable`."""
    try:
        return parse_schema(metadata.schema_json)
    except SchemaError as error:
        text = f"The schema of version {version:,} can’t be read with certainty: {error}."
        raise CommandRefused(Refusal("unreadable", text, remedy="Choose a newer version.")) from None


def is_mapped(configuration: Mapping[str, str]) -> bool:
    """Whether columns are found in files by physical names or ids, so that any character may stand in a name."""
    return configuration.get(MAPPING_MODE, "none").lower() != "none"


def refuse_metadata(
    struct: Struct,
    partitions: Sequence[str],
    configuration: Mapping[str, str],
    place: str | None = None,
    names_remedy: str = REMEDY,
    values_remedy: str | None = None,
    *,
    features: Collection[str] | None = None,
) -> None:
    """Refuses a commit of this schema with these partition columns and properties as Delta does; `features` are those in force.

    Raises CommandRefused: `unreadable_property`, `bad_column_name` for names that take column mapping, `invalid` for columns to keep
    statistics of that the table lacks and for types that Iceberg's rules don't have, `unsupported_schema`.
    """
    refuse_values(uncommitted_values(configuration), place, values_remedy)
    refuse_schema(struct, Use.METADATA, place, values_remedy and SCHEMA_REMEDY, features)
    refuse_listed(struct, partitions, configuration, place, values_remedy)
    refuse_invalid_names(struct, configuration, place, names_remedy)
    failure = iceberg_failure(struct, configuration)
    if failure is not None:
        remedy = f"Set delta.enableIcebergCompatV{compat_version(configuration)} to false first, or do without it."
        raise CommandRefused(Refusal("invalid", failure.message, place, remedy, failure))


def refuse_values(found: Sequence[UnreadValue], place: str | None, remedy: str | None = None) -> None:
    """Raises CommandRefused `unreadable_property` for values of properties that Delta can't read, if there are any."""
    if found:
        fault = found[0].fault
        text = f"{UNREAD}{named(found)}, so that the change would fail."
        engine = EngineFailure(fault.condition, fault.sqlstate, fault.text)
        raise CommandRefused(
            Refusal("unreadable_property", text, place=place, remedy=remedy or remedy_of(found), engine=engine)
        )


def refuse_schema(
    struct: Struct,
    use: Use,
    place: str | None = None,
    remedy: str | None = None,
    features: Collection[str] | None = None,
) -> None:
    """Raises CommandRefused `unsupported_schema`, with Delta's condition, for a schema of which Delta can't do this."""
    limit = first_limit(struct, use, features)
    if limit is not None:
        text = f"Spark with Delta 4.4 can’t {_FAILS[use]} a table that has {limit.text}."
        engine = _failure_of(limit, use)
        raise CommandRefused(
            Refusal("unsupported_schema", text, place=place, remedy=remedy or limit.remedy, engine=engine)
        )


_FAILS = {
    Use.READ: "read the rows of",
    Use.APPEND: "append rows to",
    Use.REWRITE: "write rows again in",
    Use.METADATA: "change the schema or properties of",
}


def _failure_of(limit: SchemaLimit, use: Use) -> EngineFailure:
    return EngineFailure(*limit.conditions[use], f"The table has {limit.text}.")


def refuse_listed(
    struct: Struct, partitions: Sequence[str], configuration: Mapping[str, str], place: str | None, remedy: str | None
) -> None:
    """Raises CommandRefused `invalid` for columns to keep statistics of that Delta can't keep any of."""
    fault = listed_fault(struct, partitions, configuration.get(STATS_COLUMNS, ""))
    if fault is not None:
        text = f"{STATS_COLUMNS} doesn’t fit the table, so that the change would fail: {fault.text}"
        engine = EngineFailure(fault.condition, fault.sqlstate, fault.text)
        raise CommandRefused(Refusal("invalid", text, place=place, remedy=remedy or LIST_REMEDY, engine=engine))


def refuse_unopenable_version(
    version: int, protocol: Protocol | None, configuration: Mapping[str, str], struct: Struct | None
) -> None:
    """Raises CommandRefused `stops_spark` for an older version that Delta doesn't open: for a property's value, a type that Spark
    doesn't know, or features that its protocol lacks."""
    if protocol is None:
        return
    opens = f"Spark with Delta 4.4 can’t open version {version:,}"
    if value := stopping_value(protocol, configuration):
        failure = EngineFailure(value.fault.condition, value.fault.sqlstate, value.fault.text)
        raise CommandRefused(Refusal("stops_spark", f"{opens}: {UNREAD}{value}.", remedy=READ_REMEDY, engine=failure))
    if struct is not None and (reason := schema_fault(struct, ())):
        fault = failure_of_schema(reason)
        raise CommandRefused(Refusal("stops_spark", f"{opens}: {reason}.", remedy=READ_REMEDY, engine=fault))
    if reason := reason_of(protocol, configuration, struct):
        failure = EngineFailure("DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH", "KD004", reason)
        raise CommandRefused(Refusal("stops_spark", f"{opens}: {reason}.", remedy=LISTED_REMEDY, engine=failure))


def refuse_older_metadata(
    version: int,
    protocols: tuple[Protocol | None, Protocol | None],
    configuration: Mapping[str, str],
    struct: Struct,
    partitions: Sequence[str],
    place: str,
) -> None:
    """Refuses a restore to a version as Delta does for its metadata, which it commits anew, under the features of both versions.

    `protocols` are today's and the version's. Raises CommandRefused as `refuse_unopenable_version` and `refuse_metadata` do.
    """
    refuse_unopenable_version(version, protocols[1], configuration, struct)
    features = [name for protocol in protocols if protocol is not None for name in listed_features(protocol)]
    refuse_metadata(struct, partitions, configuration, place, NAMES_REMEDY, READ_REMEDY, features=features)


def failure_of_schema(reason: str) -> EngineFailure | None:
    """How Spark fails over a schema, by what `schema_fault` says of it; None for other reasons."""
    conditions = {
        UNKNOWN_TYPE: ("INVALID_JSON_DATA_TYPE", "2203G"),
        TOO_PRECISE: ("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", "22003"),
        NO_COLUMN: ("FIELD_NOT_FOUND", "42704"),
    }
    found = next((each for prefix, each in conditions.items() if reason.startswith(prefix)), None)
    return None if found is None else EngineFailure(*found, reason)


def refuse_invalid_names(
    struct: Struct, configuration: Mapping[str, str], place: str | None = None, remedy: str = REMEDY
) -> None:
    """Raises CommandRefused `bad_column_name` if a commit of this schema and these properties would be refused for a column's name."""
    if is_mapped(configuration):
        return
    names = [".".join(path) for path, column in walk(struct) if is_invalid(column.name)]
    if names:
        raise CommandRefused(invalid_names_refusal(names, place, remedy))


def iceberg_failure(struct: Struct, configuration: Mapping[str, str]) -> EngineFailure | None:
    """Delta's refusal of a type, or of a change of one, that the table's version of Iceberg's rules doesn't have."""
    version = compat_version(configuration)
    if version is None:
        return None
    name = f"IcebergCompatV{version}"
    failed = f"The validation of {name} has failed. {name}"
    if (kind := incompatible_type(struct, version)) is not None:
        text = f"{failed} does not support the data type {type_text(kind)} in your schema."
        return EngineFailure(UNSUPPORTED_TYPE, "KD00E", text)
    if (change := incompatible_change(struct)) is not None:
        path, old, new = change
        text = f"{failed} is incompatible with a type change applied to this table: Field {path} was changed from {old} to {new}."
        return EngineFailure(UNSUPPORTED_WIDENING, "KD00E", text)
    return None
