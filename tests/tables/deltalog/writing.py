"""Writes logs by hand, action by action, so that a test decides what is in them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Action = dict[str, Any]

SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": "id", "type": "long", "nullable": True, "metadata": {}},
            {"name": "day", "type": "string", "nullable": True, "metadata": {}},
        ],
    }
)
PROTOCOL: Action = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
_TEXTS = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
CHECKPOINT = pa.schema(
    {
        "txn": pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]),
        "add": pa.struct(
            [
                ("path", pa.string()),
                ("partitionValues", _TEXTS),
                ("size", pa.int64()),
                ("modificationTime", pa.int64()),
                ("dataChange", pa.bool_()),
                ("stats", pa.string()),
                ("deletionVector", _VECTOR),
                ("baseRowId", pa.int64()),
            ]
        ),
        "remove": pa.struct([("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_())]),
        "metaData": pa.struct(
            [
                ("id", pa.string()),
                ("name", pa.string()),
                ("format", pa.struct([("provider", pa.string()), ("options", _TEXTS)])),
                ("schemaString", pa.string()),
                ("partitionColumns", pa.list_(pa.string())),
                ("configuration", _TEXTS),
                ("createdTime", pa.int64()),
            ]
        ),
        "protocol": pa.struct(
            [
                ("minReaderVersion", pa.int32()),
                ("minWriterVersion", pa.int32()),
                ("readerFeatures", pa.list_(pa.string())),
                ("writerFeatures", pa.list_(pa.string())),
            ]
        ),
        "domainMetadata": pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]),
        "sidecar": pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())]),
        "checkpointMetadata": pa.struct([("version", pa.int64())]),
    }
)


def metadata(
    table_id: str = "table-1", schema: str = SCHEMA, partition: Iterable[str] = (), **configuration: str
) -> Action:
    """Property names are given with `__` for the dots."""
    return {
        "metaData": {
            "id": table_id,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema,
            "partitionColumns": list(partition),
            "configuration": {name.replace("__", "."): value for name, value in configuration.items()},
            "createdTime": 1_700_000_000_000,
        }
    }


def add(
    path: str, rows: int | None = 10, size: int = 100, partition: dict[str, str | None] | None = None, **more: Any
) -> Action:
    value: dict[str, Any] = {
        "path": path,
        "partitionValues": partition or {},
        "size": size,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
    }
    if rows is not None:
        value["stats"] = json.dumps(
            {"numRecords": rows, "minValues": {"id": 0}, "maxValues": {"id": rows}, "nullCount": {"id": 0}}
        )
    return {"add": value | more}


def remove(path: str, **more: Any) -> Action:
    return {"remove": {"path": path, "deletionTimestamp": 1_700_000_000_000, "dataChange": True, **more}}


def vector(place: str, cardinality: int, offset: int | None = 1) -> dict[str, Any]:
    return {
        "storageType": "u",
        "pathOrInlineDv": place,
        "offset": offset,
        "sizeInBytes": 36,
        "cardinality": cardinality,
    }


def info(operation: str = "WRITE", **more: Any) -> Action:
    return {"commitInfo": {"timestamp": 1_700_000_000_000, "operation": operation, "operationParameters": {}, **more}}


class LogWriter:
    """A table's directory with a `_delta_log`. Commit files get rising modification times, a second apart, unless told."""

    def __init__(self, table: Path) -> None:
        self.table = table
        self.log = table / "_delta_log"
        self.log.mkdir(parents=True)

    def file(self, version: int) -> Path:
        return self.log / f"{version:020d}.json"

    def commit(self, version: int, *actions: Action, modified_ms: int | None = None) -> Path:
        lines = "".join(json.dumps(action) + "\n" for action in actions)
        return self.raw(version, lines.encode(), modified_ms)

    def raw(self, version: int, content: bytes, modified_ms: int | None = None) -> Path:
        path = self.file(version)
        path.write_bytes(content)
        stamp = (modified_ms if modified_ms is not None else 1_700_000_000_000 + 1000 * version) * 1_000_000
        os.utime(path, ns=(stamp, stamp))
        return path

    def create(self, *actions: Action, partition: Iterable[str] = (), **configuration: str) -> Path:
        return self.commit(0, info("CREATE TABLE"), PROTOCOL, metadata(partition=partition, **configuration), *actions)

    def checkpoint(self, version: int, *actions: Action) -> Path:
        return write_parquet(self.log / f"{version:020d}.checkpoint.parquet", actions)

    def multipart(self, version: int, *parts: Iterable[Action]) -> list[Path]:
        names = [f"{version:020d}.checkpoint.{n:010d}.{len(parts):010d}.parquet" for n in range(1, len(parts) + 1)]
        return [write_parquet(self.log / name, part) for name, part in zip(names, parts, strict=True)]

    def v2(self, version: int, *actions: Action, suffix: str = "parquet") -> Path:
        """A V2 checkpoint's top file; sidecars are written by `sidecar` and named in the actions."""
        path = self.log / f"{version:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.{suffix}"
        everything = [{"checkpointMetadata": {"version": version}}, *actions]
        if suffix == "parquet":
            return write_parquet(path, everything)
        path.write_text("".join(json.dumps(action) + "\n" for action in everything))
        return path

    def sidecar(self, name: str, *actions: Action) -> Action:
        (self.log / "_sidecars").mkdir(exist_ok=True)
        path = write_parquet(self.log / "_sidecars" / name, actions)
        return {"sidecar": {"path": name, "sizeInBytes": path.stat().st_size, "modificationTime": 1_700_000_000_000}}


def write_parquet(path: Path, actions: Iterable[Action]) -> Path:
    rows = [{name: _lists(value) for name, value in action.items()} for action in actions]
    pq.write_table(pa.Table.from_pylist(rows, CHECKPOINT), path, row_group_size=3)
    return path


def _lists(value: dict[str, Any]) -> dict[str, Any]:
    maps = ("partitionValues", "configuration", "options")
    return {
        name: list(item.items())
        if name in maps and isinstance(item, dict)
        else _lists(item)
        if isinstance(item, dict)
        else item
        for name, item in value.items()
    }
