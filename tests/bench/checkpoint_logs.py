"""Logs whose state lies in a checkpoint of several files, as Delta writes them: with the columns of all actions, and struct statistics."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.bench import logs

VERSION = 10
_TEXTS = pa.map_(pa.string(), pa.string())
_KINDS = {
    "long": pa.int64(),
    "string": pa.string(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
}
_VECTOR = pa.struct(
    {
        "storageType": pa.string(),
        "pathOrInlineDv": pa.string(),
        "offset": pa.int32(),
        "sizeInBytes": pa.int32(),
        "cardinality": pa.int64(),
    }
)
_BOUNDS = pa.struct({name: _KINDS[kind] for name, kind in logs.WIDE.items()})
_STATISTICS = pa.struct(
    {
        "numRecords": pa.int64(),
        "minValues": _BOUNDS,
        "maxValues": _BOUNDS,
        "nullCount": pa.struct(dict.fromkeys(logs.WIDE, pa.int64())),
    }
)
_FILE = {
    "path": pa.string(),
    "partitionValues": _TEXTS,
    "size": pa.int64(),
    "dataChange": pa.bool_(),
    "deletionVector": _VECTOR,
    "baseRowId": pa.int64(),
    "defaultRowCommitVersion": pa.int64(),
    "tags": _TEXTS,
}
_FILES = {
    "add": pa.struct({**_FILE, "modificationTime": pa.int64(), "stats_parsed": _STATISTICS}),
    "remove": pa.struct({**_FILE, "deletionTimestamp": pa.int64(), "extendedFileMetadata": pa.bool_()}),
}
_OTHERS = {
    "txn": pa.struct({"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()}),
    "metaData": pa.struct(
        {
            "id": pa.string(),
            "name": pa.string(),
            "description": pa.string(),
            "format": pa.struct({"provider": pa.string(), "options": _TEXTS}),
            "schemaString": pa.string(),
            "partitionColumns": pa.list_(pa.string()),
            "configuration": _TEXTS,
            "createdTime": pa.int64(),
        }
    ),
    "protocol": pa.struct(
        {
            "minReaderVersion": pa.int32(),
            "minWriterVersion": pa.int32(),
            "readerFeatures": pa.list_(pa.string()),
            "writerFeatures": pa.list_(pa.string()),
        }
    ),
    "domainMetadata": pa.struct({"domain": pa.string(), "configuration": pa.string(), "removed": pa.bool_()}),
    "checkpointMetadata": pa.struct({"version": pa.int64(), "tags": _TEXTS}),
    "sidecar": pa.struct(
        {"path": pa.string(), "sizeInBytes": pa.int64(), "modificationTime": pa.int64(), "tags": _TEXTS}
    ),
}
_PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["v2Checkpoint"],
    "writerFeatures": ["v2Checkpoint", "appendOnly", "invariants"],
}


def write_multi_part(table: Path, parts: int, files: int) -> None:
    """A checkpoint of so many parts, each with so many files, and two commits of a file."""
    log = _folder(table)
    for part in range(parts):
        opening = [{"protocol": logs.PROTOCOL}, {"metaData": _metadata()}] if part == 0 else []
        name = f"{VERSION:020d}.checkpoint.{part + 1:010d}.{parts:010d}.parquet"
        _write(log / name, {**_FILES, **_OTHERS}, [*opening, *_adds(part * files, files)])
    _write_commits(table, parts * files)


def write_v2(table: Path, sidecars: int, files: int) -> None:
    """A V2 checkpoint with so many sidecars, each with so many files, and two commits of a file."""
    log = _folder(table)
    (log / "_sidecars").mkdir()
    rows: list[dict[str, Any]] = [{"checkpointMetadata": {"version": VERSION}}, {"protocol": _PROTOCOL}]
    rows.append({"metaData": _metadata()})
    for number in range(sidecars):
        path = log / "_sidecars" / f"{number:08d}-5f2b-4f0e-9a51-2f3f0f2a9c11.parquet"
        _write(path, _FILES, _adds(number * files, files))
        sidecar = {"path": path.name, "sizeInBytes": path.stat().st_size, "modificationTime": logs.START}
        rows.append({"sidecar": sidecar})
    _write(log / f"{VERSION:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet", {**_FILES, **_OTHERS}, rows)
    _write_commits(table, sidecars * files)


def _folder(table: Path) -> Path:
    log = table / "_delta_log"
    log.mkdir(parents=True)
    return log


def _write_commits(table: Path, files: int) -> None:
    for version in (VERSION, VERSION + 1):
        logs.write_wide_commit(table, version, 1, files + version)


def _write(path: Path, columns: dict[str, pa.DataType], rows: Iterable[dict[str, Any]]) -> None:
    pq.write_table(pa.Table.from_pylist(list(rows), pa.schema(columns)), path, store_schema=False)


def _metadata() -> dict[str, Any]:
    return {**logs.wide_metadata(), "configuration": [], "format": {"provider": "parquet", "options": []}}


def _adds(first: int, count: int) -> Iterable[dict[str, Any]]:
    for number in range(first, first + count):
        yield {
            "add": {
                "path": logs.part(number),
                "partitionValues": [],
                "size": 12345 + number,
                "modificationTime": logs.START + number,
                "dataChange": False,
                "stats_parsed": {
                    "numRecords": 1000,
                    "minValues": _bounds(number),
                    "maxValues": _bounds(number + 1),
                    "nullCount": dict.fromkeys(logs.WIDE, 0),
                },
            }
        }


def _bounds(number: int) -> dict[str, Any]:
    return {name: _typed(kind, logs.wide_value(name, number)) for name, kind in logs.WIDE.items()}


def _typed(kind: str, value: Any) -> Any:
    if kind == "date":
        return date.fromisoformat(value)
    return datetime.fromisoformat(value) if kind == "timestamp" else value
