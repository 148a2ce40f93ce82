"""What values Delta takes for its table properties, in the words in which it refuses others, and what belongs together.

Source: Delta 4.4.0, `DeltaConfig.scala`. Delta gives no condition for a value of the wrong type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tables.deltalog.rules.retention import parse_interval, read_interval


class ValueKind(StrEnum):
    """The type of a property's value."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    INTERVAL = "interval"
    CHOICE = "choice"
    FORMATS = "formats"
    COLUMNS = "columns"
    VERSION = "version"
    KEPT = "kept"  # by Delta: nobody sets it by hand


class PropertyGroup(StrEnum):
    """What a property is about, as a page heads its list."""

    FEATURES = "Features"
    RETENTION = "Retention"
    LOG = "Checkpoints"
    WRITES = "Writes and statistics"
    FORMATS = "Other formats"
    PROTOCOL = "Protocol"
    KEPT = "Kept by Delta"


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of one property. `least` bounds an integer, `help_text` is Delta's own for a wrong value; `read_by` says who reads it;
    `feature` is the table feature that the value in `switched_on` asks for."""

    kind: ValueKind
    group: PropertyGroup
    read_by: str
    choices: tuple[str, ...] = ()
    least: int | None = None
    help_text: str = ""
    feature: str | None = None
    switched_on: tuple[str, ...] = ("true",)


@dataclass(frozen=True, slots=True)
class ValueFault:
    """Why a value is refused: in Delta's words and with its condition, where it has one."""

    text: str
    condition: str | None = None
    sqlstate: str | None = None
    remedy: str | None = None


_WRITERS, _READERS, _VACUUM = "writers", "readers and writers", "VACUUM and time travel"
_INTERVAL = (
    "needs to be provided as a calendar interval such as '2 weeks'. Months and years are not accepted. You may specify '365 days' for"
    " a year instead."
)


def _flag(group: PropertyGroup, read_by: str = _WRITERS, feature: str | None = None) -> ValueType:
    return ValueType(ValueKind.BOOLEAN, group, read_by, ("true", "false"), feature=feature)


def _number(least: int, help_text: str, group: PropertyGroup = PropertyGroup.WRITES) -> ValueType:
    return ValueType(ValueKind.INTEGER, group, _WRITERS, least=least, help_text=help_text)


def _interval(read_by: str, group: PropertyGroup = PropertyGroup.RETENTION) -> ValueType:
    return ValueType(ValueKind.INTERVAL, group, read_by, help_text=_INTERVAL)


def _kept(read_by: str = "Delta") -> ValueType:
    return ValueType(ValueKind.KEPT, PropertyGroup.KEPT, read_by)


_TYPES: dict[str, ValueType] = {
    "appendOnly": _flag(PropertyGroup.FEATURES, feature="appendOnly"),
    "autoOptimize": _flag(PropertyGroup.WRITES),
    "autoOptimize.autoCompact": ValueType(
        ValueKind.CHOICE, PropertyGroup.WRITES, _WRITERS, ("true", "false"), help_text='"needs to be one of: true,false"'
    ),
    "autoOptimize.optimizeWrite": _flag(PropertyGroup.WRITES),
    "castIcebergTimeType": _flag(PropertyGroup.FORMATS, "CONVERT and CLONE"),
    "checkpointInterval": _number(1, "needs to be a positive integer.", PropertyGroup.LOG),
    "checkpointPolicy": ValueType(
        ValueKind.CHOICE, PropertyGroup.LOG, _READERS, ("classic", "v2"), feature="v2Checkpoint", switched_on=("v2",)
    ),
    "checkpointRetentionDuration": _interval("log cleanup", PropertyGroup.LOG),
    "checkpoint.writeStatsAsJson": _flag(PropertyGroup.LOG),
    "checkpoint.writeStatsAsStruct": _flag(PropertyGroup.LOG),
    "columnMapping.mode": ValueType(
        ValueKind.CHOICE, PropertyGroup.FEATURES, _READERS, ("none", "name", "id"), feature="columnMapping", switched_on=("name", "id")
    ),
    "columnMapping.maxColumnId": _kept(),
    "compatibility.symlinkFormatManifest.enabled": _flag(PropertyGroup.FORMATS),
    "coordinatedCommits.commitCoordinator-preview": _kept("the commit coordinator"),
    "coordinatedCommits.commitCoordinatorConf-preview": _kept("the commit coordinator"),
    "coordinatedCommits.tableConf-preview": _kept("the commit coordinator"),
    "dataSkippingNumIndexedCols": _number(-1, "needs to be larger than or equal to -1."),
    "dataSkippingStatsColumns": ValueType(ValueKind.COLUMNS, PropertyGroup.WRITES, _WRITERS),
    "dataSkippingStringPrefixLength": _number(0, "needs to be greater or equal to zero."),
    "deletedFileRetentionDuration": _interval(_VACUUM),
    "dropFeatureTruncateHistory.retentionDuration": _interval("DROP FEATURE"),
    "enableChangeDataCapture": ValueType(ValueKind.KEPT, PropertyGroup.KEPT, _READERS, feature="changeDataFeed"),
    "enableChangeDataFeed": _flag(PropertyGroup.FEATURES, feature="changeDataFeed"),
    "enableDeletionVectors": _flag(PropertyGroup.FEATURES, feature="deletionVectors"),
    "enableExpiredLogCleanup": _flag(PropertyGroup.RETENTION, "log cleanup"),
    "enableFullRetentionRollback": _flag(PropertyGroup.RETENTION, "log cleanup"),
    "enableIcebergCompatV1": _flag(PropertyGroup.FORMATS, feature="icebergCompatV1"),
    "enableIcebergCompatV2": _flag(PropertyGroup.FORMATS, feature="icebergCompatV2"),
    "enableIcebergCompatV3": _flag(PropertyGroup.FORMATS, feature="icebergCompatV3"),
    "enableInCommitTimestamps": _flag(PropertyGroup.FEATURES, feature="inCommitTimestamp"),
    "enableMaterializePartitionColumnsFeature": _flag(PropertyGroup.FEATURES, feature="materializePartitionColumns"),
    "enableRowTracking": _flag(PropertyGroup.FEATURES, feature="rowTracking"),
    "enableTypeWidening": _flag(PropertyGroup.FEATURES, _READERS, feature="typeWidening"),
    "enableVariantShredding": _flag(PropertyGroup.FEATURES, _READERS, feature="variantShredding-preview"),
    "ignoreIcebergBucketPartition": _flag(PropertyGroup.FORMATS, "CONVERT and CLONE"),
    "ignoreProtocolDefaults": _kept("CREATE TABLE"),
    "inCommitTimestampEnablementTimestamp": _kept(),
    "inCommitTimestampEnablementVersion": _kept(),
    "isolationLevel": ValueType(
        ValueKind.CHOICE, PropertyGroup.WRITES, _WRITERS, ("Serializable",), help_text="must be Serializable"
    ),
    "logRetentionDuration": _interval("log cleanup"),
    "minReaderVersion": ValueType(
        ValueKind.CHOICE, PropertyGroup.PROTOCOL, _READERS, ("1", "2", "3"), help_text="needs to be one of 1, 2, 3."
    ),
    "minWriterVersion": ValueType(
        ValueKind.CHOICE, PropertyGroup.PROTOCOL, _WRITERS, tuple("1234567"), help_text="needs to be one of 1, 2, 3, 4, 5, 6, 7."
    ),
    "parquet.format.version": ValueType(ValueKind.VERSION, PropertyGroup.WRITES, _WRITERS),
    "randomizeFilePrefixes": _flag(PropertyGroup.WRITES),
    "randomPrefixLength": _number(1, "needs to be greater than 0."),
    "redirectReaderWriter-preview": _kept("redirected readers and writers"),
    "redirectWriterOnly-preview": _kept("redirected writers"),
    "requireCheckpointProtectionBeforeVersion": _kept("log cleanup"),
    "rowTracking.materializedRowCommitVersionColumnName": _kept(),
    "rowTracking.materializedRowIdColumnName": _kept(),
    "rowTrackingSuspended": _flag(PropertyGroup.FEATURES),
    "sampleRetentionDuration": _interval("Delta's samples of data"),
    "setTransactionRetentionDuration": _interval("writers with an application's own versions"),
    "universalFormat.enabledFormats": ValueType(
        ValueKind.FORMATS, PropertyGroup.FORMATS, "writers and readers of these formats", ("iceberg", "hudi")
    ),
    "universalFormat.iceberg.atomicConversion.supported": _kept("the conversion to Iceberg"),
    "writePartitionColumnsToParquet": _flag(PropertyGroup.WRITES),
}  # fmt: skip

TYPES: Mapping[str, ValueType] = {f"delta.{name}": value for name, value in _TYPES.items()}
_BY_LOWER = {name.lower(): name for name in TYPES}
FEATURE_PREFIX, CONSTRAINT_PREFIX, UNIFORM_PREFIX = (
    "delta.feature.",
    "delta.constraints.",
    "delta.universalformat.config.",
)
_NOT_BY_HAND = frozenset(
    {"delta.rowTracking.materializedRowCommitVersionColumnName", "delta.rowTracking.materializedRowIdColumnName"}
)
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
_PARQUET = re.compile(r"\d+\.\d+\.\d+")


def canonical(name: str) -> str:
    """A property's name as Delta stores it: its own in Delta's spelling, features and other formats' in lower case, others as they are."""
    if name.lower().startswith((FEATURE_PREFIX, UNIFORM_PREFIX)):
        return name.lower()
    return _BY_LOWER.get(name.lower(), name)


def is_on(name: str, value: str | None) -> bool:
    """Whether the value of a known property asks for its table feature."""
    known = TYPES.get(name)
    return known is not None and value is not None and value.lower() in known.switched_on


def features_asked(configuration: Mapping[str, str]) -> list[str]:
    """The table features that properties ask for by their values, sorted. The names are canonical."""
    names = (TYPES[name].feature for name, value in configuration.items() if is_on(name, value))
    return sorted({name for name in names if name is not None})


def check(name: str, value: str) -> ValueFault | None:
    """What is wrong with one property's value by itself; None if nothing is. The name is canonical."""
    known = TYPES.get(name)
    if known is None:
        return (
            None if not name.lower().startswith("delta.") or name.lower().startswith(UNIFORM_PREFIX) else _unknown(name)
        )
    if name in _NOT_BY_HAND:
        return _unknown(name)
    match known.kind:
        case ValueKind.KEPT:
            return _kept_by_delta(name)
        case ValueKind.BOOLEAN:
            return None if value.lower() in known.choices else ValueFault(f'For input string: "{value}"')
        case ValueKind.INTEGER:
            return None if _is_integer(value, known.least) else ValueFault(f"{name} {known.help_text}")
        case ValueKind.INTERVAL:
            return _check_interval(name, value)
        case ValueKind.CHOICE:
            return _check_choice(name, value, known)
        case ValueKind.FORMATS:
            return _check_formats(name, value, known)
        case ValueKind.VERSION:
            return None if _PARQUET.fullmatch(value) else ValueFault(f"Invalid Parquet version string: {value}")
        case ValueKind.COLUMNS:
            return None


def _unknown(name: str) -> ValueFault:
    text = f"Unknown configuration was specified: {name}"
    return ValueFault(
        text, "DELTA_UNKNOWN_CONFIGURATION", "F0000", "Properties of your own have names without “delta.” in front."
    )


def _kept_by_delta(name: str) -> ValueFault:
    if name == "delta.columnMapping.maxColumnId":
        text = f"The Delta table configuration {name} cannot be specified by the user"
        return ValueFault(text, "DELTA_CANNOT_MODIFY_TABLE_PROPERTY", "42939", "Delta keeps it itself.")
    return ValueFault(
        f"Delta keeps {name} itself: a value set by hand would contradict the log.", remedy="Leave it out."
    )


def _is_integer(value: str, least: int | None) -> bool:
    if not _INTEGER.fullmatch(value):
        return False
    return (least or 0) <= int(value) < 1 << 31


def _check_interval(name: str, value: str) -> ValueFault | None:
    if not value.strip():
        return ValueFault("Interval cannot be null or blank.", "DELTA_INVALID_CALENDAR_INTERVAL_EMPTY", "2200P")
    if parse_interval(value) is not None:
        return None
    if read_interval(value) is not None:
        return ValueFault(f"{name} {_INTERVAL}")
    return ValueFault(
        f"{value} is not a valid INTERVAL.", "DELTA_INVALID_INTERVAL", "22006", "Write it as 7 days, or 168 hours."
    )


def _check_choice(name: str, value: str, known: ValueType) -> ValueFault | None:
    exact = name not in ("delta.columnMapping.mode", "delta.isolationLevel", "delta.autoOptimize.autoCompact")
    if value in known.choices or (not exact and value.lower() in {choice.lower() for choice in known.choices}):
        return None
    if name == "delta.checkpointPolicy":
        return ValueFault(f"Invalid policy {value}")
    if name == "delta.columnMapping.mode":
        text = f"The column mapping mode `{value}` is not supported for this Delta version."
        return ValueFault(text, remedy="The modes are none, name and id.")
    if name == "delta.isolationLevel" and value.lower() not in ("writeserializable", "snapshotisolation"):
        return ValueFault(f"invalid isolation level '{value}'", "DELTA_INVALID_ISOLATION_LEVEL", "25000")
    return ValueFault(f"{name} {known.help_text}")


def _check_formats(name: str, value: str, known: ValueType) -> ValueFault | None:
    given = [each.strip() for each in value.split(",") if each.strip()]
    if set(given) <= set(known.choices) and len(set(given)) == len(given):
        return None
    return ValueFault(f"{name} Must be a comma-separated list of formats from the list: {{hudi,iceberg}}.")
