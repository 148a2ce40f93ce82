"""The actions of a commit as typed values, after the Delta protocol ("Actions")."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class DeletionVector:
    """Which rows of a file are deleted. `storage` is u (a file beside the data), p (an absolute path) or i (inline).

    `cardinality` counts the deleted rows, None when unknown.
    """

    storage: str
    path_or_inline: str
    offset: int | None
    size_in_bytes: int | None
    cardinality: int | None

    @property
    def unique_id(self) -> str:
        suffix = "" if self.offset is None else f"@{self.offset}"
        return f"{self.storage}{self.path_or_inline}{suffix}"


@dataclass(frozen=True, slots=True)
class AddFile:
    """A data file that became part of the table. `path` is as the log has it (URL-encoded); `num_records` counts physical rows."""

    path: str
    partition_values: dict[str, str | None]
    size: int | None
    modification_time: int | None
    data_change: bool | None
    stats: str | None
    num_records: int | None
    deletion_vector: DeletionVector | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None
    tags: dict[str, str | None] = field(default_factory=dict)

    @property
    def rows(self) -> int | None:
        """Rows that a reader sees: without those of the deletion vector. None when unknown."""
        return live_rows(self.num_records, self.deletion_vector)


@dataclass(frozen=True, slots=True)
class RemoveFile:
    """A data file that left the table; `deletion_time` is its tombstone's time."""

    path: str
    deletion_time: datetime | None
    data_change: bool | None
    partition_values: dict[str, str | None]
    size: int | None
    num_records: int | None
    deletion_vector: DeletionVector | None = None

    @property
    def rows(self) -> int | None:
        return live_rows(self.num_records, self.deletion_vector)


@dataclass(frozen=True, slots=True)
class AddCDCFile:
    """A file of changed rows, read by the change data feed only."""

    path: str
    partition_values: dict[str, str | None]
    size: int | None


@dataclass(frozen=True, slots=True)
class Metadata:
    """A table's metadata from one version on. `schema_json` is Spark's JSON struct as the log has it."""

    id: str
    name: str | None
    description: str | None
    format_provider: str | None
    schema_json: str
    partition_columns: tuple[str, ...]
    configuration: dict[str, str]
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a reader and a writer must support. Features are None for the legacy protocols that don't list them."""

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None
    writer_features: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class SetTransaction:
    """An application's own version, by which it recognises what it wrote already."""

    app_id: str
    version: int
    last_updated: datetime | None


@dataclass(frozen=True, slots=True)
class DomainMetadata:
    """A configuration text of a named domain (`delta.clustering`, …); `removed` says that it ended."""

    domain: str
    configuration: str
    removed: bool


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """What the writer said about its commit; every member is free by protocol, so all are optional."""

    timestamp: datetime | None
    in_commit_timestamp: datetime | None
    operation: str | None
    operation_parameters: dict[str, str | None]
    operation_metrics: dict[str, str | None]
    user_id: str | None
    user_name: str | None
    engine_info: str | None
    isolation_level: str | None
    is_blind_append: bool | None
    read_version: int | None
    txn_id: str | None
    user_metadata: str | None


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A part of a V2 checkpoint below `_delta_log/_sidecars`."""

    path: str
    size: int | None
    modification_time: int | None


@dataclass(frozen=True, slots=True)
class CheckpointMetadata:
    """The version that a V2 checkpoint says it stands for."""

    version: int | None


@dataclass(frozen=True, slots=True)
class UnknownAction:
    """An action that this reader has no name for: shown by the name it has, nothing of it is interpreted."""

    name: str


Action = (
    AddFile
    | RemoveFile
    | AddCDCFile
    | Metadata
    | Protocol
    | SetTransaction
    | DomainMetadata
    | CommitInfo
    | Sidecar
    | CheckpointMetadata
    | UnknownAction
)


def live_rows(num_records: int | None, vector: DeletionVector | None) -> int | None:
    if num_records is None or vector is None:
        return num_records
    rows = None if vector.cardinality is None else num_records - vector.cardinality
    return rows if rows is None or rows >= 0 else None
