"""Writes small Delta tables with a past of their own: parquet files, commits with the times that they are said to have, checkpoints.

Only the sample lake is written this way. What Levee changes for people goes through Spark.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

Action = dict[str, Any]
ENGINE = "Levee sample lake"
LOG = "_delta_log"
BASIC = {"minReaderVersion": 1, "minWriterVersion": 2}
_TYPES = {
    pa.int64(): "long",
    pa.int32(): "integer",
    pa.string(): "string",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us", tz="UTC"): "timestamp",
}


@dataclass(frozen=True, slots=True)
class DataFile:
    """A live file: its action in the log, and its rows without the partition columns."""

    add: Action
    rows: pa.Table


@dataclass(slots=True)
class SampleTable:
    """A Delta table that is written commit by commit. `dice` gives the names, so that each instance writes the same ones."""

    directory: Path
    dice: Random
    partitioned_by: tuple[str, ...] = ()
    version: int = -1
    live: dict[str, DataFile] = field(default_factory=dict)
    tombstones: dict[str, Action] = field(default_factory=dict)
    protocol: Action = field(default_factory=lambda: dict(BASIC))
    metadata: Action = field(default_factory=dict)

    def create(self, fields: Sequence[Action], at: datetime, properties: Mapping[str, str] = {}) -> None:
        """Version 0. `fields` are those of Delta's schema, as `field_of` makes them."""
        (self.directory / LOG).mkdir(parents=True)
        self.metadata = {
            "id": str(self.identity()),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema_text(fields),
            "partitionColumns": list(self.partitioned_by),
            "configuration": dict(properties),
            "createdTime": milliseconds(at),
        }
        parameters = {"partitionBy": json.dumps(list(self.partitioned_by)), "properties": json.dumps(dict(properties))}
        parameters["isManaged"] = "false"
        actions = [{"protocol": self.protocol}, {"metaData": self.metadata}]
        self.commit("CREATE TABLE", at, actions, parameters, {})

    def identity(self) -> uuid.UUID:
        return uuid.UUID(int=self.dice.getrandbits(128), version=4)

    def add_file(self, rows: pa.Table, at: datetime, values: Mapping[str, str] = {}) -> Action:
        """Writes one parquet file and gives its `add`; the file is live once that is committed."""
        folder = "/".join(f"{name}={values[name]}" for name in self.partitioned_by)
        name = f"part-00000-{self.identity()}.c000.snappy.parquet"
        path = f"{folder}/{name}" if folder else name
        size = self._write(path, rows, at)
        add: Action = {
            "path": path,
            "partitionValues": dict(values),
            "size": size,
            "modificationTime": milliseconds(at),
            "dataChange": True,
            "stats": json.dumps(statistics(rows), separators=(",", ":")),
        }
        self.live[path] = DataFile(add, rows)
        return {"add": add}

    def change_file(self, rows: pa.Table, at: datetime) -> Action:
        """Writes a file of the change feed; `rows` have `_change_type`."""
        path = f"_change_data/cdc-00000-{self.identity()}.c000.snappy.parquet"
        return {"cdc": {"path": path, "partitionValues": {}, "size": self._write(path, rows, at), "dataChange": False}}

    def _write(self, path: str, rows: pa.Table, at: datetime) -> int:
        target = self.directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, target, compression="snappy")
        _touch(target, at)
        return target.stat().st_size

    def remove_file(self, path: str, at: datetime, *, data_change: bool = True) -> Action:
        add = self.live.pop(path).add
        remove = {
            "path": path,
            "deletionTimestamp": milliseconds(at),
            "dataChange": data_change,
            "extendedFileMetadata": True,
            "partitionValues": add["partitionValues"],
            "size": add["size"],
        }
        if "deletionVector" in add:
            remove["deletionVector"] = add["deletionVector"]
        self.tombstones[path] = remove
        return {"remove": remove}

    def change_metadata(self, **changes: Any) -> Action:
        self.metadata = {**self.metadata, **changes}
        return {"metaData": self.metadata}

    def commit(
        self,
        operation: str,
        at: datetime,
        actions: Iterable[Action],
        parameters: Mapping[str, str],
        metrics: Mapping[str, int],
        user: str = "etl",
    ) -> int:
        """Writes the next version; its file carries the time, since that is what Delta takes for the commit's."""
        self.version += 1
        info: Action = {
            "timestamp": milliseconds(at),
            "userName": user,
            "operation": operation,
            "operationParameters": dict(parameters),
            "isolationLevel": "Serializable",
            "isBlindAppend": operation == "WRITE",
            "operationMetrics": {key: str(value) for key, value in metrics.items()},
            "engineInfo": ENGINE,
            "txnId": str(self.identity()),
        }
        if self.version:
            info["readVersion"] = self.version - 1
        lines = [json.dumps(action, separators=(",", ":")) for action in ({"commitInfo": info}, *actions)]
        file = self.log_file(self.version, "json")
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        _touch(file, at)
        return self.version

    def log_file(self, version: int, ending: str) -> Path:
        return self.directory / LOG / f"{version:020}.{ending}"

    def checkpoint(self, at: datetime) -> None:
        """A classic checkpoint of the version that is there, and `_last_checkpoint`."""
        rows: list[Action] = [{"protocol": self.protocol}, {"metaData": self.metadata}]
        rows += [{"add": file.add} for file in self.live.values()]
        rows += [{"remove": remove} for path, remove in self.tombstones.items() if path not in self.live]
        file = self.log_file(self.version, "checkpoint.parquet")
        columns = {name: pa.array([_mapped(row.get(name)) for row in rows], kind) for name, kind in CHECKPOINT.items()}
        pq.write_table(pa.table(columns), file, compression="snappy")
        _touch(file, at)
        last = self.directory / LOG / "_last_checkpoint"
        last.write_text(json.dumps({"version": self.version, "size": len(rows)}), encoding="utf-8")


def _mapped(action: Action | None) -> Action | None:
    """The action with Arrow's form of its maps."""
    if action is None:
        return None
    maps: Action = {key: list(action[key].items()) for key in ("partitionValues", "configuration") if key in action}
    if "format" in action:
        maps["format"] = {"provider": "parquet", "options": []}
    return action | maps


_TEXTS = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct({
    "storageType": pa.string(), "pathOrInlineDv": pa.string(), "offset": pa.int32(), "sizeInBytes": pa.int32(), "cardinality": pa.int64(),
})  # fmt: skip
_FILE = {
    "path": pa.string(),
    "partitionValues": _TEXTS,
    "size": pa.int64(),
    "dataChange": pa.bool_(),
    "deletionVector": _VECTOR,
}
CHECKPOINT = {
    "protocol": pa.struct({
        "minReaderVersion": pa.int32(), "minWriterVersion": pa.int32(),
        "readerFeatures": pa.list_(pa.string()), "writerFeatures": pa.list_(pa.string()),
    }),
    "metaData": pa.struct({
        "id": pa.string(), "name": pa.string(), "description": pa.string(),
        "format": pa.struct({"provider": pa.string(), "options": _TEXTS}),
        "schemaString": pa.string(), "partitionColumns": pa.list_(pa.string()), "configuration": _TEXTS, "createdTime": pa.int64(),
    }),
    "add": pa.struct(_FILE | {"modificationTime": pa.int64(), "stats": pa.string()}),
    "remove": pa.struct(_FILE | {"deletionTimestamp": pa.int64(), "extendedFileMetadata": pa.bool_()}),
    "txn": pa.struct({"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()}),
}  # fmt: skip


def field_of(name: str, kind: pa.DataType, comment: str = "", **metadata: Any) -> Action:
    """One field of Delta's schema."""
    told = {"comment": comment} if comment else {}
    return {"name": name, "type": _delta_type(kind), "nullable": True, "metadata": told | metadata}


def _delta_type(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _TYPES[kind]


def schema_text(fields: Sequence[Action]) -> str:
    return json.dumps({"type": "struct", "fields": list(fields)}, separators=(",", ":"))


def statistics(rows: pa.Table) -> Action:
    """A file's statistics as Delta writes them: times in whole milliseconds, no bounds where every value is NULL."""
    lowest, highest, nulls = {}, {}, {}
    for name in rows.column_names:
        column = rows.column(name)
        nulls[name] = column.null_count
        if column.null_count < len(column) and not pa.types.is_boolean(column.type):
            bounds = pc.min_max(column)
            lowest[name], highest[name] = _bound(bounds["min"].as_py()), _bound(bounds["max"].as_py())
    return {"numRecords": rows.num_rows, "minValues": lowest, "maxValues": highest, "nullCount": nulls}


def _bound(value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03}Z"
    if isinstance(value, date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


def milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _touch(file: Path, at: datetime) -> None:
    os.utime(file, (at.timestamp(), at.timestamp()))
