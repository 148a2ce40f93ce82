"""Logs for the benches, written without an engine: what matters is that they look like Delta's own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

START = 1_700_000_000_000


def _schema(columns: dict[str, str]) -> str:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()]
    return json.dumps({"type": "struct", "fields": fields})


_SCHEMA = _schema({"id": "long", "name": "string", "day": "string"})
PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}
_BATCH = 50_000


def _metadata(partition: list[str]) -> dict[str, Any]:
    return {
        "id": "6f1d8a3e-5f2b-4f0e-9a51-2f3f0f2a9c11",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": _SCHEMA,
        "partitionColumns": partition,
        "configuration": {},
        "createdTime": START,
    }


def _stats(number: int) -> str:
    low, high = number * 1000, number * 1000 + 999
    value = {
        "numRecords": 1000,
        "minValues": {"id": low, "name": f"name {low}"},
        "maxValues": {"id": high, "name": f"name {high}"},
        "nullCount": {"id": 0, "name": number % 7},
    }
    return json.dumps(value, separators=(",", ":"))


def part(number: int) -> str:
    """A data file's name."""
    return f"part-{number % 100:05d}-6f1d8a3e-5f2b-4f0e-9a51-{number:012d}-c000.snappy.parquet"


def _actions(version: int) -> Iterator[dict[str, Any]]:
    yield {
        "commitInfo": {
            "timestamp": START + version * 1000,
            "operation": "WRITE",
            "operationParameters": {"mode": "Append", "partitionBy": "[]"},
            **({"readVersion": version - 1} if version else {}),
            "isolationLevel": "Serializable",
            "isBlindAppend": True,
            "operationMetrics": {"numFiles": "1", "numOutputRows": "1000", "numOutputBytes": "12345"},
            "engineInfo": "Apache-Spark/4.2.0 Delta-Lake/4.4.0",
            "txnId": f"6f1d8a3e-5f2b-4f0e-9a51-{version:012d}",
        }
    }
    if version == 0:
        yield {"protocol": PROTOCOL}
        yield {"metaData": _metadata([])}
    add = {
        "path": part(version),
        "partitionValues": {},
        "size": 12345,
        "modificationTime": START + version * 1000,
        "dataChange": True,
    }
    yield {"add": {**add, "stats": _stats(version)}}


def write_commit(table: Path, version: int) -> None:
    _write(table, version, _actions(version))


def _write(table: Path, version: int, actions: Iterable[dict[str, Any]]) -> None:
    lines = "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions)
    (table / "_delta_log" / f"{version:020d}.json").write_text(lines)


def write_commits(table: Path, count: int) -> None:
    """One file added per commit, no checkpoint."""
    (table / "_delta_log").mkdir(parents=True)
    for version in range(count):
        write_commit(table, version)


WIDE = {
    **{f"key_{number}": "long" for number in range(4)},
    **{f"name_{number}": "string" for number in range(4)},
    **{f"price_{number}": "double" for number in range(3)},
    "day": "date",
    "at": "timestamp",
}


def wide_value(name: str, number: int) -> Any:
    kind = WIDE[name]
    if kind == "long":
        return number * 1000
    if kind == "string":
        return f"a name of the number {number:08d}"
    if kind == "double":
        return number / 8
    day = f"20{number % 30:02d}-{number % 12 + 1:02d}-{number % 28 + 1:02d}"
    return day if kind == "date" else f"{day}T12:00:00.123Z"


def _wide_stats(number: int) -> str:
    value = {
        "numRecords": 1000,
        "minValues": {name: wide_value(name, number) for name in WIDE},
        "maxValues": {name: wide_value(name, number + 1) for name in WIDE},
        "nullCount": dict.fromkeys(WIDE, 0),
    }
    return json.dumps(value, separators=(",", ":"))


def wide_metadata() -> dict[str, Any]:
    """Metadata of a table of thirteen columns."""
    return {**_metadata([]), "schemaString": _schema(WIDE)}


def write_wide_commit(table: Path, version: int, files: int = 3, first: int | None = None) -> None:
    """A commit that adds `files` files with statistics of thirteen columns each, numbered from `first` on."""
    first = version * files if first is None else first
    head = [action for action in _actions(version) if "add" not in action]
    for action in head:
        if "metaData" in action:
            action["metaData"] = wide_metadata()
    adds = [
        {
            "add": {
                "path": part(number),
                "partitionValues": {},
                "size": 12345 + number,
                "modificationTime": START + version * 1000,
                "dataChange": True,
                "stats": _wide_stats(number),
            }
        }
        for number in range(first, first + files)
    ]
    _write(table, version, [*head, *adds])


def write_wide_commits(table: Path, count: int) -> None:
    """Three files added per commit, with the statistics that a table of thirteen columns has; no checkpoint."""
    (table / "_delta_log").mkdir(parents=True)
    for version in range(count):
        write_wide_commit(table, version)


def write_bare_commits(table: Path, commits: int, files: int) -> None:
    """So many commits that add so many files each, without statistics."""
    (table / "_delta_log").mkdir(parents=True)
    for version in range(commits):
        adds = [
            {
                "add": {
                    "path": part(number),
                    "partitionValues": {},
                    "size": 12345 + number,
                    "modificationTime": START + version * 1000,
                    "dataChange": True,
                }
            }
            for number in range(version * files, version * files + files)
        ]
        _write(table, version, [*(action for action in _actions(version) if "add" not in action), *adds])


_TEXTS = pa.map_(pa.string(), pa.string())
_CHECKPOINT = pa.schema(
    {
        "add": pa.struct(
            {
                "path": pa.string(),
                "partitionValues": _TEXTS,
                "size": pa.int64(),
                "modificationTime": pa.int64(),
                "dataChange": pa.bool_(),
                "stats": pa.string(),
            }
        ),
        "metaData": pa.struct(
            {
                "id": pa.string(),
                "format": pa.struct({"provider": pa.string(), "options": _TEXTS}),
                "schemaString": pa.string(),
                "partitionColumns": pa.list_(pa.string()),
                "configuration": _TEXTS,
                "createdTime": pa.int64(),
            }
        ),
        "protocol": pa.struct({"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32()}),
    }
)


def _add(number: int) -> dict[str, Any]:
    day = f"day-{number % 1000:03d}"
    return {
        "path": f"day={day}/{part(number)}",
        "partitionValues": [("day", day)],
        "size": 1_000_000 + number * 7919 % 100_000_000,
        "modificationTime": START + number,
        "dataChange": False,
        "stats": _stats(number),
    }


def path_of(number: int) -> str:
    """A file of a table that `write_checkpoint` wrote, below its directory."""
    path: str = _add(number)["path"]
    return path


def write_checkpoint(table: Path, files: int) -> None:
    """A table of which only a classic checkpoint is left; its files lie in up to 1,000 partitions."""
    log = table / "_delta_log"
    log.mkdir(parents=True)
    metadata = {**_metadata(["day"]), "configuration": [], "format": {"provider": "parquet", "options": []}}
    with pq.ParquetWriter(log / f"{10:020d}.checkpoint.parquet", _CHECKPOINT) as writer:
        writer.write_table(pa.Table.from_pylist([{"protocol": PROTOCOL}, {"metaData": metadata}], _CHECKPOINT))
        for start in range(0, files, _BATCH):
            rows = [{"add": _add(number)} for number in range(start, min(files, start + _BATCH))]
            writer.write_table(pa.Table.from_pylist(rows, _CHECKPOINT))
