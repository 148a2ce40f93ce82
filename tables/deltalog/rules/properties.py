"""Table properties that Delta knows: their defaults and what they mean. Data, from Delta 4.4.0 (`DeltaConfig.scala`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Property:
    """A `delta.*` property. `default` is its text when unset, None when unset means that something else decides."""

    name: str
    default: str | None
    meaning: str


@dataclass(frozen=True, slots=True)
class TableProperty:
    """A property of one table: what is set (None: nothing), what holds otherwise, and what it means (None: unknown to Delta 4.4)."""

    name: str
    value: str | None
    default: str | None
    meaning: str | None


def _p(name: str, default: str | None, meaning: str) -> Property:
    return Property(f"delta.{name}", default, meaning)


_PROPERTIES = (
    _p("appendOnly", "false", "Rows can be added but not deleted or changed."),
    _p("autoOptimize", None, "The older name of delta.autoOptimize.autoCompact."),
    _p("autoOptimize.autoCompact", None, "Small files are joined after a write; unset, the session decides."),
    _p("autoOptimize.optimizeWrite", None, "Data is shuffled before a write so that files become larger; unset, the session decides."),
    _p("castIcebergTimeType", "false", "Iceberg's time of day is read as a number when an Iceberg table is converted."),
    _p("checkpointInterval", "10", "A checkpoint is written every so many commits (above 0)."),
    _p("checkpointPolicy", "classic", "Kind of checkpoints: classic, or v2 with sidecar files."),
    _p("checkpointRetentionDuration", "interval 2 days", "How long older checkpoints are kept."),
    _p("checkpoint.writeStatsAsJson", "true", "Checkpoints hold file statistics as JSON text."),
    _p("checkpoint.writeStatsAsStruct", "true", "Checkpoints hold file statistics as typed columns."),
    _p("columnMapping.mode", "none", "How columns are found in files: by their name (none), by a physical name (name) or by id (id)."),
    _p("columnMapping.maxColumnId", None, "The highest column id given so far; kept by Delta."),
    _p("compatibility.symlinkFormatManifest.enabled", "false", "Manifests for readers of symlink tables are written after every commit."),
    _p("coordinatedCommits.commitCoordinator-preview", None, "The commit coordinator that owns the table's commits (preview)."),
    _p("coordinatedCommits.commitCoordinatorConf-preview", None, "Settings of the commit coordinator (preview)."),
    _p("coordinatedCommits.tableConf-preview", None, "What the commit coordinator keeps about the table (preview)."),
    _p("dataSkippingNumIndexedCols", "32", "Statistics are collected for so many leading columns; -1 means all."),
    _p("dataSkippingStatsColumns", None, "Statistics are collected for exactly these columns."),
    _p("dataSkippingStringPrefixLength", None, "Texts in statistics are cut after so many characters; unset, the session decides (32)."),
    _p("deletedFileRetentionDuration", "interval 1 week",
       "How long removed files are kept from vacuum, and how far back versions can be read, restored and followed."),
    _p("dropFeatureTruncateHistory.retentionDuration", "interval 24 hours", "The wait before history can be cut to drop a feature."),
    _p("enableChangeDataCapture", None, "The older name of delta.enableChangeDataFeed, which comes first if both are set."),
    _p("enableChangeDataFeed", "false", "Changes of rows can be read from version to version."),
    _p("enableDeletionVectors", "false", "Deletes may mark rows instead of rewriting files."),
    _p("enableExpiredLogCleanup", "true", "Commits older than the log retention are removed after a checkpoint."),
    _p("enableFullRetentionRollback", "true", "The log keeps what is needed to go back to any version within its retention."),
    _p("enableIcebergCompatV1", None, "Files and metadata follow the Iceberg rules, version 1."),
    _p("enableIcebergCompatV2", None, "Files and metadata follow the Iceberg rules, version 2."),
    _p("enableIcebergCompatV3", None, "Files and metadata follow the Iceberg rules, version 3."),
    _p("enableInCommitTimestamps", "false", "Commits carry their own time, so that history doesn't depend on file times."),
    _p("enableMaterializePartitionColumnsFeature", None, "Partition columns are written into the data files too."),
    _p("enableRowTracking", "false", "Every row has an id and a commit version that survive rewrites."),
    _p("enableTypeWidening", "false", "A column's type can be widened without rewriting files."),
    _p("enableVariantShredding", "false", "Variant values may be split into columns."),
    _p("ignoreIcebergBucketPartition", "false", "Bucket partitions are ignored when an Iceberg table is converted."),
    _p("ignoreProtocolDefaults", None, "Read by CREATE TABLE alone: the session's defaults for the protocol don't count."),
    _p("inCommitTimestampEnablementTimestamp", None, "When in-commit timestamps began, in milliseconds; kept by Delta."),
    _p("inCommitTimestampEnablementVersion", None, "The version in which in-commit timestamps began; kept by Delta."),
    _p("isolationLevel", "Serializable", "How strictly concurrent writes are checked; Delta accepts only Serializable."),
    _p("logRetentionDuration", "interval 30 days", "How long commits stay in the log; at least as long as removed files."),
    _p("minReaderVersion", "1", "The reader version of the protocol."),
    _p("minWriterVersion", "2", "The writer version of the protocol."),
    _p("parquet.format.version", "1.0.0", "The parquet format version of new files."),
    _p("randomizeFilePrefixes", "false", "New files get random folders instead of partition folders."),
    _p("randomPrefixLength", "2", "Length of those random folder names."),
    _p("redirectReaderWriter-preview", None, "Where reads and writes of the table go instead (preview)."),
    _p("redirectWriterOnly-preview", None, "Where writes to the table go instead (preview)."),
    _p("requireCheckpointProtectionBeforeVersion", "0", "The log before this version may only be cleaned as a whole."),
    _p("rowTracking.materializedRowCommitVersionColumnName", None, "The hidden column that holds row commit versions; kept by Delta."),
    _p("rowTracking.materializedRowIdColumnName", None, "The hidden column that holds row ids; kept by Delta."),
    _p("rowTrackingSuspended", "false", "New rows get no ids for now."),
    _p("sampleRetentionDuration", "interval 7 days", "How long samples of the table's data are kept."),
    _p("setTransactionRetentionDuration", None, "How long an application's own versions are remembered; unset, for ever."),
    _p("universalFormat.enabledFormats", "", "Other formats whose metadata is written beside Delta's (iceberg, hudi)."),
    _p("universalFormat.iceberg.atomicConversion.supported", "false", "Metadata for Iceberg is written in the same commit."),
    _p("writePartitionColumnsToParquet", None, "Partition columns are written into the data files too."),
)  # fmt: skip

PROTOCOL = ("delta.minReaderVersion", "delta.minWriterVersion")  # asked for like properties, kept in the protocol
PROPERTIES: dict[str, Property] = {item.name: item for item in _PROPERTIES}
_BY_LOWER = {name.lower(): item for name, item in PROPERTIES.items()}
_PREFIXES = {
    "delta.constraints.": "A CHECK constraint: every row must meet this condition.",
    "delta.feature.": "Asks for a table feature; Delta turns it into a feature of the protocol.",
}


def property_of(name: str) -> Property | None:
    """What Delta knows of a property, whatever its case."""
    return _BY_LOWER.get(name.lower())


def settings(configuration: Mapping[str, str]) -> tuple[TableProperty, ...]:
    """The properties that a table sets, sorted by name; unknown ones without a meaning."""
    return tuple(_setting(name, configuration[name]) for name in sorted(configuration))


def unset(configuration: Mapping[str, str]) -> tuple[TableProperty, ...]:
    """The known properties that a table doesn't set and that have a default, sorted by name; the protocol's versions aside."""
    present = {name.lower() for name in (*configuration, *PROTOCOL)}
    rows = (item for item in PROPERTIES.values() if item.name.lower() not in present and item.default is not None)
    return tuple(
        TableProperty(item.name, None, item.default, item.meaning) for item in sorted(rows, key=lambda item: item.name)
    )


def _setting(name: str, value: str) -> TableProperty:
    if known := property_of(name):
        return TableProperty(name, value, known.default, known.meaning)
    meaning = next((text for prefix, text in _PREFIXES.items() if name.startswith(prefix)), None)
    return TableProperty(name, value, None, meaning)
