"""The actions of a commit as typed values, after the Delta protocol ("Actions")."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tables.deltalog.fields import Fields
from tables.deltalog.lines import parse_json
from tables.deltalog.paths import check_path, is_plain
from tables.deltalog.problems import Code, Problems


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
    return None if vector.cardinality is None else max(0, num_records - vector.cardinality)


def parse_action(name: str, value: Any, file: str, problems: Problems) -> Action | None:
    """The typed action, None when it lacks what it can't be without (which becomes a problem of `file`)."""
    parser = _PARSERS.get(name)
    if parser is None:
        problems.add(file, f"unknown action {name[:100]!r} is not interpreted", Code.UNSUPPORTED)
        return UnknownAction(name[:100])
    if not isinstance(value, dict):
        problems.add(file, f"{name} is not an object")
        return None
    return parser(value, file, problems)


_NUM_RECORDS = re.compile(r'\s*\{\s*"numRecords"\s*:\s*(\d{1,18})\s*[,}]')


def num_records_of(stats: str | None, file: str, problems: Problems) -> int | None:
    """The row count of a statistics text. Delta writes it first; other orders are parsed in full."""
    if not stats:
        return None
    if found := _NUM_RECORDS.match(stats):
        return int(found[1])
    try:
        value = parse_json(stats)
    except ValueError:
        problems.add(file, "statistics of a file are not readable")
        return None
    if not isinstance(value, dict):
        problems.add(file, "statistics of a file are not an object")
        return None
    return Fields(value, "stats", file, problems).count("numRecords")


def _vector(fields: Fields) -> DeletionVector | None:
    value = fields.group("deletionVector")
    if value is None:
        return None
    storage, place = value.get("storageType"), value.get("pathOrInlineDv")
    if storage not in ("u", "i", "p") or not isinstance(place, str):
        fields.wrong("deletionVector", "a deletion vector that can be read")
        return DeletionVector(str(storage)[:1], place if isinstance(place, str) else "", None, None, None)
    numbers = [value.get(name) for name in ("offset", "sizeInBytes", "cardinality")]
    known = [n if type(n) is int and 0 <= n < 2**63 else None for n in numbers]
    if any(n is not None and k is None for n, k in zip(numbers, known, strict=True)):
        fields.wrong("deletionVector", "a deletion vector of whole numbers")
    return DeletionVector(storage, place, *known)


_USUAL_ADD = frozenset(("path", "partitionValues", "size", "modificationTime", "dataChange", "stats"))


def _path(fields: Fields, what: str, file: str, problems: Problems) -> str | None:
    path = fields.text("path")
    if not path:
        problems.add(file, f"{what} without a path")
        return None
    check_path(path, what, file, problems)
    return path


def _add(value: dict[str, Any], file: str, problems: Problems) -> AddFile | None:
    get = value.get
    path, size, stats = get("path"), get("size"), get("stats")
    if type(path) is not str or type(size) is not int or type(stats) is not str or not 0 <= size < 2**63:
        return _odd_add(value, file, problems)
    if not _USUAL_ADD.issuperset(value):
        return _odd_add(value, file, problems)
    found = _NUM_RECORDS.match(stats)
    if found is None or not is_plain(path):
        return _odd_add(value, file, problems)
    fields = Fields(value, "add", file, problems)
    partition_values = fields.mapping("partitionValues")
    time, change = fields.count("modificationTime"), fields.flag("dataChange")
    return AddFile(path, partition_values, size, time, change, stats, int(found[1]))


def _odd_add(value: dict[str, Any], file: str, problems: Problems) -> AddFile | None:
    """Any add; `_add` answers the usual one, of which logs have millions, in half the time."""
    fields = Fields(value, "add", file, problems)
    path = _path(fields, "add", file, problems)
    if path is None:
        return None
    stats = fields.text("stats")
    return AddFile(
        path,
        fields.mapping("partitionValues"),
        fields.count("size"),
        fields.count("modificationTime"),
        fields.flag("dataChange"),
        stats,
        num_records_of(stats, file, problems),
        _vector(fields),
        fields.count("baseRowId"),
        fields.count("defaultRowCommitVersion"),
        fields.text("clusteringProvider"),
        fields.mapping("tags"),
    )


def _remove(value: dict[str, Any], file: str, problems: Problems) -> RemoveFile | None:
    fields = Fields(value, "remove", file, problems)
    path = _path(fields, "remove", file, problems)
    if path is None:
        return None
    return RemoveFile(
        path,
        fields.moment("deletionTimestamp"),
        fields.flag("dataChange"),
        fields.mapping("partitionValues"),
        fields.count("size"),
        num_records_of(fields.text("stats"), file, problems),
        _vector(fields),
    )


def _cdc(value: dict[str, Any], file: str, problems: Problems) -> AddCDCFile | None:
    fields = Fields(value, "cdc", file, problems)
    path = _path(fields, "cdc", file, problems)
    return None if path is None else AddCDCFile(path, fields.mapping("partitionValues"), fields.count("size"))


def _metadata(value: dict[str, Any], file: str, problems: Problems) -> Metadata:
    fields = Fields(value, "metaData", file, problems)
    schema = fields.text("schemaString")
    if schema is None:
        problems.add(file, "metaData has no schema")
    provider = (fields.group("format") or {}).get("provider")
    return Metadata(
        id=fields.text("id") or "",
        name=fields.text("name"),
        description=fields.text("description"),
        format_provider=provider if isinstance(provider, str) else None,
        schema_json=schema or "",
        partition_columns=fields.texts("partitionColumns") or (),
        configuration=_without_nulls(fields.mapping("configuration")),
        created_at=fields.moment("createdTime"),
    )


def _without_nulls(mapping: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in mapping.items() if value is not None}


def _protocol(value: dict[str, Any], file: str, problems: Problems) -> Protocol:
    fields = Fields(value, "protocol", file, problems)
    return Protocol(
        fields.count("minReaderVersion") or 1,
        fields.count("minWriterVersion") or 1,
        _sorted(fields.texts("readerFeatures")),
        _sorted(fields.texts("writerFeatures")),
    )


def _sorted(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(sorted(set(names)))


def _txn(value: dict[str, Any], file: str, problems: Problems) -> SetTransaction | None:
    fields = Fields(value, "txn", file, problems)
    app, version = fields.text("appId"), fields.whole("version")
    if app is None or version is None:
        problems.add(file, "txn without an application or a version")
        return None
    return SetTransaction(app, version, fields.moment("lastUpdated"))


def _domain(value: dict[str, Any], file: str, problems: Problems) -> DomainMetadata | None:
    fields = Fields(value, "domainMetadata", file, problems)
    domain = fields.text("domain")
    if domain is None:
        problems.add(file, "domainMetadata without a domain")
        return None
    return DomainMetadata(domain, fields.text("configuration") or "", bool(fields.flag("removed")))


_TEXTS = ("userId", "userName", "engineInfo", "isolationLevel", "txnId", "userMetadata", "operation")


def _commit_info(value: dict[str, Any], file: str, problems: Problems) -> CommitInfo:
    fields = Fields(value, "commitInfo", file, problems)
    user_id, user_name, engine, isolation, txn, metadata, operation = fields.all_texts(_TEXTS)
    return CommitInfo(
        fields.moment("timestamp"),
        fields.moment("inCommitTimestamp"),
        operation,
        fields.mapping("operationParameters"),
        fields.mapping("operationMetrics"),
        user_id,
        user_name,
        engine,
        isolation,
        fields.flag("isBlindAppend"),
        fields.whole("readVersion"),
        txn,
        metadata,
    )


def _sidecar(value: dict[str, Any], file: str, problems: Problems) -> Sidecar | None:
    fields = Fields(value, "sidecar", file, problems)
    path = fields.text("path")
    if not path:
        problems.add(file, "sidecar without a path")
        return None
    return Sidecar(path, fields.count("sizeInBytes"), fields.count("modificationTime"))


def _checkpoint_metadata(value: dict[str, Any], file: str, problems: Problems) -> CheckpointMetadata:
    return CheckpointMetadata(Fields(value, "checkpointMetadata", file, problems).count("version"))


_PARSERS: dict[str, Callable[[dict[str, Any], str, Problems], Action | None]] = {
    "add": _add,
    "remove": _remove,
    "cdc": _cdc,
    "metaData": _metadata,
    "protocol": _protocol,
    "txn": _txn,
    "domainMetadata": _domain,
    "commitInfo": _commit_info,
    "sidecar": _sidecar,
    "checkpointMetadata": _checkpoint_metadata,
}
